#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""abi_test.py LIBRARY FOLDER: checks that programs compiled against the C API keep working.

engines-<major>.<minor>.abi, in libabigail's format, is the interface of the last release. Added
functions require a higher minor version, changed or removed ones a higher major one; then
`abi_test.py --record` rewrites the file. abidiff compares it with a library made from the header
alone, so that the build needs no debug information."""
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
HEADER = ROOT / "include/sluice/engines.h"
MAP = ROOT / "lib/c_api/version.map"
# Bits of abidiff's exit code: the interface changed, and programs break.
CHANGED, BROKEN = 4, 8


def output(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          check=True).stdout


def version():
    """Returns (major, minor) of the header."""
    numbers = dict(re.findall(r"#define SLUICE_ENGINES_(MAJOR|MINOR) (\d+)", HEADER.read_text()))
    return int(numbers["MAJOR"]), int(numbers["MINOR"])


def prototypes():
    """Returns (result, name, parameters) of each function of the header."""
    text = re.sub(r"/\*.*?\*/|^#.*?$", "", HEADER.read_text(), flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"^([\w][\w\s\*]*?[\s\*])(sluice_\w+)\(([^;]*?)\);", text, re.MULTILINE)


def recorded():
    """Returns version and file of the last release."""
    [path] = HERE.glob("engines-*.abi")
    major, minor = re.fullmatch(r"engines-(\d+)\.(\d+)", path.stem).groups()
    return (int(major), int(minor)), path


def build_stand_in(folder):
    """Builds a library of empty functions, as declared in the header. Returns its path."""
    folder.mkdir(exist_ok=True)
    source, library = folder / "engines.c", folder / "libsluice-engines.so"
    bodies = [f"{result}{name}({parameters}) {{ {'' if result.strip() == 'void' else 'return 0;'} }}"
              for result, name, parameters in prototypes()]
    # A verdict is stored in a byte of a frame, so no function refers to its enumeration.
    source.write_text('#include "sluice/engines.h"\nenum sluice_verdict sluice_verdicts;\n'
                      + "\n".join(bodies) + "\n")
    output("cc", "-std=c11", "-w", "-g", f"-fdebug-prefix-map={ROOT}=.", "-fPIC", "-shared", "-I",
           ROOT / "include", source, "-o", library, "-Wl,-soname,libsluice-engines.so.1")
    return library


def exports(library):
    """Returns {symbol: version} of the symbols that programs can link."""
    listing = output("nm", "--dynamic", "--defined-only", "--with-symbol-versions", library)
    names = [line.split()[-1] for line in listing.splitlines() if " A " not in line]
    return dict(name.replace("@@", "@").split("@") for name in names)


class Abi(unittest.TestCase):
    def test_every_function_is_exported_and_nothing_else(self):
        exported = exports(LIBRARY)
        self.assertEqual(sorted(exported), sorted(name for _, name, _ in prototypes()))
        self.assertGreater(len(exported), 15)
        major, minor = version()
        for symbol, node in exported.items():
            since = re.fullmatch(r"SLUICE_ENGINES_(\d+)\.(\d+)", node)
            self.assertTrue(since, f"{symbol}@{node}")
            self.assertEqual(int(since[1]), major, symbol)
            self.assertLessEqual(int(since[2]), minor, symbol)

    def test_the_library_is_called_by_its_major_version(self):
        soname = re.search(r"soname: \[(.*)\]", output("readelf", "--dynamic", LIBRARY))[1]
        self.assertEqual(soname, f"libsluice-engines.so.{version()[0]}")

    def test_symbols_of_the_last_release_keep_their_versions(self):
        exported = exports(LIBRARY)
        (major, minor), path = recorded()
        if major != version()[0]:
            self.skipTest("a new major version")
        old = set(re.findall(r"elf-symbol name='(sluice_\w+)'", path.read_text()))
        old.discard("sluice_verdicts")
        self.assertGreater(len(old), 15)
        for symbol in old:
            self.assertLessEqual(int(exported[symbol].rsplit(".", 1)[1]), minor, symbol)

    def test_the_version_says_what_became_of_the_last_release(self):
        before, now = recorded()[0], version()
        self.assertGreaterEqual(now, before)
        if shutil.which("abidiff") is None:
            self.skipTest("abidiff comes with scripts/setup --all")
        done = subprocess.run(["abidiff", "--no-added-syms", recorded()[1], build_stand_in(FOLDER)],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode & ~(CHANGED | BROKEN), 0, done.stderr)
        if done.returncode != 0:
            self.assertGreater(now[0], before[0],
                               f"programs break: a new major version, then --record\n{done.stdout}")
            return
        more = subprocess.run(["abidiff", recorded()[1], build_stand_in(FOLDER)],
                              capture_output=True, text=True, check=False)
        if more.returncode != 0:
            self.assertGreater(now, before, f"a new minor version, then --record\n{more.stdout}")
        else:
            self.assertEqual(now, before, "nothing changed but the version")

    def test_a_change_would_be_seen(self):
        if shutil.which("abidiff") is None:
            self.skipTest("abidiff comes with scripts/setup --all")
        text = recorded()[1].read_text()
        changed = FOLDER / "changed.abi"
        changed.parent.mkdir(exist_ok=True)
        for old, new in (("name='SLUICE_DROP' value='2'", "name='SLUICE_DROP' value='3'"),
                         ("name='sluice_frame' size-in-bits='192'",
                          "name='sluice_frame' size-in-bits='128'")):
            self.assertIn(old, text)
            changed.write_text(text.replace(old, new))
            done = subprocess.run(["abidiff", changed, build_stand_in(FOLDER)], check=False,
                                  capture_output=True)
            self.assertTrue(done.returncode & CHANGED, old)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--record"]:
        for path in HERE.glob("engines-*.abi"):
            path.unlink()
        stand_in = build_stand_in(ROOT / "build/library_abi")
        output("abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--out-file",
               HERE / f"engines-{version()[0]}.{version()[1]}.abi", stand_in)
    else:
        LIBRARY, FOLDER = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
        unittest.main(argv=sys.argv[:1])
