# SPDX-License-Identifier: BSD-3-Clause
"""Counts the host's instructions per RPC under callgrind; the count is the same on every run.
Arguments: valgrind, rpc_host_bench, the object and the .x file of the service `nothing`."""
import pathlib
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import callgrind

VALGRIND, BENCH, OBJECT, X = sys.argv[1:5]
del sys.argv[1:5]
REQUESTS = 1000


def count(name, *service):
    """Returns the instructions per request."""
    return callgrind.count(VALGRIND, [name], [BENCH, name, str(REQUESTS), *service]) / REQUESTS


class Instructions(unittest.TestCase):
    """The targets of an RPC without arguments and of one with 32 bytes, and the cost of each
    service."""

    def test_of_an_rpc(self):
        for name, service, most in (("HostAnswersNothing", (), 60), ("HostTakesArguments", (), 80),
                                    ("ServiceAnswers", (OBJECT, X), 150)):
            with self.subTest(name):
                found = count(name, *service)
                print(f"{name} {found:.1f}", file=sys.stderr)
                self.assertLessEqual(found, most)
                self.assertGreater(found, 10)  # A smaller count means that no function matched.


if __name__ == "__main__":
    unittest.main()
