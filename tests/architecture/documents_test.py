#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that citations in comments and pages exist: pages, their sections, the targets of links.
Also checks that facts which pages repeat from the code agree with it: flags, members of the report,
the picture."""
import itertools
import pathlib
import re
import shlex
import unittest

from architecture_test import ROOT, TEXT, tracked

CODE = {".h", ".cc", ".c", ".py", ".build", ".json", ".flags", ""}
PAGE = re.compile(r"(?<![\w/.<-])((?:[\w-]+/)*[\w-]+\.md)\b")
SECTION = re.compile(PAGE.pattern + r',\s("[^"]+"(?:; "[^"]+")*)')
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE_BLOCK = re.compile(r"^```.*?^```$", re.M | re.S)
# Matches a program of this project: its name, and the rest of the line.
COMMAND = re.compile(r"(?:^|[\s/])sluice-([a-z]+(?:-[a-z]+)*)((?:\s.*)?)$")
# A section number must follow the name of a publication that is publicly available.
NUMBERED = re.compile(r"\bsections? \d")
PUBLIC = re.compile(r"RFC \d+|[A-Z]{3,} ?['’]\d\d|specification")


def text_of(path):
    return path.read_bytes().decode("utf-8", "replace")


def prose(path):
    """Returns a file's text in one line, without comment marks."""
    lines = text_of(path).splitlines()
    if path.suffix in CODE:
        lines = [re.sub(r"^\s*(?://[/!]?<?|#|\*)\s?", "", line) for line in lines]
    return re.sub(r"\s+", " ", " ".join(lines))


def texts():
    own = pathlib.Path(__file__).resolve()
    return [p for p in tracked() if p.suffix in TEXT | {".json"} and p.name != "LICENSE" and p != own]


def headings(page):
    """Returns the headings of a page, as text and as anchors."""
    found, code = {}, False
    for line in text_of(page).splitlines():
        code ^= line.startswith("```")
        if not code and (match := re.match(r"#+ (.+)", line)):
            title = match[1].strip()
            found[title] = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
    return found


def page_of(cited, citing):
    """Returns the page that `citing` calls `cited`: relative to the root, to its folder, or to
    docs."""
    places = (ROOT / cited, citing.parent / cited, ROOT / "docs" / cited)
    return next((p for p in places if p.is_file()), None)


def rows(page, heading):
    """Returns the first cells of the tables below a heading, as text."""
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
        """Returns the common flags and their defaults, from the DEFINE_ lines of lib/runtime."""
        found = {}
        for path in sorted((ROOT / "lib" / "runtime").glob("*.cc")):
            for name, value in re.findall(r'DEFINE_\w+\(\s*(\w+),\s*("[^"]*"|[\w.]+)', text_of(path)):
                found["--" + name] = value.strip('"') or "empty"
        return found

    def test_the_page_lists_every_common_flag_and_its_default(self):
        listed = {}
        for cells in rows(self.page, "Common flags"):
            for name in re.findall(r"`(--\w+)`", cells[0]):
                listed[name] = cells[1].strip().strip("`")
        for name in ("--flagfile", "--help", "--version"):  # Flags of the command line itself.
            self.assertIn(name, listed)
            del listed[name]
        self.assertEqual(listed, self.defined())

    # The files that write the members of an application's own report, relative to its folder.
    WRITERS = {"device": ["report.cc"], "kv": ["counters.cc", "workers.cc"],
               "kv_client": ["report.cc"], "logmon": ["main.cc", "report.cc"],
               "maglev": ["report.cc"], "pktgen": ["main.cc", "rfc2544_views.cc", "views.cc"],
               "rpc": ["frames/main.cc", "frames/views.cc"],
               "sched": ["figures.cc", "views.cc"],
               "telemetry": ["../../lib/engine/telemetry/export/epoch_json.cc", "exports.cc",
                             "views.cc"]}

    def test_an_applications_page_names_every_member_of_its_own(self):
        common = set(re.findall(r"`([\w.]+)`", text_of(self.page)))
        for app, writers in self.WRITERS.items():
            page = text_of(ROOT / ("docs/device.md" if app == "device"
                                   else f"apps/{app}/README.md"))
            named = common | {word for code in re.findall(r"`([^`\n]+)`", page)
                              for word in re.findall(r"[\w.]+", code)}
            for writer in writers:
                text = text_of(ROOT / "apps" / app / writer)
                written = set(re.findall(r'\{"([\w.]+)",|\w\["([\w.]+)"\]', text))
                written = {name for pair in written for name in pair if name}
                # Omit the prefixes of metric families.
                written = {name for name in written if not name.startswith("sluice_")}
                self.assertTrue(written, writer)
                self.assertFalse(written - named, f"the page of {app}, {writer}")

    def test_the_page_lists_every_member_of_the_report(self):
        listed = {name for cells in rows(self.page, "The JSON report")
                  for name in re.findall(r"`(\w+)`", cells[0])}
        frame = text_of(ROOT / "lib" / "host" / "report.cc")
        clients = text_of(ROOT / "lib" / "emulator" / "client_counts.h")
        report = text_of(ROOT / "lib" / "runtime" / "report.cc")
        counters = text_of(ROOT / "lib" / "nic" / "queue_counters.h")
        bindings = " ".join(map(text_of, (ROOT / "lib" / "nic").glob("*_binding.cc")))
        written = {*re.findall(r'\{"(\w+)", ', frame), *re.findall(r'Count\{"(\w+)"', clients),
                   *re.findall(r'report\["(\w+)"\]', report),
                   *re.findall(r'QueueCounter\{\s*"(\w+)",[^}]*&QueueCounters::\w+\}', counters),
                   *re.findall(r'SumFigures<\w+>\(\s*"(\w+)"', bindings)}
        self.assertGreater(len(written), 30)
        self.assertEqual(written, listed)


def commands(text):
    """Yields commands of our programs in a page's code: the program's name and its arguments."""
    text = text.replace("\\\n", " ")
    fenced = CODE_BLOCK.findall(text)
    rest = CODE_BLOCK.sub("", text)
    lines = [line for block in fenced for line in block.splitlines()[1:-1]]
    lines += re.findall(r"^ {4,}(.*)$", rest, re.M) + re.findall(r"`([^`\n]+)`", rest)
    for line in lines:
        if match := COMMAND.search(line):
            lexer = shlex.shlex(match[2], posix=True, punctuation_chars=True)
            lexer.whitespace_split = True
            words = itertools.takewhile(lambda word: word[0] not in "|;&<>()", lexer)
            yield match[1], list(words)


class Commands(unittest.TestCase):
    """Checks that programs accept the commands on the pages."""
    runtime = "".join(text_of(p) for p in sorted((ROOT / "lib" / "runtime").glob("*.cc"))
                      if p.name != "replay.cc")
    eal = set(re.findall(r'"([\w-]+)"', re.search(r"kEalOptions = \{(.*?)\};", runtime, re.S)[1]))

    def flags(self, app):
        """Returns the flags of an application, from their definitions."""
        own = "".join(text_of(p) for p in sorted((ROOT / "apps" / app).rglob("*.cc")))
        if app == "top":
            return {"help", *re.findall(r'add_argument\("--([\w-]+)"',
                                        text_of(ROOT / "apps" / app / "main.py"))}
        if app == "device":
            models = "".join(text_of(p) for p in (ROOT / "lib" / "emulator").glob("*_model.cc"))
            return {"model", *re.findall(r'FlagHelp\{"(\w+)"', own),
                    *re.findall(r'^ {4}\{"(\w+)", "', models, re.M)}
        if app != "kv_client":
            own += self.runtime
        if "runtime/replay.h" in own:
            own += text_of(ROOT / "lib" / "runtime" / "replay.cc")
        return {"help", "version", "flagfile", *re.findall(r"DEFINE_\w+\(\s*(\w+)", own)}

    def wrong(self, app, words):
        """Returns the parts of a command that its program does not accept."""
        flags = self.flags(app)
        names = [re.match(r"--([\w-]+)", word) for word in words]
        first = names[0][1] if names and names[0] else ""
        eal = "--" in words or (words and words[0].startswith("-") and first not in flags)
        found = []
        for word, name in zip(words, names):
            if word == "--":
                eal = False
            elif name and name[1] not in (self.eal if eal else flags):
                found.append(word)
        # A command with --vdev also needs -a or --no-pci. Otherwise EAL would probe devices of the
        # machine.
        if any(word.startswith("--vdev") for word in words) and not {"-a", "--no-pci"} & {*words}:
            found.append("no --no-pci")
        return found

    def test_commands_of_pages_have_flags_that_exist(self):
        wrong, seen = [], set()
        for page in (p for p in tracked() if p.suffix == ".md"):
            for program, words in commands(text_of(page)):
                app = program.replace("-", "_")
                if not (ROOT / "apps" / app).is_dir():  # The application is elsewhere or new.
                    continue
                seen.add(app)
                wrong += [f"{page.relative_to(ROOT)}: sluice-{program}: {what}"
                          for what in self.wrong(app, words)]
        self.assertFalse(wrong, "\n" + "\n".join(wrong))
        self.assertEqual(seen, {p.name for p in (ROOT / "apps").iterdir() if p.is_dir()})

    def test_what_a_program_does_not_take_is_seen(self):
        page = ("    x/sluice-kv --no-pci --vdev=net_null0 -- --ip=10.0.0.1 --ips=1 | less --raw\n"
                "`sluice-echo --rate=5 --lcores=1`\n```\nsluice-device --model=enso --moddel=x\n```\n"
                "    sluice-logmon --vdev=net_af_packet0,iface=eth1 -- --filter='a --b'\n")
        found = {app: self.wrong(app, words) for app, words in commands(page)}
        self.assertEqual(found, {"device": ["--moddel=x"], "kv": ["--ips=1"],
                                 "logmon": ["no --no-pci"], "echo": ["--lcores=1"]})


class Pictures(unittest.TestCase):
    def test_the_readme_has_the_picture_of_the_architecture(self):
        def picture(page):
            return next(block for block in re.findall(r"```\n(.*?)```", text_of(page), re.S)
                        if "PCIe" in block)
        self.assertEqual(picture(ROOT / "README.md"), picture(ROOT / "docs" / "architecture.md"))


if __name__ == "__main__":
    unittest.main()
