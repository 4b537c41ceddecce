#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The host of a bilateral NIC dies, freezes or is reset while frames pass. The NIC's process
survives, and so does its wire, which numbers every frame and checks every returned one: none is
duplicated or truncated, and each accepted frame is returned or reported as lost, because it was in
the region in which the host died. Works without root. Suite slow kills more often (--full)."""

import os
import pathlib
import random
import signal
import sys
import tempfile
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import harness
import processes

ECHO = sys.argv.pop()
DEVICE = sys.argv.pop()
KILLS = 20 if harness.FULL else 2
EVENTS = 10 if harness.FULL else 3


class Faults(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.nic_socket = processes.own_socket(folder.name)
        self.nic = processes.device(DEVICE, self.nic_socket, "--wire=gen:size=random+flows=64",
                                    "--verify=full")
        self.addCleanup(self.nic.end)
        self.starts = 0
        self.discarded = 0

    def start_host(self, iface="bilateral"):
        host = processes.echo(ECHO, self.nic_socket, f"slf{os.getpid()}_{self.starts}", iface)
        self.starts += 1
        self.addCleanup(host.end)
        self.wait_for_traffic(host)
        return host

    @staticmethod
    def wait_for_traffic(host):
        """Waits for two lines with traffic, because frames of the first one may have passed before
        this call."""
        host.skip()
        for _ in range(2):
            host.wait_for(processes.TRAFFIC)

    def stop_host(self, host):
        report = host.stop()
        self.assertEqual(report["links"]["faults"], 0)
        self.discarded += report["links"]["discarded_pkts"]
        return report["links"]

    def check_wire(self):
        nic = self.nic.stop()
        wire = nic["wire"]
        self.assertGreater(wire["returned"], 1000)
        self.assertEqual((nic["duplicated"], nic["corrupted"]), (0, 0))
        self.assertEqual(nic["device"].get("link_faults", 0), 0)
        self.assertEqual(wire["accepted"], wire["returned"] + self.discarded)

    def test_host_killed_and_started_again(self):
        in_doubt = 0
        for _ in range(KILLS):
            host = self.start_host()
            time.sleep(random.uniform(0, 0.05))
            host.kill()
            links = self.stop_host(self.start_host())
            self.assertLessEqual(links["in_doubt"], 1)
            in_doubt += links["in_doubt"]
        print(f"killed {KILLS} times: {in_doubt} swaps in doubt, {self.discarded} frames discarded")
        self.check_wire()

    def test_host_frozen_and_thawed(self):
        host = self.start_host()
        for _ in range(EVENTS):
            host.signal(signal.SIGSTOP)
            time.sleep(0.3)
            host.signal(signal.SIGCONT)
            self.wait_for_traffic(host)
        links = self.stop_host(host)
        self.assertEqual(links["resets"], 0)
        self.assertEqual(self.discarded, 0)
        self.check_wire()

    def test_nic_frozen_and_thawed(self):
        host = self.start_host()
        for _ in range(EVENTS):
            self.nic.signal(signal.SIGSTOP)
            time.sleep(0.3)
            self.nic.signal(signal.SIGCONT)
            self.wait_for_traffic(host)
        links = self.stop_host(host)
        self.assertEqual(links["resets"], 0)
        self.assertEqual(self.discarded, 0)
        self.check_wire()

    def test_lines_of_an_endpoint_wait_for_either_end_to_thaw(self):
        host = self.start_host("coherent")
        for process in (host, self.nic):
            process.signal(signal.SIGSTOP)
            time.sleep(0.3)
            process.signal(signal.SIGCONT)
            self.wait_for_traffic(host)
        report = host.stop()
        self.assertEqual(report["lines"]["resets"] + report["lines"]["faults"], 0)
        self.assertEqual(report["drops"]["tx_full"], 0)
        self.check_wire()

    def test_link_reset(self):
        host = self.start_host()
        for _ in range(EVENTS):
            self.nic.signal(signal.SIGHUP)
            host.wait_for("the device is back")
            self.wait_for_traffic(host)
        links = self.stop_host(host)
        self.assertEqual(links["resets"], EVENTS)
        self.assertLessEqual(links["in_doubt"], EVENTS)
        self.assertEqual(self.discarded, 0)
        self.check_wire()


if __name__ == "__main__":
    # A test runner sends SIGTERM on a timeout. Treat it as an interrupt, so that cleanup runs.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    unittest.main()
