#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests which trees of DPDK's sources scripts/build and scripts/dpdk accept."""
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(*command, cwd=ROOT):
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


class Sources(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name, "dpdk")
        self.tree.mkdir()

    def check_refused(self, done, *words):
        self.assertEqual(done.returncode, 2, done)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_a_tree_of_another_release_is_refused(self):
        build = str(ROOT / "scripts" / "build")
        for version in ("22.11.11", "24.110.1", "124.11", ""):
            with self.subTest(version=version):
                (self.tree / "VERSION").write_text(version + "\n", encoding="utf-8")
                # Relative names are relative to the caller's folder.
                self.check_refused(run(build, "--dpdk=24.11", "--dpdk-source=dpdk", "release",
                                       cwd=self.tree.parent),
                                   f"--dpdk-source={self.tree}", f"'{version}'", "24.11")

    def test_a_folder_without_sources_is_refused(self):
        for folder in (self.tree, self.tree / "missing"):
            self.check_refused(run("scripts/dpdk", "24.11", str(folder)), str(folder))

    def test_sources_of_no_release_are_refused(self):
        done = run("scripts/build", f"--dpdk-source={self.tree}", "release")
        self.check_refused(done, "usage", "--dpdk=<release>")
        self.check_refused(run("scripts/dpdk", "23.11", str(self.tree)), "usage", "24.11")


if __name__ == "__main__":
    unittest.main()
