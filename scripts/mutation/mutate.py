# SPDX-License-Identifier: BSD-3-Clause
"""Changes one thing at a time in lib/ and drivers/, and checks whether a test fails.

The first run builds all tests twice: once to find out which test runs which line, once to mutate.
An interrupted run continues where it stopped; docs/mutation.md contains the last run and its
survivors.
"""
import argparse
import fnmatch
import json
import sys
import time

import coverage
import draw
import judge
import page
import programs
import sandbox
import tree

RUNS = tree.WORK / "runs"


def parse_arguments():
    parser = argparse.ArgumentParser(prog="mutate", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1, help="seed of the selection; default: 1")
    parser.add_argument("--mutants", type=int, default=20,
                        help="number of mutants that a test could kill; further mutants that do "
                        "not compile or have unchanged object code are not counted; default: 20")
    parser.add_argument("--files", default="*", metavar="PATTERN",
                        help="mutate only these files, such as 'lib/swap/*'; default: all")
    parser.add_argument("--tests", default="*", metavar="PATTERN,...",
                        help="run only these tests, such as 'swap_*,bar'; default: all")
    parser.add_argument("--scripts", action="store_true",
                        help="also run the scripts that test whole applications (slow)")
    parser.add_argument("--survivors", action="store_true",
                        help="after tests were added, judge only the last run's survivors again, "
                        "and keep the verdicts on all others")
    parser.add_argument("--minimum", type=float, default=0, metavar="PERCENT",
                        help="percent of mutants that must be killed, else the exit code is 1; "
                        "default: 0")
    parser.add_argument("--write_page", action="store_true",
                        help="write the run to docs/mutation.md")
    args = parser.parse_args()
    if args.mutants < 1:
        parser.error(f"--mutants={args.mutants}: give at least 1")
    if not 0 <= args.minimum <= 100:
        parser.error(f"--minimum={args.minimum:g}: give 0 to 100")
    return args


def say(line):
    print(line, flush=True)


class Results:
    """The results for a seed's mutants, in a file that is written after each. After a change of the
    tree, --survivors keeps results, but survivors only if no test was added."""

    def __init__(self, seed, digest, tests, survivors_again):
        self._file = RUNS / f"{seed}.json"
        self._of = {"tree": digest, "tests": sorted(tests)}
        self._known = {}
        if not self._file.is_file():
            return
        last = json.loads(self._file.read_text(encoding="utf-8"))
        same_tree = last["tree"] == digest
        same_tests = same_tree and not survivors_again and set(tests) <= set(last["tests"])
        for key, one in last["mutants"].items():
            decided = one["verdict"] in (judge.KILLED, judge.NOT_COMPILED)
            if same_tests or (decided and (same_tree or survivors_again)):
                self._known[key] = one

    def get(self, key):
        return self._known.get(key)

    def put(self, key, result):
        self._known[key] = result
        RUNS.mkdir(parents=True, exist_ok=True)
        self._file.write_text(json.dumps(self._of | {"mutants": self._known}, indent=1),
                              encoding="utf-8")


def told(number, wanted, result):
    by = f" by {result['by']}: {result['why']}" if result["verdict"] == judge.KILLED else ""
    return (f"{number}/{wanted} {result['verdict']}{by}, {result['seconds']:.0f} s\n"
            f"    {result['path']}:{result['line']} {result['function']}, {result['operator']}: "
            f"{result['change']}")


def attack(mutants, wanted, sources, results, judging):
    """Judges mutants in order, until the requested number that a test could kill is reached."""
    found, could = [], 0
    for mutant in mutants:
        if could == wanted:
            break
        result = results.get(mutant.key)
        if result is None:
            start = time.monotonic()
            verdict, by, why = judging.verdict(mutant, sources[mutant.path])
            result = {"path": mutant.path, "line": mutant.site.line, "function": mutant.function,
                      "operator": mutant.site.operator, "change": mutant.change,
                      "verdict": verdict, "by": by, "why": why,
                      "seconds": time.monotonic() - start}
            results.put(mutant.key, result)
        found.append(result)
        could += result["verdict"] in (judge.KILLED, judge.SURVIVED)
        say(told(could, wanted, result))
    return found


def main():
    args = parse_arguments()
    if not sandbox.is_possible():
        sys.exit("mutate: mutants may harm other processes and need private namespaces: "
                 "run as root, or allow users to make them (kernel.unprivileged_userns_clone=1)")
    choice = programs.Choice(tuple(args.tests.split(",")), args.scripts)
    digest = tree.sync()
    try:
        covered = coverage.measure(choice, say)
        judging = judge.Judge(covered, choice, say)
    except RuntimeError as error:
        sys.exit(f"mutate: {error}")
    sources = {path: text for path, text in tree.sources().items()
               if fnmatch.fnmatch(path, args.files)}
    everything = {path: covered.executable[path] for path in sources}
    possible = draw.mutants(args.seed, sources, everything, covered.function_at)
    mutants = [one for one in possible if covered.lines[one.path][one.site.line]]
    ran = (f"{len(covered.tests)} tests (`--tests='{args.tests}'`) run {len(mutants)} of the "
           f"{len(possible)} lines that can be mutated and that are built for them; mutants are "
           "drawn from these.")
    say(ran)
    found = attack(mutants, args.mutants, sources,
                   Results(args.seed, digest, covered.tests, args.survivors), judging)
    say("\n".join(page.table(found)))
    known = page.judgements(page.PAGE.read_text(encoding="utf-8"))
    for one in found:
        if one["verdict"] == judge.SURVIVED:
            said = known.get((page.where(one), f"`{page.cell(one['change'])}`"), page.NOT_JUDGED)
            say(f"survived: {one['path']}:{one['line']} {one['change']}: {said}")
    if args.write_page:
        page.write(args.seed, found, ran)
    percent = page.share(found)
    say(f"{percent:.1f} % killed")
    sys.exit(0 if percent >= args.minimum else 1)


if __name__ == "__main__":
    main()
