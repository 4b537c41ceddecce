#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""page_test.py PAGE PROGRAM...: checks that the page contains the tables that the programs print:
every line of their output that begins with a bar."""
import pathlib
import subprocess
import sys

page = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
failed = False
for program in sys.argv[2:]:
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    rows = [line for line in printed.splitlines() if line.startswith("|")]
    missing = [row for row in rows if row not in page]
    if len(rows) < 4 or missing:
        failed = True
        print(f"not in {sys.argv[1]}, of {len(rows)} rows of {program}:", *missing, sep="\n")
sys.exit(failed)
