#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""left_runs_test.py PROGRAM: tests leave no files in DPDK's runtime folder, and scripts/left_runs
finds such files. PROGRAM is a test program that starts EAL."""
import fcntl
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
LEFT_RUNS = TESTS.parent / "scripts" / "left_runs"
PROGRAM = sys.argv.pop()
IN_PYTHON = ("import os, pathlib, signal, private_folder as own\n"
             "folder = own.RUNTIME / 'dpdk' / 'killed'\n"
             "folder.mkdir(parents=True)\n"
             "(folder / 'config').touch()\n")


class LeftRuns(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.dpdk = self.folder / "dpdk"
        self.dpdk.mkdir(mode=0o700)

    def run_here(self, *command):
        return subprocess.run(command, capture_output=True, text=True, check=False,
                              env=os.environ | {"RUNTIME_DIRECTORY": str(self.folder),
                                                "PYTHONPATH": str(TESTS)})

    def python(self, text):
        return self.run_here("/usr/bin/python3", "-c", text)

    def names(self):
        return sorted(path.name for path in self.dpdk.iterdir())

    def test_what_is_new_has_files_and_is_not_locked_is_left(self):
        for name in ("known", "left", "locked", "empty"):
            (self.dpdk / name).mkdir()
        for name in ("known", "left", "locked"):
            (self.dpdk / name / "config").touch()
        self.assertEqual(self.run_here(LEFT_RUNS).stdout.split(),
                         ["empty", "known", "left", "locked"])
        before = self.folder / "before"
        before.write_text("known\n", encoding="utf-8")
        with open(self.dpdk / "locked" / "config", "r+b") as config:
            fcntl.lockf(config, fcntl.LOCK_EX)  # EAL's primary process holds this lock.
            self.assertEqual(self.run_here(LEFT_RUNS, f"--since={before}").stdout, "left\n")
        done = self.run_here(LEFT_RUNS, f"--since={self.folder}/none")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertIn("--since=", done.stderr)

    def test_a_program_in_cc_removes_its_folder(self):
        dead = self.dpdk / "sluice-killed-1"
        dead.mkdir()
        (dead / "config").touch()
        os.utime(dead, (0, 0))  # A recent one may belong to a program that is starting.
        done = self.run_here(PROGRAM, "--gtest_filter=-*")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.names(), [])

    def test_a_program_in_python_removes_its_folder_and_those_of_killed_ones(self):
        done = self.python(IN_PYTHON)
        self.assertEqual((done.returncode, self.names()), (0, []), done.stderr)
        self.python(IN_PYTHON + "os.kill(os.getpid(), signal.SIGKILL)")
        [killed] = self.names()
        before = self.folder / "before"
        before.touch()
        self.assertEqual(self.run_here(LEFT_RUNS, f"--since={before}").stdout, killed + "\n")
        os.utime(self.dpdk / killed, (0, 0))
        self.python("import private_folder")
        self.assertEqual(self.names(), [])

    def test_programs_that_a_test_starts_use_the_folder_of_the_test(self):
        done = self.python(IN_PYTHON + "import subprocess, sys\nsubprocess.run([sys.executable, '-c',"
                           "'import private_folder'], check=True)\nprint(folder.exists())")
        self.assertEqual(done.stdout, "True\n", done.stderr)

    def test_plugins_below_a_world_writable_folder_are_copied_to_where_eal_loads_them(self):
        self.folder.chmod(0o777)
        plugin = self.folder / "inner" / "plugin.so"
        plugin.parent.mkdir()
        plugin.write_text("code", encoding="utf-8")
        done = self.python(f"import private_folder as own, pathlib\npath = own.plugin('{plugin}')\n"
                           "print(path, pathlib.Path(path).read_text(),"
                           f"own.takes_plugins('{plugin.parent}'),"
                           "own.takes_plugins(pathlib.Path(path).parent))")
        copy, *said = done.stdout.split()
        self.assertEqual(said, ["code", "False", "True"], done.stderr)
        self.assertFalse(os.path.exists(copy))


if __name__ == "__main__":
    unittest.main()
