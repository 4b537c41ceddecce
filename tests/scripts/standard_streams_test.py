#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests scripts that start without standard streams: a program that they start must not open
another file with the number of a standard stream."""
import pathlib
import subprocess
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
CHILD = ("import os, sys\n"
         "with open(sys.argv[1], 'a', encoding='utf-8') as file:\n"
         "    for fd in range(3):\n"
         "        print(os.readlink(f'/proc/self/fd/{fd}'), file=file)\n")


class StandardStreams(unittest.TestCase):
    def seen_by_a_child(self, closing):
        """Returns the files open as descriptors 0 to 2 in a program that a script starts."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "child.py").write_text(CHILD, encoding="utf-8")
            script = folder / "script"
            script.write_text("#!/bin/bash\nset -euo pipefail\n"
                              f'. "{SCRIPTS}/standard_streams.sh"\n'
                              f"/usr/bin/python3 {folder}/child.py {folder}/seen\n",
                              encoding="utf-8")
            script.chmod(0o755)
            subprocess.run(["/bin/sh", "-c", f"exec {script} {closing}"], check=True,
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            return (folder / "seen").read_text(encoding="utf-8").splitlines()

    def test_those_that_are_closed_are_opened_on_dev_null(self):
        for closed in ((), (0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)):
            with self.subTest(closed=closed):
                seen = self.seen_by_a_child(" ".join(f"{fd}>&-" for fd in closed))
                for fd, file in enumerate(seen):
                    self.assertRegex(file, "^/dev/null$" if fd in closed else "^pipe:", seen)

    def test_every_script_does_so_first(self):
        scripts = [path for path in SCRIPTS.iterdir() if path.is_file()
                   and path.read_text(encoding="utf-8").startswith("#!/bin/bash")]
        self.assertGreater(len(scripts), 10)
        for script in scripts:
            with self.subTest(script.name):
                commands = [line for line in script.read_text(encoding="utf-8").splitlines()
                            if line and not line.startswith("#")]
                self.assertEqual(commands[:2], ["set -euo pipefail",
                                                '. "$(dirname "$0")/standard_streams.sh"'])


if __name__ == "__main__":
    unittest.main()
