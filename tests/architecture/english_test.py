#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts words and sentence beginnings that often make a comment or page hard to read. A top-level
folder may contain each of them at most 10 times in 10,000 words, and three times in any case.
CONTRIBUTING.md explains how to write instead. Text in quotation marks or backticks does not count."""
import collections
import io
import re
import tokenize
import unittest

from architecture_test import ROOT, tracked

PER_10000_WORDS = 10
AT_LEAST = 3
PATTERNS = {name: re.compile(pattern) for name, pattern in {
    "starts with Of, By, To or Behind": r"^(?:Of|By|To|Behind)\b",
    "what, whatever": r"(?i)\bwhat(?:ever)?\b",
    "who, whoever": r"(?i)\bwho(?:ever)?\b",
    "tell, say": r"(?i)\b(?:tells?|telling|told|says?|saying|said)\b",
    "take": r"(?i)\b(?:takes?|taking|took|taken)\b",
    "behind": r"(?i)\bbehind\b",
    "its own": r"(?i)\b(?:its|their|our) own\b",
    "is no": r"(?i)\b(?:is|are|be) no(?:ne)?\b",
    "but for": r"(?i)\bbut for\b",
}.items()}
QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"|“[^”]*”")
C_TOKEN = re.compile(r"""
    //(?P<line>[^\n]*) | /\*(?P<block>.*?)\*/ |
    R"(?P<delimiter>[^(\s]*)\(.*?\)(?P=delimiter)" |
    "(?:\\.|[^"\\\n])*" | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'""", re.S | re.X)
MARKDOWN_CODE = re.compile(r"^(```|~~~).*?^\1$|^ {4}.*?$", re.M | re.S)


def c_comments(text):
    """Yields (line number, text); adjacent // lines are one comment."""
    joined, first, last = [], 0, -1
    for token in C_TOKEN.finditer(text):
        line = text.count("\n", 0, token.start()) + 1
        if token["block"] is not None:
            yield line, re.sub(r"^\s*\*+!?\s?", "", token["block"], flags=re.M)
        elif token["line"] is not None:
            if line != last + 1:
                yield first, " ".join(joined)
                joined, first = [], line
            joined.append(re.sub(r"^[/!]?<?\s?", "", token["line"]))
            last = line
    yield first, " ".join(joined)


def python_comments(text):
    """Yields (line number, text) of comments and docstrings."""
    joined, first, last = [], 0, -1
    starts_statement = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            line = token.start[0]
            if line != last + 1:
                yield first, " ".join(joined)
                joined, first = [], line
            joined.append(token.string.lstrip("#! "))
            last = line
        elif token.type == tokenize.STRING and starts_statement:
            yield token.start[0], token.string.strip("rb\"'")
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            starts_statement = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
                                              tokenize.ENCODING)
    yield first, " ".join(joined)


def hash_comments(text):
    """Yields (line number, text) of comments in shell scripts and build files."""
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.match(r"\s*#+!?\s?(.*)", line):
            yield number, match[1]


def paragraphs(text):
    """Yields (line number, text) of the paragraphs and list items of a Markdown page."""
    text = MARKDOWN_CODE.sub(lambda code: "\n" * code[0].count("\n"), text)
    start = 0
    for end in re.finditer(r"\n\s*\n|\n(?=\s*(?:[-*|#]|\d+\.))|\Z", text):
        yield text.count("\n", 0, start) + 1, text[start:end.start()].lstrip(" -*|#0123456789.\n")
        start = end.end()


def reader_of(path, text):
    if path.suffix in (".cc", ".h", ".c", ".cu"):
        return c_comments
    if path.suffix == ".md":
        return paragraphs
    if path.suffix == ".py" or text.startswith("#!/usr/bin/python3"):
        return python_comments
    if path.suffix in (".build", ".sh") or text.startswith("#!"):
        return hash_comments
    return None


def counted(texts):
    """Returns the number of words and, for each pattern, the hits in (place, text) pairs."""
    words, hits = 0, collections.defaultdict(list)
    for place, text in texts:
        text = QUOTED.sub('""', text).strip()
        words += len(text.split())
        for name, pattern in PATTERNS.items():
            hits[name] += [f"{place}: {text[max(0, hit.start() - 30):hit.end() + 30]}"
                           for hit in pattern.finditer(text)]
    return words, hits


class English(unittest.TestCase):
    def test_comments_are_found(self):
        self.assertCountEqual(
            [text for _, text in c_comments('int a;  ///< One.\n/// Two\n/// lines.\nf("// no", \'"\');'
                                            '\nR"x(// no)x";\n/* A\n * block. */') if text],
            ["One. Two lines.", " A\nblock. "])
        self.assertEqual(
            [text for _, text in python_comments('"""Doc."""\nx = "no"  # One\n# two.\n') if text],
            ["Doc.", "One two."])
        self.assertEqual(
            [text for _, text in paragraphs("# Title\n\nOne\ntwo.\n\n```\nno\n```\n- Item\n") if text],
            ["Title", "One\ntwo.", "Item\n"])

    def test_each_pattern_is_found(self):
        odd = ("By the host.", "Whatever it needs.", "The thread who polls.", "It says so.",
               "Took one.", "A NIC behind it.", "its own ring", "There is none.", "All but for one.")
        _, hits = counted(enumerate(odd))
        self.assertEqual({name: 1 for name in PATTERNS},
                         {name: len(found) for name, found in hits.items()})
        _, hits = counted([(0, 'Returns "what it says" or `take`; to the host, by two.')])
        self.assertEqual([], sum(hits.values(), []))

    def test_each_folder_stays_below_the_rate(self):
        folders = collections.defaultdict(list)
        for path in tracked():
            place = path.relative_to(ROOT)
            text = path.read_bytes().decode("utf-8", "replace")
            if place.name != "LICENSE" and (reader := reader_of(path, text)):
                folders[place.parts[0] if len(place.parts) > 1 else "."] += [
                    (f"{place}:{line}", comment) for line, comment in reader(text)]
        self.assertIn("lib", folders)
        for folder, texts in folders.items():
            words, hits = counted(texts)
            limit = max(AT_LEAST, PER_10000_WORDS * words // 10_000)
            for name, found in hits.items():
                with self.subTest(folder=folder, pattern=name):
                    self.assertLessEqual(len(found), limit, "\n" + "\n".join(found))


if __name__ == "__main__":
    unittest.main()
