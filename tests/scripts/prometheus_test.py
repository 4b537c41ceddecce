#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""prometheus_test.py SLUICE_X …: the metrics of each program follow Prometheus's conventions, and
the alert rules of configs/prometheus work as their tests specify, according to promtool from the
package prometheus, which scripts/setup --all unpacks. The rules refer only to existing metrics."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.request

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import harness
from harness import PATIENCE_S

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARIES = {pathlib.Path(path).name.removeprefix("sluice-"): pathlib.Path(path).resolve()
            for path in sys.argv[1:]}
del sys.argv[1:]
CONFIGS = ROOT / "configs" / "prometheus"
UNPACKED = ROOT / "build" / "deps" / "prometheus" / "usr" / "bin" / "promtool"
PROMTOOL = shutil.which("promtool") or (str(UNPACKED) if UNPACKED.exists() else None)
MISSING = "promtool is not here: scripts/setup --all fetches it"
# Flags that enable all of a program's metrics.
FLAGS = {"kv": ("--ip=10.0.0.2", "--register=127.0.0.1:9/x/", "--snapshot={folder}/items"),
         "telemetry": ("--export_ipfix=127.0.0.1:9", "--epoch_s=0.05", "--columns=1024",
                       "--levels=2"),
         "logmon": (), "maglev": (), "echo": ()}
# Prometheus's own metrics.
SCRAPED = {"up"}


def page_of(app):
    """Returns a scrape of a running program, after its first metrics have appeared."""
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [BINARIES[app], *harness.MEMORY, "--no-pci", harness.lcores(2), "--", "--metrics=0",
             "--rate=10k" if app not in ("kv", "telemetry") else "--stats_period_s=1",
             *(flag.format(folder=folder) for flag in FLAGS[app])],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        watchdog = threading.Timer(PATIENCE_S, process.kill)
        watchdog.start()
        lines = []
        for line in process.stdout:
            lines.append(line)
            if found := re.search(r"metrics: (\S+)", line):
                break
        else:
            raise AssertionError("".join(lines))
        reader = threading.Thread(target=lambda: lines.extend(process.stdout))
        reader.start()

        def page():
            with urllib.request.urlopen(found[1], timeout=PATIENCE_S) as answer:
                text = answer.read().decode()
            ready = "sluice_telemetry_heavy_hitters" if app == "telemetry" else "sluice_build_info"
            return ready in text and text
        try:
            return harness.wait_until(page, lambda: "".join(lines))
        finally:
            process.terminate()
            process.wait()
            watchdog.cancel()
            reader.join()
            process.stdout.close()


class Prometheus(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pages = {app: page_of(app) for app in BINARIES}

    def promtool(self, *arguments, text=None):
        if not PROMTOOL:
            self.skipTest(MISSING)
        done = subprocess.run([PROMTOOL, *arguments], input=text, capture_output=True, text=True,
                              cwd=CONFIGS, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_names_follow_the_conventions(self):
        for app, page in self.pages.items():
            with self.subTest(app):
                self.assertEqual(self.promtool("check", "metrics", text=page), "")

    def test_who_says_what(self):
        for app, page in self.pages.items():
            self.assertIn(f'sluice_build_info{{app="{app}",', page)
            self.assertIn("sluice_rx_packets_total", page)

    def test_rules_are_right_and_fire_when_they_should(self):
        self.promtool("check", "config", "--lint=all", "prometheus.yml")
        self.promtool("check", "rules", "sluice.rules.yml")
        self.promtool("test", "rules", "sluice.rules.test.yml")

    def test_each_alert_is_tested_and_documented(self):
        rules = (CONFIGS / "sluice.rules.yml").read_text(encoding="utf-8")
        table = (CONFIGS / "sluice.rules.test.yml").read_text(encoding="utf-8")
        page = (ROOT / "docs" / "fleet.md").read_text(encoding="utf-8")
        alerts = re.findall(r"- alert: (\w+)", rules)
        self.assertGreater(len(alerts), 5)
        for alert in alerts:
            self.assertRegex(table, rf"alertname: {alert}\n\s+exp_alerts:\n\s+- exp_labels")
            self.assertIn(f"`{alert}`", page)

    def test_rules_are_about_metrics_that_there_are(self):
        rules = (CONFIGS / "sluice.rules.yml").read_text(encoding="utf-8")
        named = set(re.findall(r"\b(sluice_\w+|up)\b(?=[{\[ ])", rules)) - SCRAPED
        self.assertGreater(len(named), 8)
        said = {name for page in self.pages.values()
                for name in re.findall(r"^# TYPE (\S+)", page, re.M)}
        self.assertLessEqual(named, said)


if __name__ == "__main__":
    unittest.main()
