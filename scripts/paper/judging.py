# SPDX-License-Identifier: BSD-3-Clause
"""How our values are judged beside papers'. Pure."""
import math
import re

UNITS = {"ps": 1e-3, "ns": 1, "us": 1e3, "ms": 1e6}
# Of a count that follows a law: beyond this many standard deviations it does not.
DEVIATIONS = 4


def nanoseconds(text):
    number, unit = re.fullmatch(r"([0-9.e+-]+)([a-z]*)", text).groups()
    return float(number) * UNITS.get(unit, 1)


def total(terms, inputs):
    return sum(factor * nanoseconds(inputs[name]["value"]) for name, factor in terms.items())


def holds(paper, value, inputs):
    """Whether our value is what the paper says, and the tolerance that was allowed."""
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


def check(good):
    if good:
        return "check of the simulator: holds", "checks of the simulator that hold"
    return "check of the simulator: FAILS", "checks of the simulator that FAIL"


def judge(paper, row, inputs):
    """(verdict, tolerance, class to be counted)."""
    if "elsewhere" in paper:
        if paper["kind"] == "not reproducible":
            return "not reproducible; " + paper["elsewhere"], "", "not reproducible"
        if paper["kind"] == "measured":
            return "measured by " + paper["elsewhere"], "", "measured by scripts/throughput"
        return paper["elsewhere"], "", "shown by other tests"
    if row.get("law"):
        law = row["law"]
        off = abs(row["value"] - law["expected"]) / law["deviation"] if law["deviation"] else 0
        good = off <= DEVIATIONS
        return (f"{check(good)[0]}, {off:.1f} deviations, of {law['trials']}",
                f"{DEVIATIONS} deviations", check(good)[1])
    if "kind" not in paper:
        return "", "", "without a paper's value"
    good, tolerance = holds(paper, row["value"], inputs)
    if paper.get("check"):
        return check(good)[0], tolerance, check(good)[1]
    if any(inputs[name]["chosen_from"] == row["id"] for name in row["inputs"]):
        return "fitted" if good else "fitted, and missed", tolerance, "fitted"
    if paper["kind"] == "falsifiable":
        if good:
            return "claim holds", tolerance, "claims that hold"
        return "claim does not hold", tolerance, "claims that do not hold"
    if good:
        return "reproduced", tolerance, "reproduced"
    if "equals" in paper and paper["equals"]:
        return (f"differs by {row['value'] / paper['equals'] - 1:+.0%}", tolerance, "different")
    return "differs", tolerance, "different"
