#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The host of a bilateral NIC dies, freezes or is reset while frames pass. The NIC's process lives, and
so does its wire, which numbers every frame and looks at every one that comes back: none twice, none
half, and each one that the NIC accepted came back or is named: it was in the region in which the host
died. Without root."""

import os
import random
import signal
import sys
import tempfile
import time
import unittest

import processes

ECHO = sys.argv.pop()
DEVICE = sys.argv.pop()
TRAFFIC_S = 0.5


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

    def start_host(self):
        host = processes.echo(ECHO, self.nic_socket, f"slf{os.getpid()}_{self.starts}")
        self.starts += 1
        self.addCleanup(host.end)
        time.sleep(TRAFFIC_S)
        return host

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
        for _ in range(4):
            host = self.start_host()
            time.sleep(random.uniform(0, 0.05))
            host.kill()
            links = self.stop_host(self.start_host())
            self.assertLessEqual(links["in_doubt"], 1)
            in_doubt += links["in_doubt"]
        print(f"killed 4 times: {in_doubt} swaps in doubt, {self.discarded} frames discarded")
        self.check_wire()

    def test_host_frozen_and_thawed(self):
        host = self.start_host()
        for _ in range(3):
            host.signal(signal.SIGSTOP)
            time.sleep(0.3)
            host.signal(signal.SIGCONT)
            time.sleep(TRAFFIC_S)
        links = self.stop_host(host)
        self.assertEqual(links["resets"], 0)
        self.assertEqual(self.discarded, 0)
        self.check_wire()

    def test_nic_frozen_and_thawed(self):
        host = self.start_host()
        for _ in range(3):
            self.nic.signal(signal.SIGSTOP)
            time.sleep(0.3)
            self.nic.signal(signal.SIGCONT)
            time.sleep(TRAFFIC_S)
        links = self.stop_host(host)
        self.assertEqual(links["resets"], 0)
        self.assertEqual(self.discarded, 0)
        self.check_wire()

    def test_link_reset(self):
        host = self.start_host()
        for expected in range(1, 4):
            self.nic.signal(signal.SIGHUP)
            time.sleep(2 * TRAFFIC_S)
        links = self.stop_host(host)
        self.assertEqual(links["resets"], expected)
        self.assertLessEqual(links["in_doubt"], expected)
        self.assertEqual(self.discarded, 0)
        self.check_wire()


if __name__ == "__main__":
    # A runner that loses patience sends SIGTERM: as an interrupt it ends all, cleanly.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    unittest.main()
