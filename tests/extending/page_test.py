#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""page_test.py BUILD: checks that the changes in docs/extending.md can be applied, compile and keep
to the include rules. build_test.py builds and runs the result."""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

import page

BUILD = pathlib.Path(sys.argv.pop()).resolve()
COPY = BUILD / "extending_page"
TEXT = page.PAGE.read_text(encoding="utf-8")
CHANGES = page.changes(TEXT)
FILE = re.compile(r"`((?:apps|docs|drivers|lib|scripts|tests)/[\w/.-]+\.\w+)`")


def ends_alike(a, b):
    return len(os.path.commonprefix([a[::-1], b[::-1]]))


def sources(entry):
    """Returns the sources of a compiler's command: a file, or the files that Meson combined into
    one."""
    path = (BUILD / entry["file"]).resolve()
    if "-unity" not in path.name:
        return [str(path)]
    return [str(pathlib.Path(included).resolve())
            for included in re.findall(r"^#include ?[<\"](.+)[>\"]", path.read_text("utf-8"), re.M)]


def command_for(source):
    """Returns this build's command for the file most similar to `source`, for a copy of the
    tree."""
    with open(BUILD / "compile_commands.json", encoding="utf-8") as file:
        entries = {path: entry for entry in json.load(file) for path in sources(entry)}
    like = max((path for path in entries if path.startswith(str(page.ROOT / "")) and
                not path.startswith(str(BUILD / ""))),
               key=lambda path: (len(os.path.commonprefix([path, str(page.ROOT / source)])),
                                 ends_alike(path, source)))
    words = shlex.split(entries[like]["command"])
    words = words[next(i for i, word in enumerate(words) if word.startswith("-")) - 1:]
    command = words[:1]
    for word, before in zip(words[1:], words):
        if before in ("-o", "-c", "-MF", "-MQ") or word in ("-o", "-c", "-MF", "-MQ", "-MD"):
            continue
        if word.startswith("-I"):
            folder = (BUILD / word[2:]).resolve()
            if page.ROOT in (folder, *folder.parents) and BUILD not in (folder, *folder.parents):
                folder = COPY / folder.relative_to(page.ROOT)
            word = f"-I{folder}"
        command.append(word)
    return command


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        page.copy_tree(COPY)

    def test_1_every_change_can_be_made(self):
        self.assertGreater(len(CHANGES), 30)
        wrong = []
        for change in CHANGES:
            try:
                change.make(COPY)
            except page.Wrong as error:
                wrong.append(str(error))
        self.assertEqual(wrong, [])

    def test_2_every_file_that_the_page_names_is_there(self):
        named = set(FILE.findall(TEXT))
        self.assertGreater(len(named), 30)
        self.assertEqual([name for name in sorted(named) if not (COPY / name).is_file()], [])

    def test_3_what_was_changed_compiles(self):
        changed = [change.path for change in CHANGES if change.path.endswith(".cc") or
                   change.path.endswith(".h") and change.how != "new"]
        self.assertGreater(len(changed), 6)
        for file in sorted(set(changed)):
            with self.subTest(file):
                # A header is compiled through a source that includes it.
                done = subprocess.run([*command_for(file), "-O0", "-fsyntax-only", "-xc++", "-"],
                                      input=f'#include "{COPY / file}"\n', cwd=BUILD,
                                      capture_output=True, text=True, timeout=120, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_4_the_include_rules_are_kept(self):
        # The page requires that the table of rules is rewritten; the rules must hold afterwards.
        for arguments in (["--write-page"], []):
            # The copy is not a repository, so the test reads its files.
            done = subprocess.run([sys.executable, COPY / "tests/architecture/architecture_test.py",
                                   *arguments],
                                  env=os.environ | {"GIT_DIR": str(COPY / "none")},
                                  capture_output=True, text=True, timeout=120, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_page_that_is_wrong_is_seen(self):
        for text in ("In `lib/none.h`, after `x`:\n\n```text\ny\n```\n",
                     "In `docs/extending.md`, after `no such line`:\n\n```text\ny\n```\n",
                     "In `docs/extending.md`, instead of `the`:\n\n```text\ny\n```\n",
                     "New file `docs/extending.md`:\n\n```text\ny\n```\n",
                     "A file:\n\n```cpp\nint x;\n```\n"):
            with self.subTest(text), self.assertRaises(page.Wrong):
                for change in page.changes(text):
                    change.make(COPY)


if __name__ == "__main__":
    unittest.main()
