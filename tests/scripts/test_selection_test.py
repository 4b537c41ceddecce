#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/test_selection on a project of five tests, which meson configures here."""
import pathlib
import subprocess
import tempfile
import unittest

SELECTION = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "test_selection"
PROJECT = """
project('p', 'c')
program = executable('program', 'main.c')
executable('bench', 'main.c')
shell = find_program('sh')
test('last', shell, priority: -1)
test('short', program)
test('long', program, suite: ['extended', 'swap'])
test('script', shell, args: ['-c', 'true'])
test('end_to_end', shell, args: ['-c', 'true'], depends: program, suite: 'extended')
"""


class Selection(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        source = pathlib.Path(folder.name)
        (source / "meson.build").write_text(PROJECT)
        (source / "main.c").write_text("int main(void) { return 0; }\n")
        cls.build = source / "build"
        subprocess.run(["meson", "setup", cls.build, source], check=True, capture_output=True)

    def selected(self, *options):
        done = subprocess.run([SELECTION, self.build, *options], capture_output=True, text=True,
                              check=False)
        return done.returncode, done.stdout.split()

    def test_every_test_without_options_by_priority(self):
        self.assertEqual(self.selected(), (0, ["short", "long", "script", "end_to_end", "last"]))

    def test_suites(self):
        self.assertEqual(self.selected("--suite=extended"), (0, ["long", "end_to_end"]))
        self.assertEqual(self.selected("--no-suite=extended"), (0, ["short", "script", "last"]))
        self.assertEqual(self.selected("--suite=extended", "--no-suite=swap"), (0, ["end_to_end"]))

    def test_kinds(self):
        self.assertEqual(self.selected("--kind=program"), (0, ["short", "long"]))
        self.assertEqual(self.selected("--kind=script"),
                         (0, ["script", "end_to_end", "last"]))

    def test_names(self):
        self.assertEqual(self.selected("--name=short", "--name=script"), (0, ["short", "script"]))

    def test_targets(self):
        self.assertEqual(self.selected("--targets", "--name=end_to_end"), (0, ["program"]))
        self.assertEqual(self.selected("--targets", "--name=script"), (0, []))
        self.assertEqual(self.selected("--targets", "--untested", "--name=script"), (0, ["bench"]))

    def test_nothing_selected_is_an_error(self):
        self.assertEqual(self.selected("--suite=none"), (1, []))


if __name__ == "__main__":
    unittest.main()
