#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""apps_test.py ECHO MAGLEV KV LOGMON TELEMETRY PKTGEN SCHED: sluice-top over running applications,
and over stock testpmd: every page of an application shows its figures."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import harness

ECHO, MAGLEV, KV, LOGMON, TELEMETRY, PKTGEN, SCHED = sys.argv[1:8]
del sys.argv[1:8]
ROOT = pathlib.Path(__file__).resolve().parents[2]
TOP = ROOT / "apps" / "top" / "main.py"
# All lcores share the first CPU, because this is not a measurement.
LCORES = "--lcores=0@0,1@0,2@0"


class Apps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = os.environ | {"RUNTIME_DIRECTORY": folder.name,
                                         "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "100"}

    @contextlib.contextmanager
    def running(self, program, *flags, eal=("--no-pci",)):
        process = subprocess.Popen(
            [program, LCORES, *harness.MEMORY, *eal, "--file-prefix=shown", "--", *flags],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=self.environment)
        watchdog = threading.Timer(harness.PATIENCE_S, process.kill)
        watchdog.start()
        drain = threading.Thread(target=process.stdout.read, daemon=True)
        drain.start()
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()
            watchdog.cancel()
            drain.join()
            process.stdout.close()
            process.stdin.close()

    def page(self, title):
        """Returns the text of a page, or nothing while the application starts."""
        done = subprocess.run([TOP, "--once", "--period_s=0.2", "--file-prefix=shown",
                               f"--page={title}"], capture_output=True, text=True, check=False,
                              env=self.environment, timeout=harness.PATIENCE_S)
        self.assertNotIn("Traceback", done.stderr)
        return done.stdout if done.returncode == 0 else ""

    def expect(self, title, *patterns):
        """Waits until all these patterns match the page."""
        last = [""]

        def shown():
            last[0] = self.page(title)
            return all(re.search(pattern, last[0], re.M) for pattern in patterns)
        harness.wait_until(shown, lambda: f"{patterns} on:\n{last[0]}")

    def test_common_pages(self):
        with self.running(ECHO, "--stats_period_s=0", "--iface=packetized",
                          eal=["--no-pci", "--vdev=net_ipu0,wire=gen:size=64"]):
            self.expect("Overview", r"^received +\d[\d.]* [kM] pps", r"^busy +\[[#.]{20}\] \d+ %",
                        r"^0 +UP +\d[\d.]* [kM] ", r"^lcore 1 \(cpu 0\): port net_ipu0 queue 0")
            self.expect("Queues", r"^0/0 +\d[\d.]* [kM] .*100 %$", "1.00 times the mean")
            self.expect("Counters", r"^port 0 +rx_good_packets +\d", r"^workers +rx_pkts +\d")
            self.expect("Drops", r"^reason|Nothing was dropped")

    def test_maglev(self):
        config = self.folder / "maglev.json"
        config.write_text(json.dumps({
            "next_hop": "02:00:00:00:00:01",
            "vips": [{"name": name, "address": address, "port": 80, "protocol": "tcp",
                      "encapsulation": "ip", "backends": [
                          {"name": f"{name}{n}", "address": f"10.0.{n}.1"} for n in range(3)]}
                     for name, address in (("web", "192.0.2.1"), ("api", "192.0.2.2"))]}),
            encoding="utf-8")
        with self.running(MAGLEV, f"--config={config}", "--stats_period_s=0"):
            self.expect("VIPs", r"^web +192\.0\.2\.1\S* +80 +tcp +ip\S* +3 +\d[\d.]* [kM]", r"^api ")
            self.expect("Backends", r"^(web|api)   \(v: the next of 2\)",
                        r"^(web|api)0 +up +1 +\d[\d.]* [kM]? ?.* [23]\d\.\d\d %")

    def test_kv(self):
        with self.running(KV, "--items=3000", "--client=items=1000+get=0.5", "--stats_period_s=0"):
            self.expect("Store", r"^mica\.gets_?\w* +\d|^mica\.get_hits +\d[\d.]* ?\w? +\d",
                        r"^store\.items +1\.00 k")
            self.expect("Partitions", r"^0 +0 +1\.00 k .* \d+ % +\d+ %$")
            self.expect("Latency", r"^port 0 wire_client_get +- +- +\d[\d,.]*( [kM])? +\d")

    def test_logmon(self):
        with self.running(LOGMON, f"--filters={ROOT}/configs/logmon-light.json",
                          "--stats_period_s=0"):
            names = [one["name"] for one in json.loads(
                (ROOT / "configs/logmon-light.json").read_text(encoding="utf-8"))["filters"]]
            self.expect("Filters", *(rf"^{re.escape(name)} +\d" for name in names))
            self.expect("Sources", r"^\w+ +\d[\d.]* [kM]")

    def test_telemetry(self):
        with self.running(TELEMETRY, "--epoch_s=0.5", "--keys=source,5-tuple", "--stats_period_s=0"):
            self.expect("Flows", r"^source   \(v: the next of 2\)", r"^\d+\.\d+\.\d+\.\d+.* +\d")
            self.expect("Keys", r"^source +\d", r"^5-tuple +\d")

    def test_pktgen(self):
        with self.running(PKTGEN, "--rate=20k", "--late_ms=60000", "--stats_period_s=0"):
            self.expect("Streams", r"^default +\d[\d.]* k +\d[\d.]* +\d[\d.]* k +0 ")
            # A count; the mean, p50, p99, p99.9 and the maximum; and a bar.
            self.expect("Latency", r"^pktgen default +\d[\d.]* [kM]( +\d[\d,.]*( [kM])?){5}$",
                        r"us, of \d", r"\[#+\.*\] \d+ %")

    def test_sched(self):
        with self.running(SCHED, "--cell_s=0.5", "--replays=0", "--stats_period_s=0"):
            self.expect("Policy", r"^policy: \w+", r"^requests +\d")
            self.expect("Latency", r"^sched short +\d[\d.]*", r"us, of \d", r"\[#+\.*\] \d+ %")
            # Policies that have finished.
            self.expect("Policies", r"^fifo_per_cpu +\w[\w-]* +\d[\d.]* ?k? +\d+\.\d\d %")

    @unittest.skipUnless(shutil.which("dpdk-testpmd"), "dpdk-testpmd is not installed")
    def test_stock_testpmd(self):
        with self.running("dpdk-testpmd", "--forward-mode=macswap", "--total-num-mbufs=4096",
                          "--no-mlockall", "--rxq=2", "--txq=2", "--stats-period=60",
                          eal=["--no-pci", "--vdev=net_null0", "--vdev=net_null1"]):
            self.expect("Overview", r"^received +\d[\d.]* [kMG] pps", r"^busy +-",
                        r"^1 +UP +\d[\d.]* [kM] ")
            self.expect("Queues", r"^1/1 +\d[\d.]* [kM] .* \d\d %")


if __name__ == "__main__":
    unittest.main()
