# SPDX-License-Identifier: BSD-3-Clause
"""Counts instructions of the engine per packet while its table counts all flows, under callgrind;
the count is the same on every run. Arguments: valgrind, sluice-telemetry-epoch-bench."""
import pathlib
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import callgrind

VALGRIND, BENCH = sys.argv[1:3]
del sys.argv[1:3]
PACKETS, SKIPPED = 3 << 15, 2 << 15  # Multiples of the bench's batch.


class Instructions(unittest.TestCase):
    def test_the_table_costs_less_than_a_count_min(self):
        """A count-min of 5 rows by 2^18 columns needs 129.3 instructions per packet in the same
        bench."""
        counted = callgrind.count(
            VALGRIND, ["Worker*"], [BENCH, "--traffic=fits", "--only=no_univmon",
                                    f"--packets={PACKETS}", f"--skip={SKIPPED}"])
        found = counted / (PACKETS - SKIPPED)
        print(f"{found:.1f} instructions a packet", file=sys.stderr)
        self.assertLess(found, 100)
        self.assertGreater(found, 20)  # A smaller count means that no function matched.


if __name__ == "__main__":
    unittest.main()
