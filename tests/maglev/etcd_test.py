#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""etcd_test.py SLUICE_MAGLEV: VIPs and backends from etcd in addition to those of the file are
applied under traffic without a lost packet; an invalid key is logged once and skipped. Works
without root and hugepages."""

import json
import pathlib
import subprocess
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import harness
import etcd_lab
from harness import PATIENCE_S, wait_until
from running import EAL, Running, sample

MAGLEV = sys.argv.pop()
PREFIX = "sluice-maglev/"
WEB4 = {"name": "web4", "address": "198.51.100.4", "weight": 3}
NTP = {"address": "192.0.2.123", "port": 123, "protocol": "udp"}


@unittest.skipUnless(etcd_lab.INSTALLED, etcd_lab.MISSING)
class Etcd(unittest.TestCase):
    def setUp(self):
        self.etcd = etcd_lab.Etcd(self)
        self.source = f"--config_etcd=127.0.0.1:{self.etcd.port}/{PREFIX}"

    def put(self, key, value):
        self.etcd.ctl("put", PREFIX + key, value if isinstance(value, str) else json.dumps(value))

    def said(self, balancer):
        return [line for line in balancer.said().splitlines() if line.startswith("etcd: ")]

    def wait_to_say(self, balancer, *parts):
        """Waits for exactly one line that matches each of these, in order."""
        wait_until(lambda: len(self.said(balancer)) >= len(parts), balancer.said)
        lines = self.said(balancer)
        self.assertEqual(len(lines), len(parts), lines)
        for part, line in zip(parts, lines):
            self.assertIn(part, line)

    def check_end(self, balancer):
        report = balancer.stop()
        self.assertEqual(report["lost"], 0)
        self.assertEqual(report["rx_pkts"], report["tx_pkts"])
        self.assertEqual(sum(report["drops"].values()), 0, report["drops"])
        return report

    def test_what_is_there_at_the_start_and_comes_and_goes_later(self):
        self.put("backends/web/4", WEB4)
        with Running(MAGLEV, sample(), self.source, "--rate=5k") as balancer:
            self.assertEqual(list(balancer.ask("backends", "web")),
                             ["web1", "web2", "web3", "web4"])
            wait_until(lambda: balancer.pkts()["web4"] > 0, balancer.said)
            # Adds a backend that renews its entry itself, and one more VIP.
            lease = self.etcd.ctl("lease", "grant", "60").split()[1]
            self.etcd.ctl("put", "--lease=" + lease, PREFIX + "backends/web/5",
                          json.dumps({"name": "web5", "address": "198.51.100.5"}))
            self.wait_to_say(balancer, "2 VIPs and backends")
            # The new backend's part of the ring receives new flows. Existing flows do not move.
            self.assertGreater(float(balancer.ask("backends", "web")["web5"]["slots"]), 0)
            self.etcd.in_one_step(
                f"put {PREFIX}vips/ntp {json.dumps(json.dumps(NTP))}",
                f"put {PREFIX}backends/ntp/1 {json.dumps(json.dumps(WEB4))}")
            self.wait_to_say(balancer, "2 VIPs and", "4 VIPs and")
            self.assertIn("ntp", balancer.ask("vips"))
            self.etcd.ctl("lease", "revoke", lease)
            self.wait_to_say(balancer, "2 VIPs and", "4 VIPs and", "3 VIPs and")
            self.assertEqual(list(balancer.ask("backends", "web")),
                             ["web1", "web2", "web3", "web4"])
            self.etcd.ctl("del", "--prefix", PREFIX)
            self.wait_to_say(balancer, "2 VIPs and", "4 VIPs and", "3 VIPs and", "0 VIPs and")
            self.assertNotIn("ntp", balancer.ask("vips"))
            # The file is still watched.
            config = sample()
            del config["vips"][0]["backends"][0]
            balancer.write(config)
            self.assertEqual(balancer.ask("reload")["result"], "done")
            self.assertEqual(list(balancer.ask("backends", "web")), ["web2", "web3"])
            self.check_end(balancer)

    def test_what_is_wrong_is_said_once_and_skipped(self):
        self.put("backends/web/4", WEB4)
        with Running(MAGLEV, sample(), self.source, "--rate=5k") as balancer:
            heavy = {"name": "web5", "address": "198.51.100.5", "weight": "heavy"}
            self.put("backends/web/5", heavy)
            self.wait_to_say(balancer, "1 VIPs and", "skipped backends/web/5.weight")
            # Other keys are still applied. The invalid one is not logged again.
            self.put("backends/web/6", {"name": "web6", "address": "198.51.100.6"})
            self.put("backends/nobody/1", WEB4)
            wait_until(lambda: "nobody/1" in balancer.said(), balancer.said)
            self.assertEqual(balancer.said().count("skipped backends/web/5"), 1)
            self.assertEqual(list(balancer.ask("backends", "web")),
                             ["web1", "web2", "web3", "web4", "web6"])
            self.assertGreater(float(balancer.ask("backends", "web")["web6"]["slots"]), 0)
            skipped = balancer.ask("skipped")
            self.assertEqual(skipped["keys"], 2)
            self.assertIn("backends/nobody/1: unknown VIP", skipped["lines"][0])
            self.assertEqual(balancer.ask("reload")["result"], "done")
            self.put("backends/web/5", {**heavy, "weight": 2})
            wait_until(lambda: "web5" in balancer.ask("backends", "web"), balancer.said)
            self.assertEqual(balancer.ask("skipped")["keys"], 1)
            report = self.check_end(balancer)
            self.assertEqual(list(report["skipped_keys"]), ["backends/nobody/1"])

    def test_etcd_away_and_back(self):
        self.put("backends/web/4", WEB4)
        with Running(MAGLEV, sample(), self.source, "--rate=5k") as balancer:
            self.etcd.stop()
            self.wait_to_say(balancer, "(keeping the configuration)")
            before = balancer.pkts()["web4"]
            wait_until(lambda: balancer.pkts()["web4"] > before, balancer.said)
            self.etcd.start()
            self.put("backends/web/5", {"name": "web5", "address": "198.51.100.5"})
            self.wait_to_say(balancer, "(keeping the configuration)", "2 VIPs and backends")
            self.check_end(balancer)

    def run_and_fail(self, *flags, code=1):
        done = subprocess.run([MAGLEV, *EAL, "--", *flags], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        return done.stderr

    def test_a_bad_key_does_not_prevent_a_start(self):
        self.put("vips/web", {**NTP, "name": "ntp"})
        self.put("vips/other", "{")
        self.put("backends/web/4", WEB4)
        with Running(MAGLEV, sample(), self.source, "--rate=5k") as balancer:
            self.wait_to_say(balancer, "skipped vips/other: not JSON", "skipped vips/web.name: ")
            self.assertEqual(list(balancer.ask("backends", "web")),
                             ["web1", "web2", "web3", "web4"])
            self.check_end(balancer)

    def test_there_is_no_start_without_etcd(self):
        self.etcd.stop()
        self.assertTrue(self.run_and_fail(self.source).startswith(self.source))

    def test_questions_know_what_etcd_adds(self):
        # The configuration in etcd does not contain a router that all backends share, so the
        # backend is given a MAC address.
        self.put("vips/ntp", NTP)
        self.put("backends/ntp/1", {**WEB4, "mac": "02:00:00:00:00:04"})
        ask = [MAGLEV, self.source, "--explain=udp 1.2.3.4:5 192.0.2.123:123"]
        said = subprocess.run(ask, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
        self.assertIn("web4", said.stdout)
        check = subprocess.run([MAGLEV, self.source, "--check"], capture_output=True, text=True,
                               timeout=PATIENCE_S, check=True)
        self.assertEqual(check.stdout, "ok\n")


if __name__ == "__main__":
    unittest.main()
