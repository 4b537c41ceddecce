# SPDX-License-Identifier: BSD-3-Clause
"""Generates texts that a regular expression of Python usually matches, from its parse tree."""

import re
import string
from re import _constants as ops, _parser as parser

WORDS = ("root", "admin", "x", "a b", "ssh2", "192.0.2.9", "mail", "7", "per-son@example.org", "")


class Writer:
    def __init__(self, choose, given=()):
        """`given` contains texts of groups, by name."""
        self.choose = choose
        self.given = dict(given)

    def text(self, regex):
        tree = parser.parse(regex)
        self.groups = {}
        self.names = {number: name for name, number in tree.state.groupdict.items()}
        return self._all(tree)

    def _all(self, tree):
        return "".join(self._one(*item) for item in tree)

    def _one(self, op, value):
        choose = self.choose
        if op is ops.LITERAL:
            return chr(value)
        if op is ops.NOT_LITERAL:
            return choose.choice([c for c in "ab 0" if ord(c) != value])
        if op is ops.ANY:
            return choose.choice("abc -./:=xyz019")
        if op is ops.IN:
            return self._of_class(value)
        if op is ops.BRANCH:
            return self._all(choose.choice(value[1]))
        if op is ops.SUBPATTERN:
            number, _, _, tree = value
            name = self.names.get(number)
            text = self.given.get(name, None)
            text = self._all(tree) if text is None else text
            self.groups[number] = text
            return text
        if op in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT):
            return self._repeated(*value)
        if op is ops.GROUPREF:
            return self.groups.get(value, "")
        if op is ops.GROUPREF_EXISTS:
            number, yes, no = value
            tree = yes if number in self.groups else no
            return self._all(tree) if tree else ""
        if op is ops.ATOMIC_GROUP:
            return self._all(value)
        return ""  # Look-around, anchors and boundaries do not match any text, and can fail.

    def _repeated(self, least, most, tree):
        anything = len(tree) == 1 and tree[0][0] in (ops.ANY, ops.NOT_LITERAL)
        if anything and self.choose.random() < 0.7:
            word = self.choose.choice(WORDS)
            return word if len(word) >= least else "y" * least
        count = self.choose.randint(least, min(most, least + self.choose.choice((0, 1, 1, 3))))
        return "".join(self._all(tree) for _ in range(count))

    def _of_class(self, items):
        if items[0][0] is ops.NEGATE:
            regex = re.compile("[%s]" % "".join(map(re.escape, string.ascii_letters + "0 .-")))
            allowed = [c for c in "ab0 .-_" if not any(_has(item, c) for item in items[1:])]
            return self.choose.choice(allowed or [c for c in "#%~" if regex])
        op, value = self.choose.choice(items)
        if op is ops.RANGE:
            return chr(self.choose.randint(*value))
        if op is ops.LITERAL:
            return chr(value)
        return self.choose.choice({ops.CATEGORY_DIGIT: "0123456789", ops.CATEGORY_SPACE: "  \t",
                                   ops.CATEGORY_WORD: "abz_09", ops.CATEGORY_NOT_SPACE: "ab0-.",
                                   ops.CATEGORY_NOT_DIGIT: "ab -",
                                   ops.CATEGORY_NOT_WORD: " -."}[value])


def _has(item, char):
    op, value = item
    if op is ops.LITERAL:
        return ord(char) == value
    if op is ops.RANGE:
        return value[0] <= ord(char) <= value[1]
    return {ops.CATEGORY_DIGIT: char.isdigit(), ops.CATEGORY_SPACE: char.isspace(),
            ops.CATEGORY_WORD: char.isalnum() or char == "_",
            ops.CATEGORY_NOT_SPACE: not char.isspace(), ops.CATEGORY_NOT_DIGIT: not char.isdigit(),
            ops.CATEGORY_NOT_WORD: not (char.isalnum() or char == "_")}[value]
