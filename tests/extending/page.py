# SPDX-License-Identifier: BSD-3-Clause
"""Reads the changes that docs/extending.md describes, and applies them to a copy of the tree.

A block of code belongs to the preceding line of text:

  New file `PATH`:
  In `PATH`, after `TEXT`:         the block follows the only line that contains TEXT
  In `PATH`, instead of `TEXT`:    the block, without its newline, replaces the only TEXT
"""
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "extending.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
CHANGE = re.compile(r"(?:New file `([^`]+)`|In `([^`]+)`, (after|instead of) `([^`]+)`):\n\n\Z")


class Wrong(Exception):
    """Raised if the page and the tree disagree. The message is one line."""


class Change:
    def __init__(self, new, path, how, anchor, block):
        self.path = new or path
        self.how = how or "new"
        self.anchor = anchor
        self.block = block

    def make(self, root):
        file = root / self.path
        if self.how == "new":
            if file.exists():
                raise Wrong(f"{self.path}: not new")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self.block, encoding="utf-8")
            return
        if not file.is_file():
            raise Wrong(f"{self.path}: no such file")
        text = file.read_text(encoding="utf-8")
        if text.count(self.anchor) != 1:
            raise Wrong(f"{self.path}: {text.count(self.anchor)} times: {self.anchor}")
        at = text.index(self.anchor)
        if self.how == "after":
            end = text.index("\n", at) + 1
            text = text[:end] + self.block + text[end:]
        else:
            text = text[:at] + self.block.removesuffix("\n") + text[at + len(self.anchor):]
        file.write_text(text, encoding="utf-8")


def changes(page):
    """Returns every change of `page` in order. A block without a file must contain commands (sh) or
    text."""
    found = []
    for block in BLOCK.finditer(page):
        if told := CHANGE.search(page[:block.start()]):
            found.append(Change(*told.groups(), block[2]))
        elif block[1] not in ("sh", "text"):
            raise Wrong("a block of " + block[1] + " without its file: " + block[2][:60])
    return found


def commands(page):
    """Returns the lines of the page's sh blocks."""
    return [line for block in BLOCK.finditer(page) if block[1] == "sh"
            for line in block[2].splitlines()]


def copy_tree(folder):
    """Copies the files of the tree, without build products, to the new folder `folder`."""
    listing = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=False,
                             capture_output=True, text=True)
    if listing.returncode == 0:
        names = listing.stdout.splitlines()
    else: # The tree is an unpacked archive.
        names = [str(p.relative_to(ROOT)) for p in ROOT.rglob("*")
                 if p.relative_to(ROOT).parts[0] not in ("build", ".git")]
    shutil.rmtree(folder, ignore_errors=True)
    for name in names:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
