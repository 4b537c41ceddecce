#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""pauses_test.py <sluice-pauses> <sluice-barrier>: a shorter window suspects at least as often, no
watchdog detects a death before its window, and both programs reject bad arguments with the name of
the flag."""
import subprocess
import sys

PAUSES, BARRIER = sys.argv[1:3]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


done = run(PAUSES, "--duration_s=0.3", "--kills=1")
assert done.returncode == 0, done.stderr
cells = [[cell.strip() for cell in line.strip("|").split("|")]
         for line in done.stdout.splitlines() if line.startswith("|")][2:]
assert [cell[0] for cell in cells][-1] == "no time-out" and len(cells) == 6, done.stdout
watchdogs = [(float(window.removesuffix(" us")), float(rate), float(detection.removesuffix(" us")))
             for _, window, rate, detection in cells[:-1]]
for (longer, seldom, _), (shorter, often, _) in zip(watchdogs, watchdogs[1:]):
    assert longer > shorter and seldom <= often, done.stdout
for window, _, detection in watchdogs:
    # The watcher may have seen the last progress shortly before the kill.
    assert detection >= 0.9 * window - 5, done.stdout
assert cells[-1][2] == "0", done.stdout

for program, flag, value in ((PAUSES, "duration_s", "0"), (PAUSES, "kills", "0"),
                             (BARRIER, "parties", "1"), (BARRIER, "rounds", "0"),
                             (BARRIER, "work_us", "-1"), (BARRIER, "kills_per_s", "nan")):
    refused = run(program, f"--{flag}={value}")
    assert refused.returncode == 2 and f"--{flag}:" in refused.stderr, (flag, refused)
    assert len(refused.stderr.splitlines()) == 1, refused.stderr
