# SPDX-License-Identifier: BSD-3-Clause
"""Instructions of the Ensō model per frame of 60 bytes, counted under callgrind: the same on every
run. Arguments: valgrind, bench_enso_device."""
import re
import subprocess
import sys
import unittest

VALGRIND, BENCH = sys.argv[1:3]
del sys.argv[1:3]
FRAMES = 500 * 256  # Iterations of the bench, frames of a burst.
# A function that is entered while another one collects ends that: what the wire does is left out.
RECEIVE = ("*EnsoNic::Receive*",)
TRANSMIT = ("*EnsoNic::Transmit*", "*Sink::Deliver*")


def count(case, functions):
    """Instructions per frame."""
    done = subprocess.run(
        [VALGRIND, "--tool=callgrind", "--callgrind-out-file=/dev/null",
         *(f"--toggle-collect={name}" for name in functions), BENCH,
         f"--benchmark_filter=^EnsoEcho/{case}/"], capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", done.stderr)[1]) / FRAMES


class Instructions(unittest.TestCase):
    """At most 60 a frame received and 45 a frame sent."""

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
                self.assertGreater(found, 10)  # Else nothing was counted.


if __name__ == "__main__":
    unittest.main()
