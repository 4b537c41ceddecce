#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""sample_capture_test.py APP...: the traffic that applications generate for their embedded NIC is
in an unnamed file, because the temporary folder may be shared with others, or missing."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import private_folder  # pylint: disable=wrong-import-position,unused-import

APPS = sys.argv[1:]
EAL = ["--no-huge", "-m", "512", "--no-pci", "--lcores=0@0,1@1,2@0"]
PATIENCE_S = 90


class SampleCapture(unittest.TestCase):
    def run_app(self, app, folder):
        done = subprocess.run(
            [app, *EAL, f"--file-prefix={os.path.basename(app)}-sample-{os.getpid()}", "--",
             "--duration_s=0.2", "--json=-"],
            env={**os.environ, "TMPDIR": folder}, capture_output=True, text=True,
            timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_no_temporary_folder_is_needed(self):
        for app in APPS:
            with self.subTest(app=app):
                report = self.run_app(app, "/nonexistent")
                self.assertGreater(report["rx_pkts"], 0, report)

    def test_links_in_the_temporary_folder_are_not_followed(self):
        # An app's process id is not known before it runs, so the test checks that the folder itself
        # does not change.
        for app in APPS:
            with self.subTest(app=app), tempfile.TemporaryDirectory() as folder:
                before = os.stat(folder).st_mtime_ns
                self.run_app(app, folder)
                self.assertEqual(os.stat(folder).st_mtime_ns, before, "the folder was written to")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
