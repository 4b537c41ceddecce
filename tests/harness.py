# SPDX-License-Identifier: BSD-3-Clause
"""What end-to-end tests of several applications share. Import it before reading the last argument:
it removes its own, --full, from sys.argv."""
import itertools
import json
import subprocess
import sys


def listing(binary, what):
    """A table of the build: `--list=WHAT`."""
    done = subprocess.run([binary, f"--list={what}"], capture_output=True, text=True, timeout=30,
                          check=True)
    return json.loads(done.stdout)


def interfaces(binary):
    """Names of the interfaces that an application was built with."""
    return [interface["name"] for interface in listing(binary, "interfaces")]


FULL = "--full" in sys.argv
if FULL:
    sys.argv.remove("--full")


def combinations(*axes):
    """Rows with one value of each axis. With --full (suite slow) all of them; else few in which any
    two values of different axes meet in at least one row."""
    rows = list(itertools.product(*axes))
    if FULL or len(axes) < 3:
        return rows
    missing = {pair for row in rows for pair in pairs_of(row)}
    chosen = []
    while missing:
        best = max(rows, key=lambda row: len(missing & pairs_of(row)))
        missing -= pairs_of(best)
        chosen.append(best)
    return chosen


def pairs_of(row):
    return set(itertools.combinations(enumerate(row), 2))
