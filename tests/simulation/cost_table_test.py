#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""cost_table_test.py <sluice-fabric-costs> <fabric.md>: checks that the page contains the output of
the program."""
import pathlib
import subprocess
import sys

printed = subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout
page = pathlib.Path(sys.argv[2]).read_text(encoding="utf-8").splitlines()
missing = [line for line in printed.splitlines() if line and line not in page]
if len(printed.splitlines()) < 10 or missing:
    sys.exit("not in the page:\n" + "\n".join(missing))
