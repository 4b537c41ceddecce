#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""hardening_test.py FORTIFIED ARCHIVE… FILE…: checks the linker's result of the hardening flags in
meson.build. FORTIFIED: `true` if the build checks lengths (_FORTIFY_SOURCE). A FILE is a program or
a plugin; an ARCHIVE (*.a) contains the compiler's objects."""
import pathlib
import re
import subprocess
import sys
import unittest

FORTIFIED = sys.argv[1] == "true"
ARCHIVES = [path for path in sys.argv[2:] if path.endswith(".a")]
FILES = [path for path in sys.argv[2:] if not path.endswith(".a")]
# Files that do not contain a call for which the compiler knows the size of the buffer.
NOTHING_TO_CHECK = ("librte_node_sluice.so",)


def readelf(path, *options):
    return subprocess.run(["readelf", "--wide", *options, path], capture_output=True, text=True,
                          check=True).stdout


class Hardening(unittest.TestCase):
    def each(self, paths):
        self.assertTrue(paths)
        for path in paths:
            with self.subTest(pathlib.Path(path).name):
                yield path

    def test_every_file_is_loaded_anywhere(self):
        for path in self.each(FILES):
            self.assertRegex(readelf(path, "--file-header"), r"Type: +DYN ")

    def test_tables_of_functions_are_read_only(self):
        for path in self.each(FILES):
            self.assertRegex(readelf(path, "--program-headers"), r"(?m)^ +GNU_RELRO ")
            self.assertRegex(readelf(path, "--dynamic"), r"\(FLAGS\).*BIND_NOW|\(BIND_NOW\)")

    def test_no_segment_can_be_written_and_executed(self):
        for path in self.each(FILES):
            headers = readelf(path, "--program-headers")
            self.assertRegex(headers, r"(?m)^ +GNU_STACK .* RW +0x")
            self.assertNotRegex(headers, r"(?m)^ +LOAD .* RWE ")

    def test_buffers_on_the_stack_end_with_a_canary(self):
        for path in self.each(FILES):
            self.assertRegex(readelf(path, "--dyn-syms"), r" UND __stack_chk_fail\b")

    def test_lengths_are_checked_where_the_build_says_so(self):
        checked = {path: re.findall(r" UND (__\w+_chk)\b", readelf(path, "--dyn-syms"))
                   for path in self.each(FILES)}
        for path, functions in checked.items():
            name = pathlib.Path(path).name
            with self.subTest(name):
                self.assertEqual(bool(functions),
                                 FORTIFIED and not name.startswith(NOTHING_TO_CHECK))

    def test_objects_allow_only_marked_targets_of_indirect_jumps(self):
        for path in self.each(ARCHIVES):
            if "X86-64" not in readelf(path, "--file-header"):
                self.skipTest("-fcf-protection is of x86")
            # Each archive member must have a note. A file linked from the members has the note if
            # crt1.o and all other objects have it.
            notes = readelf(path, "--notes").split("\nFile: ")[1:]
            self.assertTrue(notes)
            for note in notes:
                self.assertRegex(note, r"x86 feature: IBT, SHSTK")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
