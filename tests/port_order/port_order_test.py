#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""port_order_test.py PLUGIN PROGRAM…: programs call ethdev in the order that rte_ethdev.h demands.
PLUGIN is a driver that ends the process at each call in a wrong state (net_strict.cc); drivers of
real NICs read memory that is not there yet."""
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
    """Exit code, report and what was said to standard error."""
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
                self.assertGreater(max(map(int, closed)), 8)  # An unused port is closed at once.

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


if __name__ == "__main__":
    unittest.main()
