#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""port_order_test.py PLUGIN PROGRAM…: programs call ethdev in the order that rte_ethdev.h requires,
and observe the link of their port. PLUGIN is a driver that ends the process on each call in a wrong
state (net_strict.cc); drivers of real NICs would access memory that does not exist yet."""
import json
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
# pylint: disable=wrong-import-position
import harness
import private_folder

PLUGIN = private_folder.plugin(sys.argv[1])
PROGRAMS = {pathlib.Path(path).name.removeprefix("sluice-"): path for path in sys.argv[2:]}
del sys.argv[1:]
STRICT = ("-d", PLUGIN, "--no-pci", "--vdev=net_strict0", "--vdev=net_strict1")
SHORT = "--duration_s=0.05"


def run(app, *flags, eal=STRICT, workers=1):
    """Returns exit code, report and standard error."""
    return subprocess.run([PROGRAMS[app], *harness.MEMORY, harness.lcores(1 + workers), *eal, "--",
                           f"--workers={workers}", "--json=-", "--stats_period_s=0", *flags],
                          capture_output=True, text=True, timeout=harness.PATIENCE_S, check=False)


class PortOrder(unittest.TestCase):
    def check(self, rows):
        for row, done in harness.for_each(rows, lambda row: run(row[0], SHORT, *row[1], **row[2])):
            with self.subTest(row=row):
                self.assertEqual(done.returncode, 0, done.stderr)
                closed = re.findall(r"net_strict\d: closed after (\d+) calls", done.stderr)
                self.assertTrue(closed, done.stderr)
                self.assertGreater(max(map(int, closed)), 8)  # Unused ports are closed immediately.

    def test_applications_start_and_stop(self):
        self.check((app, (f"--iface={iface}",), {})
                   for app, iface in harness.each(list(PROGRAMS), ["packetized", "streaming"]))

    def test_other_ports_and_queues(self):
        wire = ("-d", PLUGIN, "--no-pci", "--vdev=net_strict0",
                "--vdev=net_ipu0,wire=port:net_strict0")
        self.check((
            ("echo", ("--exception_port=net_strict1",), {"workers": 2}),
            ("echo", ("--iface=streaming", "--exception_port=net_strict1"), {}),
            ("echo", ("--port=net_ipu0",), {"eal": wire}),
            ("kv", ("--metrics=127.0.0.1:0",), {"workers": 2})))

    def test_ports_of_another_driver_have_no_own_face(self):
        for iface in ("bilateral", "coherent"):
            done = run("echo", SHORT, f"--iface={iface}")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"--iface={iface}: port net_strict0", done.stderr)


class Link(unittest.TestCase):
    """A link that goes down, in a run of a second. The host may withhold the CPU from a thread for
    100 ms."""
    PPS = 100_000

    def run_link(self, app, arguments, *flags):
        eal = ("-d", PLUGIN, "--no-pci", f"--vdev=net_strict0,{arguments}")
        done = run(app, *flags, eal=eal)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout), done.stderr

    def check_down(self, report, said, at_s, duration_s):
        self.assertTrue(report["link_up"])
        self.assertEqual(report["link_down_count"], 1)
        [down] = report["link_downs"]
        self.assertEqual(down["duration_s"], report["link_down_s"])
        self.assertAlmostEqual(down["at_s"], at_s, delta=0.25)
        self.assertAlmostEqual(down["duration_s"], duration_s, delta=0.25)
        self.assertRegex(said, r" s  port net_strict0: link down\n(.*\n)*.* s  port net_strict0: "
                               r"link up, was down for 0\.\d{3} s\n(.*\n)*  link down 1 time, 0\.")

    def test_the_generator_gives_up_what_is_due_while_the_link_is_down(self):
        report, said = self.run_link("pktgen", "link=300+400", f"--rate={self.PPS // 1000}k",
                                     "--duration_s=1", "--settle_s=0.2")
        self.check_down(report, said, 0.3, 0.4)
        [stream] = report["streams"]
        # A worker without a CPU at the end does not count the frames that are then due.
        due = stream["sent_pkts"] + stream["unsent_pkts"]
        self.assertAlmostEqual(due, self.PPS, delta=self.PPS / 10)
        self.assertGreater(report["unsent_pkts"], 0.25 * self.PPS)
        # The lost frames were sent before the generator detected that the link was down.
        self.assertLess(report["lost"], 0.1 * self.PPS)

    def test_the_generator_waits_for_the_link(self):
        report, said = self.run_link("pktgen", "down_ms=700", f"--rate={self.PPS // 1000}k",
                                     "--duration_s=0.3", "--settle_s=0.2")
        self.assertNotIn("link down", said)
        self.assertEqual((report["link_down_count"], report["lost"]), (0, 0))
        self.assertAlmostEqual(report["tx_pkts"] + report["unsent_pkts"], 0.3 * self.PPS,
                               delta=self.PPS / 10)

    def test_other_applications_say_it(self):
        report, said = self.run_link("echo", "link=300+400", "--duration_s=1")
        self.check_down(report, said, 0.3, 0.4)

    def test_a_trial_of_rfc_2544_with_the_link_down_is_discarded(self):
        report, _ = self.run_link("pktgen", "link=700+300", "--rfc2544=loss", "--line_gbps=0.05",
                                  "--trial_s=0.5", "--settle_s=0.1")
        self.assertEqual(report["link_down_count"], 1)
        self.assertEqual([rate["lost_pkts"] for rate in report["rfc2544"]["rates"]], [0, 0])


if __name__ == "__main__":
    unittest.main()
