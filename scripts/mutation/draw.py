# SPDX-License-Identifier: BSD-3-Clause
"""Draws the mutants of a seed. Every line has a rank that depends only on the seed, its file and
its text, so that a change elsewhere in the tree does not affect a seed's other mutants."""
import collections
import hashlib
import random
import re
from typing import NamedTuple

import operators


class Mutant(NamedTuple):
    path: str
    function: str
    site: operators.Site
    change: str  # For display: the line, with the replaced text in brackets.

    @property
    def key(self):
        """Identifies the mutant as long as its line is unchanged."""
        return f"{self.path} {self.function}: {self.change}"


def squeezed(text):
    return re.sub(r"\s+", " ", re.sub(r"//[^\n]*", "", text)).strip()


def described(source, site):
    if site.operator == "deleted statement":
        return "[" + squeezed(source[site.start:site.end]) + " → ]"
    begin = source.rfind("\n", 0, site.start) + 1
    end = source.find("\n", site.end)
    mark = f"[{source[site.start:site.end]} → {site.new}]"
    return squeezed(source[begin:site.start] + mark + source[site.end:end])


def ranked(seed, path, source):
    """Yields (rank, line number) of every line."""
    seen = collections.Counter()
    for number, line in enumerate(source.splitlines(), 1):
        text = line.strip()
        seen[text] += 1
        name = f"{seed}\n{path}\n{text}\n{seen[text]}"
        yield hashlib.sha256(name.encode()).hexdigest(), number


def mutants(seed, sources, lines, function_at):
    """One mutant for each line that can have one, in the seed's order.

    sources: {path: text}; lines: {path: line numbers that may be drawn};
    function_at(path, line): a name.
    """
    drawn = []
    for path, source in sources.items():
        by_line = collections.defaultdict(lambda: collections.defaultdict(list))
        for site in operators.sites(source):
            if site.line in lines.get(path, ()):
                by_line[site.line][site.operator].append(site)
        for rank, line in ranked(seed, path, source):
            if line not in by_line:
                continue
            choice = random.Random(rank)
            site = choice.choice(by_line[line][choice.choice(sorted(by_line[line]))])
            drawn.append((rank, Mutant(path, function_at(path, line), site,
                                       described(source, site))))
    return [mutant for _, mutant in sorted(drawn)]
