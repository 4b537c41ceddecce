# SPDX-License-Identifier: BSD-3-Clause
"""Finds the range in which each verdict of the reproduction table holds. Every estimate and every
free parameter is moved alone over its range (defined by sluice-paper-rows), away from its value,
until the verdict of a row changes; then the limit is bisected. A verdict that changes and changes
back between two points is not detected."""
import concurrent.futures
import json
import math
import os
import re
import subprocess

from judging import UNITS, judge, nanoseconds

STEPS = 2       # Number of steps between a value and each end of its range.
HALVINGS = 4    # Bisections of the step in which a verdict changed.
# Runs that are shorter than the table's but must result in the same verdicts.
SAMPLE = ("requests=1000", "echo_frames=60000", "rpc_calls=20000")
SWEPT = ("prediction", "bound", "claim")


def units_of(text):
    return re.search(r"[a-z]*$", text)[0]


def text_of(number, like):
    """Formats a number like the value `like`: with its unit, and without a fraction if that has
    none."""
    unit = units_of(like)
    if unit:
        return f"{number / UNITS[unit]:.6g}{unit}"
    return f"{number:.6g}" if "." in like else str(round(number))


def ends(sweep):
    """Returns the numbers of a range, or its two ends, and whether values in between are valid."""
    parts = sweep.split(" to ") if " to " in sweep else sweep.split()
    return [nanoseconds(part) for part in parts], " to " in sweep


def outwards(value, sweep):
    """Returns the points from a value to one end of its range, and those to the other end."""
    points, dense = ends(sweep)
    if not dense:
        return [[p for p in reversed(points) if p < value], [p for p in points if p > value]]
    ways = []
    for end in points:
        if end > 0 and value > 0:
            ways.append([value * (end / value) ** (i / STEPS) for i in range(1, STEPS + 1)])
        else:
            ways.append([value + (end - value) * i / STEPS for i in range(1, STEPS + 1)])
    return ways


class Sweeper:
    """Runs sluice-paper-rows with one input changed. `computed` contains the rows of the table."""

    def __init__(self, program, settings, data, computed):
        self.command = [str(program), *(part for each in (*SAMPLE, *settings)
                                        for part in ("--set", each))]
        self.papers = {row["id"]: row for row in data["rows"] if "id" in row}
        self.inputs = {each["name"]: each for each in computed["inputs"]}
        self.rows = {row["id"]: row for row in computed["rows"]}
        self.words = {name: self.word(row, self.inputs) for name, row in self.rows.items()}

    def word(self, row, inputs):
        return judge(self.papers[row["id"]], row, inputs)[2]

    def swept(self):
        """Returns the rows whose verdicts are swept."""
        return [name for name in self.rows
                if self.papers[name].get("kind") in SWEPT and not self.words[name].startswith("fit")]

    def changed_by_sample(self):
        """Returns the rows whose verdict differs in shorter runs."""
        rows = self.swept()
        words = self.words_at("seed", self.inputs["seed"]["value"], rows)
        return [row for row in rows if words.get(row) != self.words[row]]

    def words_at(self, name, value, rows):
        """Returns the words of `rows` for another value of an input; empty if the value is
        invalid."""
        done = subprocess.run([*self.command, "--rows", ",".join(rows), "--set", f"{name}={value}"],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return {}
        computed = json.loads(done.stdout)
        inputs = {each["name"]: each for each in computed["inputs"]}
        return {row["id"]: self.word(row, inputs) for row in computed["rows"] if row["id"] in rows}

    def limit(self, name, points, rows):
        """Returns, for each row, the last value with the same word, and the first with another, or
        None."""
        like = self.inputs[name]["value"]
        stands = {row: like for row in rows}
        falls = dict.fromkeys(rows)
        for value in dict.fromkeys(text_of(point, like) for point in points):
            left = [row for row in rows if falls[row] is None]
            if not left or value == like:
                continue
            words = self.words_at(name, value, left)
            for row in left:
                if words.get(row) == self.words[row]:
                    stands[row] = value
                else:
                    falls[row] = value
        return {row: self.narrow(name, row, stands[row], falls[row]) for row in rows}

    def narrow(self, name, row, stands, falls):
        if falls is None or " to " not in self.inputs[name]["sweep"]:
            return stands, falls
        for _ in range(HALVINGS):
            low, high = nanoseconds(stands), nanoseconds(falls)
            middle = text_of(math.sqrt(low * high) if low * high > 0 else (low + high) / 2, stands)
            if middle in (stands, falls):
                break
            if self.words_at(name, middle, [row]).get(row) == self.words[row]:
                stands = middle
            else:
                falls = middle
        return stands, falls

    def tasks(self):
        """Returns the inputs that have a range, with the rows that they may affect."""
        rows = self.swept()
        named = ((name, [row for row in rows if name in self.rows[row]["inputs"]])
                 for name, each in self.inputs.items() if each["sweep"])
        return [(name, rows) for name, rows in named if rows]

    def sweep(self, step=lambda name: None):
        """Returns, by row, its word, its value, and by input the range and the limits of the
        word."""
        found = {row: {"word": self.words[row], "value": self.rows[row]["value"], "inputs": {}}
                 for row in self.swept()}
        tasks = [(name, named, outwards(nanoseconds(self.inputs[name]["value"]),
                                        self.inputs[name]["sweep"]))
                 for name, named in self.tasks()]
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            limits = pool.map(lambda task: [self.limit(task[0], points, task[1])
                                            for points in task[2]], tasks)
            for (name, named, _), (down, up) in zip(tasks, limits):
                for row in named:
                    found[row]["inputs"][name] = {"swept": self.inputs[name]["sweep"],
                                                  "low": down[row], "high": up[row]}
                step(name)
        return found


def short(text):
    """Shortens a limit for a table."""
    if "." not in text:
        return text
    unit = units_of(text)
    return f"{float(text.removesuffix(unit)):.3g}{unit}"


def shown(ranges, row, word):
    """Formats the limits of the word for a table; empty for rows without a range."""
    found = ranges.get(row["id"])
    if found is None:
        return ""
    if found["word"] != word or not math.isclose(found["value"], row["value"], rel_tol=1e-9):
        return "not swept"
    if not found["inputs"]:
        return "nothing to sweep"
    limited = []
    for name, each in found["inputs"].items():
        (low, below), (high, above) = each["low"], each["high"]
        if below or above:
            limited.append(f"{name} {short(low)} to {short(high)}" if low != high
                           else f"{name} {short(low)} alone")
    return "; ".join(limited) or "all ranges"
