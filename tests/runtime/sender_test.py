#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Frames that an application sends itself leave on every interface, in order and unchanged, while
it handles frames and while it is idle. Sent frames come back: wire=loopback."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import harness

APP = sys.argv.pop()
SEEDS = 3000


class Sender(unittest.TestCase):
    def run_until_done(self, iface):
        """Returns the report of a run that ends once every frame came back, or after a minute
        without any."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.json")
            app = subprocess.Popen([APP, *harness.MEMORY, "--", f"--iface={iface}",
                                    "--wire=loopback", f"--json={path}", "--stats_period_s=0.2"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            try:
                back, moved = 0, time.monotonic()
                for line in app.stdout:
                    if "back: " in line and int(line.split("back: ")[1]) > back:
                        back, moved = int(line.split("back: ")[1]), time.monotonic()
                    if back >= 4 * SEEDS or time.monotonic() - moved > 60:
                        break
                app.terminate()
                _, errors = app.communicate(timeout=60)
            finally:
                app.kill()
                app.wait()
            self.assertEqual(app.returncode, 0, errors)
            with open(path, encoding="utf-8") as file:
                return json.load(file)

    def check(self, iface):
        report = self.run_until_done(iface)
        self.assertEqual(report["iface"], iface)
        self.assertEqual({name: count for name, count in report["drops"].items() if count}, {})
        self.assertEqual(report["refused"], 0)
        self.assertEqual(report["seeds"], SEEDS)
        self.assertEqual(report["answers"], SEEDS)
        self.assertEqual(report["replies"], 3 * SEEDS)
        self.assertEqual(report["sent_pkts"], 4 * SEEDS)  # Seeds and replies.
        self.assertEqual(report["tx_pkts"], 5 * SEEDS)    # This includes answers.
        self.assertEqual(report["rx_pkts"], 5 * SEEDS)
        self.assertEqual(report["consumed_pkts"], 4 * SEEDS)
        self.assertEqual(report["rx_bytes"], report["tx_bytes"])

    def test_every_interface(self):
        for iface in harness.interfaces(APP):
            with self.subTest(iface):
                self.check(iface)


if __name__ == "__main__":
    unittest.main()
