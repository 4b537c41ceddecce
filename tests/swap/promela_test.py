#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Has spin check the model that is generated from the protocol's own rows: no assertion can fail
in the safe variants, and one does in each unsafe one. promela_test.py GENERATOR TEMPLATE"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# Variant, mutation, whether an assertion must fail.
CASES = [
    ("2", "", False),
    ("4", "", False),
    ("2", "initiator_rolls_back", True),
    ("4", "responder_rolls_back", True),
    ("2", "record_zeroed", True),
]
SKIPPED = 77


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=100,
                          stdin=subprocess.DEVNULL, **options).stdout


def check(generator, template, compiler, variant, mutation):
    """Returns (states, errors) of an exhaustive search."""
    with tempfile.TemporaryDirectory() as folder:
        model = run(generator, template, variant, *([mutation] if mutation else []))
        pathlib.Path(folder, "swap.pml").write_text(model, encoding="utf-8")
        run("spin", "-a", "swap.pml", cwd=folder)
        run(compiler, "-O0", "-w", "-DSAFETY", "-DVECTORSZ=2048", "-o", "pan", "pan.c", cwd=folder)
        report = run("./pan", "-m100000", "-n", cwd=folder)
    if "Search not completed" in report and "errors: 0" in report or "max search depth" in report:
        sys.exit("the search was cut short:\n" + report)
    states = re.search(r"(\d+) states, stored", report)
    errors = re.search(r"errors: (\d+)", report)
    return int(states[1]), int(errors[1])


def main():
    generator, template = sys.argv[1:3]
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if shutil.which("spin") is None or compiler is None:
        print("spin or a C compiler is missing: scripts/setup installs them")
        return SKIPPED
    failed = False
    for variant, mutation, broken in CASES:
        states, errors = check(generator, template, compiler, variant, mutation)
        right = (errors > 0) == broken
        failed |= not right
        print(f"{variant} messages {mutation or 'as specified':32} {states:9} states, "
              f"{'an assertion fails' if errors else 'no assertion fails'}"
              f"{'' if right else '   <-- wrong'}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
