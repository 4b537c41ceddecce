# SPDX-License-Identifier: BSD-3-Clause
"""Counts instructions of the Ensō model per frame of 60 bytes under callgrind; the count is the
same on every run. Arguments: valgrind, bench_enso_device."""
import pathlib
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import callgrind

VALGRIND, BENCH = sys.argv[1:3]
del sys.argv[1:3]
FRAMES = 500 * 256  # Iterations of the bench, times frames per burst.
# Callgrind stops collecting when a toggled function is entered during collection, so the wire is
# excluded.
RECEIVE = ("*EnsoNic::Receive*",)
TRANSMIT = ("*EnsoNic::Transmit*", "*Sink::Deliver*")


def count(case, functions):
    """Returns the instructions per frame."""
    return callgrind.count(VALGRIND, functions,
                           [BENCH, f"--benchmark_filter=^EnsoEcho/{case}/"]) / FRAMES


class Instructions(unittest.TestCase):
    """The limits: 60 instructions per received frame and 45 per sent frame."""

    def test_one_pipe(self):
        self.judge("60/1/1/1000000/512")

    def test_eight_pipes(self):
        self.judge("60/1000/8/1000000/1024")

    def judge(self, case):
        for functions, most in (RECEIVE, 60), (TRANSMIT, 45):
            with self.subTest(functions[0]):
                found = count(case, functions)
                print(f"{case}: {functions[0]} {found:.1f}", file=sys.stderr)
                self.assertLess(found, most)
                self.assertGreater(found, 10)  # A smaller count means that no function matched.


if __name__ == "__main__":
    unittest.main()
