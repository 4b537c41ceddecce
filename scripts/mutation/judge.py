# SPDX-License-Identifier: BSD-3-Clause
"""Judges a mutant: builds the programs that run its line with the mutant, and runs them in sequence
until one fails."""
import json

import programs
import tree

PRESET = "release"  # The preset that users run; the compiler's cache contains its objects.
KILLED, SURVIVED = "killed", "survived"
NOT_COMPILED, SAME_CODE = "does not compile", "same object code"
VERDICTS = (KILLED, SURVIVED, NOT_COMPILED, SAME_CODE)


NORMAL = tree.WORK / "normal.json"
LIMIT_S = 600  # Time limit of an unmodified program.


class Judge:
    def __init__(self, coverage, choice, say):
        good, said = tree.build(PRESET, ["build.ninja"])
        known = {}
        if good:
            known = {one.name: one for one in programs.programs(PRESET, choice)
                     if one.name in coverage.tests}
            good, said = tree.build(PRESET, sorted({t for one in known.values()
                                                    for t in one.targets}))
        if not good:
            raise RuntimeError("the release build fails:\n" + said[-3000:])
        self._programs = known
        self._coverage = coverage
        self._digests = {name: one.digest() for name, one in known.items()}
        self._normal = self._run_all(say)

    def _run_all(self, say):
        """Returns {program: [seconds, seconds of CPU time]} of the programs that pass without a
        mutant. Programs that were not rebuilt do not run again."""
        before = json.loads(NORMAL.read_text(encoding="utf-8")) if NORMAL.is_file() else {}
        normal = {}
        for name, program in self._programs.items():
            digest = self._digests[name]
            if digest not in before:
                outcome = program.run(LIMIT_S, LIMIT_S)
                say(f"without a mutant: {name}, {outcome.seconds:.1f} s" +
                    ("" if outcome.passed else f", FAILED: {outcome.why}; this test is not used"))
                before[digest] = [outcome.seconds, outcome.cpu_s] if outcome.passed else None
                NORMAL.write_text(json.dumps(before), encoding="utf-8")
            if before[digest]:
                normal[name] = before[digest]
        return normal

    def verdict(self, mutant, source):
        """Returns (one of VERDICTS, the test that decided, the reason)."""
        file = tree.TREE / mutant.path
        file.write_text(mutant.site.apply(source), encoding="utf-8")
        try:
            return self._attack(mutant)
        finally:
            file.write_text(source, encoding="utf-8")

    def _attack(self, mutant):
        differs = False
        for name in self._coverage.testing(mutant.path, mutant.site.line):
            if name not in self._normal:
                continue
            program = self._programs[name]
            good, said = tree.build(PRESET, program.targets, keep=False)
            if not good:
                return NOT_COMPILED, name, first_error(said)
            if program.digest() == self._digests[name]:
                continue
            differs = True
            if why := self._failure(name, program):
                return KILLED, name, why
        return (SURVIVED if differs else SAME_CODE), "", ""

    def _failure(self, name, program):
        """Returns why the program exceeds a time limit, or fails twice in a row, because a busy
        machine may cause a single failure. Returns an empty string if it passes."""
        seconds, cpu_s = self._normal[name]
        outcome = None
        for _ in range(2):
            outcome = program.run(max(10, 5 * cpu_s), max(120, 10 * seconds))
            if outcome.passed or outcome.why in ("computes on", "waits"):
                break
        return "" if outcome.passed else outcome.why


def first_error(said):
    return next((line.strip() for line in said.splitlines() if "error:" in line), "")
