# SPDX-License-Identifier: BSD-3-Clause
"""Writes docs/mutation.md: the last run's table and its survivors. People write the judgements; a
new run keeps the page's judgements of its survivors."""
import collections
import re

import judge
import operators
import tree

PAGE = tree.ROOT / "docs" / "mutation.md"
BEGIN, END = "<!-- last run -->\n", "<!-- end of last run -->\n"
HEAD = "| where | change | judgement |\n|---|---|---|\n"
NOT_JUDGED = "not judged"
# The first words of a judgement, with their meaning.
KINDS = {"equivalent": "no input can show a difference",
         "speed": "the same results, later or with more work",
         "beyond": "only tests outside the map can detect it: whole applications, hardware, timing",
         "gap": "a test is missing"}


def share(results):
    """Returns the per cent of killed mutants among those that a test could kill."""
    killed = sum(one["verdict"] == judge.KILLED for one in results)
    lived = sum(one["verdict"] == judge.SURVIVED for one in results)
    return 100 * killed / (killed + lived) if killed + lived else 0.0


def table(results):
    """Returns lines with the verdicts by operator, and their sums."""
    counts = collections.Counter((one["operator"], one["verdict"]) for one in results)
    lines = ["| operator | " + " | ".join(judge.VERDICTS) + " |",
             "|---|" + "---:|" * len(judge.VERDICTS)]
    for operator in operators.OPERATORS:
        row = [counts[operator, verdict] for verdict in judge.VERDICTS]
        lines.append(f"| {operator} | " + " | ".join(map(str, row)) + " |")
    sums = [sum(counts[operator, verdict] for operator in operators.OPERATORS)
            for verdict in judge.VERDICTS]
    return lines + ["| **all** | " + " | ".join(map(str, sums)) + " |"]


def cell(text):
    return text.replace("|", "\\|")


def where(one):
    return f"`{one['path']}`, `{one['function']}`" if one["function"] else f"`{one['path']}`"


def judgements(page):
    """Returns {(where, change): judgement} of a page's survivors."""
    found = {}
    for line in page.partition(BEGIN)[2].partition(HEAD)[2].splitlines():
        cells = re.split(r"(?<!\\)\|", line)
        if len(cells) != 5:
            break
        found[cells[1].strip(), cells[2].strip()] = cells[3].strip()
    return found


def section(seed, results, covered, known):
    """Returns the text between BEGIN and END."""
    survivors = [one for one in results if one["verdict"] == judge.SURVIVED]
    lines = [f"Seed {seed}: {share(results):.1f} % killed. {covered}", "", *table(results), ""]
    rows = []
    for one in sorted(survivors, key=lambda one: (one["path"], one["function"], one["change"])):
        key = (where(one), f"`{cell(one['change'])}`")
        rows.append(f"| {key[0]} | {key[1]} | {known.get(key, NOT_JUDGED)} |")
    return "\n".join(lines) + "\n" + HEAD + "".join(row + "\n" for row in rows)


def with_section(page, text):
    head, rest = page.split(BEGIN)
    return head + BEGIN + text + END + rest.split(END)[1]


def write(seed, results, covered):
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(with_section(text, section(seed, results, covered, judgements(text))),
                    encoding="utf-8")
