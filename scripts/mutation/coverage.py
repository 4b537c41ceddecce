# SPDX-License-Identifier: BSD-3-Clause
"""Maps lines to the tests that run them: runs every program once in a build with coverage
(gcov)."""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess

import programs
import tree

PRESET = "coverage"
FOLDER = tree.WORK / "coverage"
LIMIT_S = 900  # Time limit of one program, which collects coverage and shares the machine with
               # others.


class Coverage:
    """The coverage of the programs of one tree."""

    def __init__(self, runs):
        self.tests = {run["name"]: run for run in runs if run["passed"]}
        self.failed = {run["name"]: run["why"] for run in runs if not run["passed"]}
        self.lines = collections.defaultdict(lambda: collections.defaultdict(list))
        self.executable = collections.defaultdict(set)
        self.functions = collections.defaultdict(dict)
        for run in runs:
            for path, file in run["files"].items():
                self.executable[path].update(file["hit"], file["missed"])
                for name, first, last in file["functions"]:
                    self.functions[path][first, last] = name
                for line in file["hit"] if run["passed"] else []:
                    self.lines[path][line].append(run["name"])

    def testing(self, path, line):
        """Returns the programs that run a line, the cheapest first: compiling and linking a
        thousand covered lines takes about a second."""
        return sorted(self.lines[path][line], key=self._cost)

    def _cost(self, name):
        run = self.tests[name]
        return run["seconds"] + sum(len(file["hit"]) for file in run["files"].values()) / 1000

    def function_at(self, path, line):
        around = [(first, -last, name) for (first, last), name in self.functions[path].items()
                  if first <= line <= last]
        return max(around)[2] if around else ""


def plain_name(demangled):
    """Returns "Class::Do" for "void a::(anonymous namespace)::Class<T>::Do<U>(int)". Namespaces are
    lower case in this tree."""
    text = demangled.replace("(anonymous namespace)", "")
    text = text.replace("operator()", "operator").split(" [with ")[0]
    while (shorter := re.sub(r"<[^<>]*>", "", text)) != text:
        text = shorter
    words = text.split("(")[0].split()
    parts = [part for part in (words[-1] if words else "").split("::") if part]
    return "::".join([p for p in parts[:-1] if p[:1].isupper()][-1:] + parts[-1:])


def collect(profile):
    """Returns {path: lines and functions} from the counters below a folder."""
    counters = sorted(profile.rglob("*.gcda"))
    for path in counters:
        notes = pathlib.Path("/", path.relative_to(profile)).with_suffix(".gcno")
        path.with_suffix(".gcno").symlink_to(notes)
    if not counters:
        return {}
    found = collections.defaultdict(lambda: (set(), set(), set()))
    with subprocess.Popen(["gcov", "--json-format", "--stdout", *counters],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as gcov:
        for line in gcov.stdout:
            if line.strip():
                add(found, json.loads(line))
    return {path: {"hit": sorted(hit), "missed": sorted(executable - hit),
                   "functions": sorted(functions)}
            for path, (hit, executable, functions) in found.items()}


def add(found, report):
    for file in report["files"]:
        name = os.path.normpath(os.path.join(report["current_working_directory"], file["file"]))
        path = os.path.relpath(name, tree.TREE)
        if not path.startswith(tuple(top + "/" for top in tree.MUTATED)):
            continue
        hit, executable, functions = found[path]
        for line in file["lines"]:
            executable.add(line["line_number"])
            if line["count"] > 0:
                hit.add(line["line_number"])
        functions |= {(plain_name(f["demangled_name"]), f["start_line"], f["end_line"])
                      for f in file["functions"]}


def stamp(program):
    """Returns a value that changes with the program."""
    return [*map(str, program.command), program.digest()]


def run_of(program):
    """Returns the program's run, from its file if it has not been rebuilt since."""
    file = FOLDER / f"{program.name}.json"
    if file.is_file():
        known = json.loads(file.read_text(encoding="utf-8"))
        if known["stamp"] == stamp(program):
            return known
    profile = tree.WORK / "profile"
    shutil.rmtree(profile, ignore_errors=True)
    outcome = program.run(LIMIT_S, LIMIT_S, GCOV_PREFIX=str(profile))
    known = {"name": program.name, "passed": outcome.passed, "why": outcome.why,
             "seconds": outcome.seconds, "cpu_s": outcome.cpu_s, "stamp": stamp(program),
             "files": collect(profile)}
    shutil.rmtree(profile, ignore_errors=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(known), encoding="utf-8")
    return known


def measure(choice, say):
    """Builds and runs every program."""
    good, said = tree.build(PRESET, ["build.ninja"])
    if good:
        chosen = programs.programs(PRESET, choice)
        good, said = tree.build(PRESET, sorted({t for one in chosen for t in one.targets}))
    if not good:
        raise RuntimeError("the coverage build fails:\n" + said[-3000:])
    runs = []
    for number, program in enumerate(chosen, 1):
        run = run_of(program)
        runs.append(run)
        say(f"map {number}/{len(chosen)}: {program.name}, {run['seconds']:.1f} s"
            + ("" if run["passed"] else f", FAILED: {run['why']}"))
    return Coverage(runs)
