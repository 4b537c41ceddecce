# SPDX-License-Identifier: BSD-3-Clause
"""Finds the possible mutations of a C++ source. Comments, strings, preprocessor lines, attributes,
template arguments, case labels, compile-time declarations, log messages, assertions and prefetches
are excluded: such a change cannot run, or tests need not detect it."""
import re
from typing import NamedTuple

from tokens import OPENERS, partners, tokens

OPERATORS = ("comparison", "boundary", "arithmetic", "deleted statement", "constant", "boolean")
COMPARISON = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "&": "|", "|": "&", "^": "|",
              "<<": ">>", ">>": "<<", "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "%=": "/=",
              "&=": "|=", "|=": "&=", "^=": "|=", "<<=": ">>=", ">>=": "<<="}
STEP = {"++": "--", "--": "++"}
LOGICAL = {"&&": "||", "||": "&&"}
TRUTH = {"true": "false", "false": "true"}
ASSIGNMENTS = {"=", *(mark for mark in ARITHMETIC if mark.endswith("="))}

INTEGER = re.compile(r"(0[xX](?=[\da-fA-F]))?((?(1)[\da-fA-F']|[\d'])+)([uUlLzZ]*)")
REAL = re.compile(r"([\d'.]+(?:[eE][-+]?\d+)?)[fFlL]?")
UNTOUCHED_CALLS = re.compile(r"(\w+_LOG|Log|rte_log|f?printf|perror|\w*assert|\w*prefetch\w*"
                             r"|\w*Prefetch\w*|alignas|alignof|decltype)")
JUMPS = {"break", "continue", "return"}


class Site(NamedTuple):
    operator: str
    start: int
    end: int  # source[start:end] is replaced by `new`, which has as many newlines.
    new: str
    line: int
    grouped: tuple = ()  # Other ranges to put in parentheses.

    def apply(self, source):
        edits = [(self.start, self.end, self.new)]
        for start, end in self.grouped:
            edits += [(start, start, "("), (end, end, ")")]
        for start, end, new in sorted(edits, reverse=True):
            source = source[:start] + new + source[end:]
        return source


class Source:
    """A file's tokens, and the indices of those that are never mutated."""

    def __init__(self, text):
        self.text = text
        self.tokens = tokens(text)
        self.pairs = partners(self.tokens)
        self.fixed = set()
        self.inner = []  # For each token, the innermost opening bracket around it, or None.
        self._find_brackets()
        self._fix()

    def __getitem__(self, i):
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def _find_brackets(self):
        around = []
        for i, token in enumerate(self.tokens):
            while around and self.pairs.get(around[-1], i) <= i:
                around.pop()
            self.inner.append(around[-1] if around else None)
            if token.kind == "mark" and token.text in OPENERS:
                around.append(i)

    def _fix(self):
        angles = []
        for i, token in enumerate(self.tokens):
            if token.text == "[[":
                self.fixed.update(range(i, self.pairs.get(i, i)))
            elif token.kind == "name" and self[i + 1] == "(" and \
                    UNTOUCHED_CALLS.fullmatch(token.text):
                self.fixed.update(range(i, self.pairs.get(i + 1, i) + 1))
            elif token.text == "constexpr":
                self.fixed.update(range(i, self.first_of(i, "{", ";")))
            elif token.text == "case":
                self.fixed.update(range(i, self.first_of(i, ":", ";")))
            elif token.text == "operator":
                self.fixed.add(i + 1)
            elif token.text == "<" and not token.spaced and \
                    (self.tokens[i - 1].end == token.at or self[i - 1] == "template"):
                angles.append(i)
            elif token.text in (";", "{", "}"):
                angles.clear()
            elif token.text in (">", ">>") and not token.spaced:
                for _ in token.text[:len(angles)]:
                    self.fixed.update(range(angles.pop(), i + 1))

    def first_of(self, i, *wanted):
        """Returns the index of the first of these tokens from `i` on, skipping brackets."""
        while i < len(self.tokens) and self[i] not in wanted:
            i = max(i, self.pairs.get(i, i)) + 1 if self[i] in OPENERS else i + 1
        return i

    def site(self, operator, first, last, new):
        """Returns the site that replaces the tokens from index `first` to `last` by `new`."""
        start, end = self.tokens[first].at, self.tokens[last].end
        new += "\n" * (self.text.count("\n", start, end) - new.count("\n"))
        return Site(operator, start, end, new, self.tokens[first].line)


def marks(source, i):
    token = source.tokens[i]
    if token.text in STEP:
        yield source.site("arithmetic", i, i, STEP[token.text])
    elif token.text == "!":
        yield source.site("boolean", i, i, "")
    elif not token.spaced:
        return
    elif token.text in LOGICAL:
        yield logical(source, i)
    else:
        for operator, table in (("comparison", COMPARISON), ("boundary", BOUNDARY)):
            if token.text in table:
                yield source.site(operator, i, i, table[token.text])
        # An operator next to a string concatenates text.
        if token.text in ARITHMETIC and "text" not in (source.tokens[i - 1].kind,
                                                       source.tokens[i + 1].kind):
            yield source.site("arithmetic", i, i, ARITHMETIC[token.text])


def logical(source, i):
    """Swaps the connective. An operand that contains the new connective gets parentheses, because
    compilers warn about mixed ones."""
    ends = {";", ",", "?", ":", "return", *ASSIGNMENTS}
    first = i
    while source[first - 1] and source[first - 1] not in ends | OPENERS.keys():
        first = source.pairs.get(first - 1, first - 1)
    last = i
    while source[last + 1] and source[last + 1] not in ends | set(OPENERS.values()):
        last = source.pairs.get(last + 1, last + 1)

    def grouped(a, b):
        if any(source[k] in LOGICAL and source.inner[k] == source.inner[i]
               for k in range(a, b + 1)):
            yield source.tokens[a].at, source.tokens[b].end

    return source.site("boolean", i, i, LOGICAL[source[i]])._replace(
        grouped=(*grouped(first, i - 1), *grouped(i + 1, last)))


def constants(source, i):
    text = source[i]
    if whole := INTEGER.fullmatch(text):
        prefix, digits, suffix = whole[1] or "", whole[2].replace("'", ""), whole[3]
        octal = not prefix and len(digits) > 1 and digits[0] == "0"
        value = int(digits, 16 if prefix else 8 if octal else 10)
        for other in (value + 1, value - 1):
            if other >= 0:
                shown = f"{other:x}" if prefix else f"0{other:o}" if octal else str(other)
                yield source.site("constant", i, i, prefix + shown + suffix)
    elif real := REAL.fullmatch(text):
        zero = float(real[1].replace("'", "")) == 0
        yield source.site("constant", i, i, "1.0" if zero else f"({text} * 2)")


def condition(source, i):
    """Negates `if (x)` and `while (x)` with a single value. Comparisons, connectives and "!" have
    separate mutations."""
    first, last = i + 2, source.pairs.get(i + 1, 0) - 1
    inside = range(first, last + 1)
    if source[i + 1] != "(" or last < first or source[first] == "!" or \
            any(source[k] in LOGICAL or source[k] in ASSIGNMENTS or source[k] == ";" or
                (source[k] in COMPARISON and source.tokens[k].spaced) for k in inside):
        return
    yield source.site("boolean", first, last,
                      f"!({source.text[source.tokens[first].at:source.tokens[last].end]})")


def begins_statement(source, i):
    before = source[i - 1]
    if i == 0 or (source.inner[i] is not None and source[source.inner[i]] != "{"):
        return False
    if before == ")":
        head = source.pairs.get(i - 1, 0) - 1
        return source[head] in ("if", "for", "while") or source[head - 1] == "if"
    if before == ":":
        label = i - 1
        while source[label] not in (";", "{", "}", ""):
            label -= 1
        return source[label + 1] in ("case", "default")
    return before in (";", "{", "}", "else", "do", "]]")


def statement_end(source, i):
    """Returns the index of the ";" of the assignment, call or jump that begins at `i`, or None for
    other statements: a declaration begins with two names."""
    if source[i] in JUMPS:
        return i + 1 if source[i + 1] == ";" else None
    called = stepped = False
    while source[i] in ("*", "++", "--"):
        stepped = stepped or source[i] != "*"
        i += 1
    if source[i] == "(":
        i = source.pairs.get(i, i) + 1
    elif i < len(source.tokens) and source.tokens[i].kind == "name":
        i += 1
    elif source[i] != "::":
        return None
    while source[i]:
        text = source[i]
        if text in ("(", "["):
            called = text == "("
            i = source.pairs.get(i, i) + 1
        elif text in ("::", ".", "->") and source.tokens[i + 1].kind == "name":
            called = False
            i += 2
        elif text == "<" and i in source.fixed:
            while i in source.fixed:
                i += 1
        elif text in STEP:
            stepped = True
            i += 1
        elif text in ASSIGNMENTS:
            end = source.first_of(i, ";", ")", "]", "}")
            return end if source[end] == ";" else None
        else:
            return i if text == ";" and (called or stepped) else None
    return None


def deletions(source, i):
    if begins_statement(source, i) and (end := statement_end(source, i)) is not None:
        yield source.site("deleted statement", i, end, "{}")


def sites(text):
    """Returns every possible mutation of a source."""
    source = Source(text)
    found = []
    for i, token in enumerate(source.tokens):
        if i in source.fixed:
            continue
        found += deletions(source, i)
        if token.kind == "mark":
            found += marks(source, i)
        elif token.kind == "number":
            found += constants(source, i)
        elif token.text in TRUTH:
            found.append(source.site("boolean", i, i, TRUTH[token.text]))
        elif token.text in ("if", "while"):
            found += condition(source, i)
    return found
