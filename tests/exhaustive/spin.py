# SPDX-License-Identifier: BSD-3-Clause
"""Makes spin search a model that is generated from a protocol's rows."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=100,
                          stdin=subprocess.DEVNULL, **options).stdout


def search(compiler, *generate):
    """Returns (states, errors) of an exhaustive search of the model that the command `generate`
    prints."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "model.pml").write_text(run(*generate), encoding="utf-8")
        run("spin", "-a", "model.pml", cwd=folder)
        run(compiler, "-O0", "-w", "-DSAFETY", "-DVECTORSZ=2048", "-o", "pan", "pan.c", cwd=folder)
        report = run("./pan", "-m100000", "-n", cwd=folder)
    if "Search not completed" in report and "errors: 0" in report or "max search depth" in report:
        sys.exit("the search was cut short:\n" + report)
    states = re.search(r"(\d+) states, stored", report)
    errors = re.search(r"errors: (\d+)", report)
    return int(states[1]), int(errors[1])


def judge(generator, template, cases):
    """Returns an exit code. `cases` contain a name, the generator's arguments after the template,
    and whether an assertion must fail."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if shutil.which("spin") is None or compiler is None:
        print("spin or a C compiler is missing: scripts/setup installs them")
        return SKIPPED
    failed = False
    for name, arguments, broken in cases:
        states, errors = search(compiler, generator, template, *arguments)
        right = (errors > 0) == broken
        failed |= not right
        print(f"{name:44} {states:9} states, "
              f"{'an assertion fails' if errors else 'no assertion fails'}"
              f"{'' if right else '   <-- wrong'}")
    return int(failed)
