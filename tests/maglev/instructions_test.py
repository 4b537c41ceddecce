#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts the balancer's instructions for the first packets of flows under callgrind."""
import pathlib
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import callgrind

VALGRIND, BENCH = sys.argv[1:3]
del sys.argv[1:3]
TCP_SYN, TCP_ACK = 2, 16


def count(flags):
    """Returns the instructions for a fixed number of TCP packets with `flags`, each of a new flow."""
    return callgrind.count(VALGRIND, ["WorkerBursts*"],
                           [BENCH, f"--benchmark_filter=^BM_BalancerMiss/{flags}/"])


class Instructions(unittest.TestCase):
    def test_an_ack_costs_no_more_than_a_syn(self):
        """If an ACK cost more, a flood without SYN would harm more than a SYN flood of the same
        rate."""
        syn, ack = count(TCP_SYN), count(TCP_ACK)
        print(f"ACK: {ack / syn:.3f} of a SYN's instructions", file=sys.stderr)
        self.assertGreater(ack, 0)
        self.assertLessEqual(ack, syn)


if __name__ == "__main__":
    unittest.main()
