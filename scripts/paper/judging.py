# SPDX-License-Identifier: BSD-3-Clause
"""Compares our values with papers'. Pure functions."""
import math
import re

UNITS = {"ps": 1e-3, "ns": 1, "us": 1e3, "ms": 1e6}
# A count that follows a statistical distribution may differ by this many standard deviations.
DEVIATIONS = 4
# The verdicts of each kind of row, for a value that agrees with its source and for one that does
# not. Only a prediction can be reproduced: its source bounds the value on both sides, and our value
# could have differed.
WORDS = {
    "prediction": ("reproduced", "differs"),
    "bound": ("within the bound", "outside the bound"),
    "claim": ("claim holds", "claim does not hold"),
    "identity": ("identity", "identity FAILS"),
    "invariant": ("our invariant", "our invariant FAILS"),
    "check": ("check of the simulator: holds", "check of the simulator: FAILS"),
}
# Verdicts of rows that are not computed here: the text before the place, and the name in the
# totals.
ELSEWHERE = {"measured": ("measured by ", "measured elsewhere"),
             "not reproducible": ("not reproducible; ", "not reproducible"),
             "claim": ("", "shown by other tests")}


def nanoseconds(text):
    number, unit = re.fullmatch(r"([0-9.e+-]+)([a-z]*)", text).groups()
    return float(number) * UNITS.get(unit, 1)


def total(terms, inputs):
    return sum(factor * nanoseconds(inputs[name]["value"]) for name, factor in terms.items())


def holds(paper, value, inputs):
    """Returns whether our value agrees with the paper, and the tolerance that was applied."""
    tolerance = paper.get("tolerance", 0)
    if "sum" in paper:
        expected = total(paper["sum"], inputs)
        return math.isclose(value, expected, rel_tol=tolerance), f"{tolerance:.1%}"
    if "below_sum" in paper:
        return value <= total(paper["below_sum"], inputs), "at most"
    if "between" in paper:
        low, high = paper["between"]
        return low <= value <= high, "within"
    if "above" in paper:
        return value >= paper["above"], f">= {paper['above']:g}"
    if "below" in paper:
        return value <= paper["below"], f"<= {paper['below']:g}"
    expected = paper["equals"]
    return abs(value - expected) <= tolerance * abs(expected), f"{tolerance:.0%}"


def judge(paper, row, inputs):
    """Returns (verdict, tolerance, word to be counted)."""
    kind = paper.get("kind")
    if "elsewhere" in paper:
        before, word = ELSEWHERE[kind]
        return before + paper["elsewhere"], "", word
    if row.get("law"):
        law = row["law"]
        off = abs(row["value"] - law["expected"]) / law["deviation"] if law["deviation"] else 0
        word = WORDS["check"][off > DEVIATIONS]
        return (f"{word}, {off:.1f} deviations in {law['trials']} trials", f"{DEVIATIONS} deviations",
                word)
    if kind is None:
        return "", "", "without a paper's value"
    good, tolerance = holds(paper, row["value"], inputs)
    word = WORDS[kind][not good]
    if kind == "prediction" and any(inputs[name]["chosen_from"] == row["id"]
                                    for name in row["inputs"]):
        word = "fitted" if good else "fitted, and missed"
    elif kind == "prediction" and row.get("capped"):
        word = "capped by the wire" if good else word
    elif not good and paper.get("equals") and kind == "prediction":
        off = row["value"] / paper["equals"] - 1
        return f"{word} by {off:+.0%}", tolerance, word
    return word, tolerance, word
