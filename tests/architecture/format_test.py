#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that every C++ file is formatted according to .clang-format by clang-format 14. Other
releases format some code differently."""
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = "clang-format-14"
SKIPPED = 77


def main():
    if not shutil.which(TOOL):
        print(f"skipped: {TOOL} is missing; scripts/setup installs it")
        return SKIPPED
    files = subprocess.run(["git", "ls-files", "-z", "*.cc", "*.h"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.split("\0")
    files = [file for file in files if file and (ROOT / file).is_file()]
    done = subprocess.run([TOOL, "--dry-run", "--Werror", *files], cwd=ROOT, check=False,
                          capture_output=True, text=True)
    if done.returncode == 0 and files:
        return 0
    wrong = sorted({line.split(":")[0] for line in done.stderr.splitlines() if ": error: " in line})
    print(f"{len(wrong)} of {len(files)} files are not formatted:", *wrong, sep="\n  ")
    print(f"Fix them with: {TOOL} -i FILE...")
    return 1


sys.exit(main())
