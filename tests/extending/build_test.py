#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""build_test.py BUILD: applies the changes of docs/extending.md in a copy of the tree below BUILD,
runs the page's commands there, and checks their reports. Uses the compiler's cache if there is
one."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

import page

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import private_folder  # pylint: disable=wrong-import-position,unused-import

COPY = pathlib.Path(sys.argv.pop()).resolve() / "extending_build"
TEXT = page.PAGE.read_text(encoding="utf-8")
COMMANDS = page.commands(TEXT)
DEVICE = "build/release/apps/device/sluice-device"
ECHO = "build/release/apps/echo/sluice-echo"


def run(command):
    return subprocess.run(command, shell=True, cwd=COPY, capture_output=True, text=True,
                          timeout=3000, check=False)


class Extending(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        page.copy_tree(COPY)
        (COPY / "build").mkdir()
        (COPY / "build/deps").symlink_to(page.ROOT / "build/deps")  # scripts/setup's downloads.
        for change in page.changes(TEXT):
            change.make(COPY)
        # Builds everything at once, because later parts of the page change files from earlier
        # parts.
        targets = " ".join(line.split(" ", 2)[2] for line in COMMANDS
                           if line.startswith("scripts/build "))
        done = run("scripts/build release " + targets)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr

    def report(self, words):
        """Returns the JSON that the page's only command with `words` prints."""
        command, = [line for line in COMMANDS if words in line]
        done = run(command)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def check_tests(self, name):
        command = "meson test -C build/release " + name
        self.assertIn(command, COMMANDS)
        done = run(command)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_app_and_engine(self):
        report = self.report("--max_bytes")
        self.assertEqual(report["app"], "sieve")
        self.assertGreater(report["drops"]["too_long"], 0)
        self.assertGreater(report["tx_pkts"], 0)
        self.assertEqual(report["lost"], 0)
        done = run("build/release/apps/sieve/sluice-sieve --max_bytes=63")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertIn("--max_bytes=63", done.stderr)
        self.check_tests("engine")

    def test_policy(self):
        runs = self.report("--policy=lifo")["runs"]
        self.assertEqual([one["policy"] for one in runs], ["lifo"])
        self.assertGreater(runs[0]["decisions"], 0)
        self.assertEqual(runs[0]["requests"], runs[0]["answered"])
        self.check_tests("sched_policy")
        self.assertIn("lifo", run("build/release/apps/sched/sluice-sched --help").stdout)

    def test_interface(self):
        listed = {about["name"]: about for about in self.report("--list=interfaces")}
        self.assertEqual(listed["null"]["model"], "net_sink0")
        report = self.report("--iface=null")
        self.assertEqual(report["iface"], "null")
        self.assertGreater(report["rx_pkts"], 0)
        self.assertEqual(report["rx_pkts"], report["tx_pkts"])
        self.assertGreater(report["nic_drops"]["rx_ignored"], 0)
        self.assertEqual(report["lost"], 0)
        done = run(f"{ECHO} --no-pci --vdev=net_null0 -- --iface=null")
        self.assertEqual(done.returncode, 2)
        self.assertIn("net_sink0", done.stderr.splitlines()[-1])

    def test_model_in_a_process_of_its_own(self):
        for command in ((f"{DEVICE} --model=null --socket=null.sock"),
                        (f"{ECHO} --no-pci --vdev=net_sink0,device=null.sock -- --iface=null")):
            self.assertIn(command, TEXT)
        device = subprocess.Popen([COPY / DEVICE, "--model=null", "--socket=null.sock", "--json=-"],
                                  cwd=COPY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            said = ""
            while "attach a host" not in said:
                said = device.stderr.readline()
                self.assertTrue(said, "the device ended")
            for driver, exit_code in (("net_sink", 0), ("net_ipu", 2)):
                iface = "null" if driver == "net_sink" else "packetized"
                done = run(f"{ECHO} --no-huge -m 256 --no-pci --vdev={driver}0,device=null.sock -- "
                           f"--iface={iface} --duration_s=1")
                self.assertEqual(done.returncode, exit_code, done.stderr)
            self.assertIn("null", done.stderr) # The error names the device's model.
            device.send_signal(signal.SIGINT)
            report, _ = device.communicate(timeout=60)
        finally:
            device.kill()
            device.wait()
        self.assertEqual(json.loads(report)["model"], "null")
        self.assertFalse(os.path.exists(COPY / "null.sock"))

    def test_tests_that_run_every_interface(self):
        """Checks that the pages and --list agree on the new interface."""
        done = run(f"{sys.executable} tests/echo/command_line_test.py {COPY / ECHO}")
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
