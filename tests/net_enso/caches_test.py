# SPDX-License-Identifier: BSD-3-Clause
"""Counts cache misses per packet with scripts/instructions --caches. Arguments: scripts/bench,
net_ipu_burst_bench, net_enso_burst_bench."""
import sys
import unittest

SCRIPTS, PACKETIZED, STREAMING = sys.argv[1:4]
del sys.argv[1:4]
sys.path.append(SCRIPTS)
sys.dont_write_bytecode = True
import instructions  # pylint: disable=wrong-import-position

SIZE, BURST, PACKETS = 60, 32, 640


def misses(bench, arguments, prefetcher="no"):
    """Returns the second-level misses per packet."""
    found = instructions.collect(bench, (SIZE, BURST, PACKETS, *arguments), (
        *instructions.CACHES, f"--simulate-hwpref={prefetcher}"))
    return found["DLmr"] + found["DLmw"]


class Caches(unittest.TestCase):
    def test_a_packet_in_no_cache_takes_more_lines_than_a_frame_of_a_pipe(self):
        packet, frame = misses(PACKETIZED, ("cold",)), misses(STREAMING, ("1", "cold"))
        print(f"misses: packetized {packet:.2f}, streaming {frame:.2f}", file=sys.stderr)
        # A packet uses one line of data, one line of its mbuf, and shares of two descriptors. A
        # frame in a pipe uses one line of data and shares of notifications.
        self.assertGreater(frame, 1)
        self.assertGreater(packet, 1.2 * frame)
        # A stream's lines have ascending addresses, so a prefetcher loads them in advance.
        self.assertLess(misses(STREAMING, ("1", "cold"), "yes"), 0.85 * frame)


if __name__ == "__main__":
    unittest.main()
