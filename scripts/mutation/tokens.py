# SPDX-License-Identifier: BSD-3-Clause
"""C++ source as tokens: enough of the language to find operators, constants and statements in code
that clang-format has formatted."""
import re
from typing import NamedTuple

TOKEN = re.compile(r"""
    (?P<comment> //[^\n]* | /\*.*?\*/ )
  | (?P<directive> ^[ \t]*\# (?: \\. | [^\n\\] )* )
  | (?P<raw> (?:u8|[uUL])?R"(?P<fence>[^(\s]*)\(.*?\)(?P=fence)" )
  | (?P<text> (?:u8|[uUL])?"(?: \\. | [^"\\\n] )*" | (?:u8|[uUL])?'(?: \\. | [^'\\\n] )+' )
  | (?P<number> \.?\d (?: [eEpP][+-] | '?[\w.] )* )
  | (?P<name> [A-Za-z_]\w* )
  | (?P<mark> <=> | <<= | >>= | \.\.\. | ->\* | :: | -> | \+\+ | -- | && | \|\|
            | [-+*/%&|^=!<>]= | << | >> | \[\[ | \]\] | [^\s\w] )
""", re.X | re.S | re.M)
OPENERS = {"(": ")", "[": "]", "{": "}", "[[": "]]"}


class Token(NamedTuple):
    kind: str  # name, number, text (strings and characters) or mark
    text: str
    at: int  # Offset in the source.
    line: int  # One-based.
    spaced: bool  # Whether there is white space on both sides, as clang-format puts it around a
                  # binary operator.

    @property
    def end(self):
        return self.at + len(self.text)


def tokens(source):
    """Returns all tokens except white space, comments and preprocessor lines."""
    found, line, counted = [], 1, 0
    for match in TOKEN.finditer(source):
        kind = "text" if match.lastgroup == "fence" or match["raw"] else match.lastgroup
        if kind in ("comment", "directive"):
            continue
        at, end = match.span()
        line += source.count("\n", counted, at)
        counted = at
        spaced = source[at - 1:at].isspace() and source[end:end + 1].isspace()
        found.append(Token(kind, match[0], at, line, spaced))
    return found


def partners(found):
    """Returns {index of an opening bracket: index of its closing one}, and the reverse. A "]]" that
    ends two subscripts closes both."""
    pairs, open_ones = {}, []
    for i, token in enumerate(found):
        if token.kind != "mark":
            continue
        if token.text in OPENERS:
            open_ones.append(i)
            continue
        for closer in [token.text] if token.text != "]]" else ["]]", "]", "]"]:
            if open_ones and OPENERS[found[open_ones[-1]].text] == closer:
                pairs[open_ones[-1]] = i
                pairs[i] = open_ones.pop()
                if closer == "]]":
                    break
    return pairs
