#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What comments and pages cite exists: pages, their sections, the targets of links. And what
pages repeat from the code is what the code says: flags, members of the report, the picture."""
import pathlib
import re
import unittest

from architecture_test import ROOT, TEXT, tracked

CODE = {".h", ".cc", ".c", ".py", ".build", ".json", ".flags", ""}
PAGE = re.compile(r"(?<![\w/.<-])((?:[\w-]+/)*[\w-]+\.md)\b")
SECTION = re.compile(PAGE.pattern + r',\s("[^"]+"(?:; "[^"]+")*)')
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE_BLOCK = re.compile(r"^```.*?^```$", re.M | re.S)
# "section 4.3" of what? A publication that anybody can open, named shortly before it.
NUMBERED = re.compile(r"\bsections? \d")
PUBLIC = re.compile(r"RFC \d+|[A-Z]{3,} ?['’]\d\d|specification")


def text_of(path):
    return path.read_bytes().decode("utf-8", "replace")


def prose(path):
    """A file's text in one line, comment marks removed."""
    lines = text_of(path).splitlines()
    if path.suffix in CODE:
        lines = [re.sub(r"^\s*(?://[/!]?<?|#|\*)\s?", "", line) for line in lines]
    return re.sub(r"\s+", " ", " ".join(lines))


def texts():
    own = pathlib.Path(__file__).resolve()
    return [p for p in tracked() if p.suffix in TEXT | {".json"} and p.name != "LICENSE" and p != own]


def headings(page):
    """Headings of a page, as they stand and as anchors."""
    found, code = {}, False
    for line in text_of(page).splitlines():
        code ^= line.startswith("```")
        if not code and (match := re.match(r"#+ (.+)", line)):
            title = match[1].strip()
            found[title] = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
    return found


def page_of(cited, citing):
    """The page that `citing` means by `cited`: from the root, from its own folder, or in docs."""
    places = (ROOT / cited, citing.parent / cited, ROOT / "docs" / cited)
    return next((p for p in places if p.is_file()), None)


def rows(page, heading):
    """First cells of the tables below a heading, as text."""
    section = re.split(r"^#+ ", text_of(page), flags=re.M)
    body = next(s for s in section if s.startswith(heading + "\n"))
    return [line.split("|")[1:-1] for line in body.splitlines()
            if line.startswith("|") and not line.startswith("|---")][1:]


class Citations(unittest.TestCase):
    def test_cited_pages_and_sections_exist(self):
        wrong = []
        for path in texts():
            text = prose(path)
            for cited in PAGE.findall(text):
                if page_of(cited, path) is None:
                    wrong.append(f"{path.relative_to(ROOT)}: {cited} does not exist")
            for cited, sections in SECTION.findall(text):
                page = page_of(cited, path)
                wrong += [f"{path.relative_to(ROOT)}: {cited} has no section {title}"
                          for title in re.findall(r'"([^"]+)"', sections)
                          if page and title not in headings(page)]
        self.assertFalse(wrong, "\n" + "\n".join(wrong))

    def test_links_lead_somewhere(self):
        wrong = []
        for page in (p for p in tracked() if p.suffix == ".md"):
            for target in LINK.findall(CODE_BLOCK.sub("", text_of(page))):
                if re.match(r"\w+:", target):
                    continue
                name, _, anchor = target.partition("#")
                place = (page.parent / name).resolve() if name else page
                if not place.exists():
                    wrong.append(f"{page.relative_to(ROOT)}: {target}")
                elif anchor and anchor not in headings(place).values():
                    wrong.append(f"{page.relative_to(ROOT)}: no heading for {target}")
        self.assertFalse(wrong, "\n" + "\n".join(wrong))

    def test_numbered_sections_are_of_publications(self):
        wrong = []
        for path in texts():
            text = prose(path)
            wrong += [f"{path.relative_to(ROOT)}: …{text[max(0, at.start() - 60):at.end() + 20]}…"
                      for at in NUMBERED.finditer(text)
                      if not PUBLIC.search(text[max(0, at.start() - 80):at.start()])]
        self.assertFalse(wrong, "\n" + "\n".join(wrong))

    def test_bad_citations_are_seen(self):
        here = ROOT / "lib" / "regs" / "enso.h"
        self.assertIsNone(page_of("enso.md", here))
        self.assertEqual([("docs/wave.md", '"Rules"; "Numbers"')],
                         SECTION.findall('see docs/wave.md, "Rules"; "Numbers").'))
        self.assertFalse(PUBLIC.search("(hardware sheet, "))


class Contract(unittest.TestCase):
    page = ROOT / "docs" / "command-line.md"

    def defined(self):
        """Common flags and their defaults, from the DEFINE_ lines of lib/runtime."""
        found = {}
        for path in sorted((ROOT / "lib" / "runtime").glob("*.cc")):
            for name, value in re.findall(r'DEFINE_\w+\((\w+),\s*("[^"]*"|[\w.]+)', text_of(path)):
                found["--" + name] = value.strip('"') or "empty"
        return found

    def test_the_page_lists_every_common_flag_and_its_default(self):
        listed = {}
        for cells in rows(self.page, "Common flags"):
            for name in re.findall(r"`(--\w+)`", cells[0]):
                listed[name] = cells[1].strip().strip("`")
        for name in ("--flagfile", "--help", "--version"):  # The command line's own.
            self.assertIn(name, listed)
            del listed[name]
        self.assertEqual(listed, self.defined())

    def test_the_page_lists_every_member_of_the_report(self):
        listed = {name for cells in rows(self.page, "The JSON report")
                  for name in re.findall(r"`(\w+)`", cells[0])}
        report = text_of(ROOT / "lib" / "runtime" / "report.cc")
        counters = text_of(ROOT / "lib" / "nic" / "queue_counters.h")
        bindings = " ".join(map(text_of, (ROOT / "lib" / "nic").glob("*_binding.cc")))
        written = {*re.findall(r'report\["(\w+)"\]', report),
                   *re.findall(r'QueueCounter\{\s*"(\w+)",[^}]*&QueueCounters::\w+\}', counters),
                   *re.findall(r'return \{\.name = "(\w+)"', bindings)}
        self.assertGreater(len(written), 30)
        self.assertEqual(written, listed)


class Pictures(unittest.TestCase):
    def test_the_readme_has_the_picture_of_the_architecture(self):
        def picture(page):
            return next(block for block in re.findall(r"```\n(.*?)```", text_of(page), re.S)
                        if "PCIe" in block)
        self.assertEqual(picture(ROOT / "README.md"), picture(ROOT / "docs" / "architecture.md"))


if __name__ == "__main__":
    unittest.main()
