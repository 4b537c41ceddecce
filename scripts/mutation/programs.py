# SPDX-License-Identifier: BSD-3-Clause
"""The tests that mutants run against: those that execute compiled code."""
import fnmatch
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
from typing import NamedTuple

import sandbox
import tree

# "text" tests no compiled code; the others need special machines or hours.
OMITTED_SUITES = {"slow", "root", "huge", "fuzz", "text"}


class Choice(NamedTuple):
    """A choice of tests."""
    names: tuple = ("*",)  # Patterns.
    scripts: bool = False  # Whether to include scripts that run whole applications.

    def has(self, name, compiled):
        return (compiled or self.scripts) and any(fnmatch.fnmatch(name, p) for p in self.names)


class Program(NamedTuple):
    name: str
    preset: str
    command: tuple
    environment: dict
    cwd: pathlib.Path
    targets: tuple  # Targets that the program runs, in the preset's folder.

    def run(self, cpu_limit_s, limit_s, **environment):
        return sandbox.run(self.command, self.cwd,
                           self.environment | {"GTEST_FAIL_FAST": "1"} | environment,
                           cpu_limit_s, limit_s)

    def files(self):
        """Returns the files that it runs and the tree's libraries that they link."""
        found = {tree.folder(self.preset) / target for target in self.targets}
        for path in list(found):
            found |= set(linked(path))
        return sorted(found)

    def digest(self):
        """Returns a digest of the object code. Builds with equal digests are indistinguishable to
        tests."""
        digest = hashlib.sha256()
        for path in self.files():
            digest.update(path.read_bytes())
        return digest.hexdigest()


@functools.cache
def linked(path):
    done = subprocess.run(["ldd", path], capture_output=True, text=True, check=False)
    built = re.findall(r"=> (\S+) \(", done.stdout)
    return [found for name in built if (found := pathlib.Path(os.path.normpath(name)))
            and tree.TREE in found.parents]


def information(preset, name):
    path = tree.folder(preset) / "meson-info" / f"intro-{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))


def programs(preset, choice):
    """Returns the test programs of a configured folder that a choice includes."""
    build = tree.folder(preset)
    outputs = {target["id"]: [str(pathlib.Path(name).relative_to(build))
                              for name in target["filename"]]
               for target in information(preset, "targets")}
    found = []
    for test in information(preset, "tests"):
        suites = {suite.split(":")[-1] for suite in test["suite"]}
        compiled = build in pathlib.Path(test["cmd"][0]).parents
        targets = [name for target in test["depends"] for name in outputs[target]]
        if compiled:
            targets.append(str(pathlib.Path(test["cmd"][0]).relative_to(build)))
        if suites & OMITTED_SUITES or not targets or not choice.has(test["name"], compiled):
            continue
        found.append(Program(test["name"], preset, tuple(test["cmd"]), test["env"],
                             pathlib.Path(test["workdir"] or build), tuple(sorted(set(targets)))))
    return found
