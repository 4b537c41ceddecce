# SPDX-License-Identifier: BSD-3-Clause
"""Counts instructions under callgrind, for tests with a limit; the count is the same on every run."""
import re
import subprocess


def count(valgrind, functions, command):
    """Returns the instructions that `command` executes in the functions that match one of the
    patterns, and in their callees. Fails if the command does."""
    done = subprocess.run(
        [valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null",
         *(f"--toggle-collect={name}" for name in functions), *command],
        capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])
