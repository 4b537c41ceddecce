# SPDX-License-Identifier: BSD-3-Clause
"""What becomes of a mutant: the programs that run its line are built with it and run, one after the
other, until one of them fails."""
import programs
import tree

PRESET = "release"  # What users run, and what the compiler's cache has.
KILLED, SURVIVED = "killed", "survived"
NOT_COMPILED, SAME_CODE = "does not compile", "same object code"
VERDICTS = (KILLED, SURVIVED, NOT_COMPILED, SAME_CODE)


class Judge:
    def __init__(self, coverage, scripts):
        good, said = tree.build(PRESET, ["build.ninja"])
        known = {}
        if good:
            known = {one.name: one for one in programs.programs(PRESET, scripts)
                     if one.name in coverage.tests}
            good, said = tree.build(PRESET, sorted({t for one in known.values()
                                                    for t in one.targets}))
        if not good:
            raise RuntimeError("the release build fails:\n" + said[-3000:])
        self._programs = known
        self._coverage = coverage
        self._digests = {name: one.digest() for name, one in known.items()}

    def verdict(self, mutant, source):
        """(one of VERDICTS, by which test, why)."""
        file = tree.TREE / mutant.path
        file.write_text(mutant.site.apply(source), encoding="utf-8")
        try:
            return self._attack(mutant)
        finally:
            file.write_text(source, encoding="utf-8")

    def _attack(self, mutant):
        differs = False
        for name in self._coverage.testing(mutant.path, mutant.site.line):
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
        """Why the program fails, twice in a row: a busy machine may make one run fail."""
        known = self._coverage.tests[name]
        outcome = None
        for _ in range(2):
            outcome = program.run(max(20, 5 * known["cpu_s"]), max(120, 10 * known["seconds"]))
            if outcome.passed or outcome.why in ("computes on", "waits"):
                break
        return "" if outcome.passed else outcome.why


def first_error(said):
    return next((line.strip() for line in said.splitlines() if "error:" in line), "")
