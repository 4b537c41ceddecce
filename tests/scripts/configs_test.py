#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""configs_test.py SLUICE_ECHO: every experiment in configs/ runs, and so does every interface."""
import json
import pathlib
import subprocess
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import harness

ROOT = pathlib.Path(__file__).resolve().parents[2]
ECHO = pathlib.Path(sys.argv.pop()).resolve()  # meson passes a path relative to the build


class Configs(unittest.TestCase):
    def test_every_flag_file_runs(self):
        files = sorted((ROOT / "configs").glob("echo-*.flags"))
        self.assertTrue(files)
        for file, iface in harness.each(files, harness.interfaces(ECHO)):
            with self.subTest(file=file.name, iface=iface):
                done = subprocess.run(
                    [ECHO, f"--flagfile={file}", f"--iface={iface}", "--duration_s=0.2",
                     "--stats_period_s=0", "--json=-"], cwd=ROOT, capture_output=True,
                    text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                report = json.loads(done.stdout[done.stdout.rfind("\n{") + 1:])
                self.assertGreater(report["tx_pkts"], 0)


if __name__ == "__main__":
    unittest.main()
