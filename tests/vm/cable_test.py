#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""cable_test.py BUILD [FRAMES]: two machines. A cable joins Ensō of a guest with a model NIC of
this host, which sends FRAMES (default 10^7) there and back and checks each, or with net_ipu of
another guest; a tap joins a NIC of a guest with this host's kernel and its clients (root)."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import guests

COUNT = int(sys.argv.pop()) if sys.argv[-1].isdigit() else 10_000_000
BETWEEN_GUESTS = min(COUNT, 100_000)
BUILD = sys.argv[1]
ADDRESS = guests.ADDRESSES[0]
# A machine without KVM is slow, but must neither discard nor lose any frames.
PATIENT = ("--late_ms=60000", "--settle_s=10")
GUEST, HOST, TAP = "10.98.7.2", "10.98.7.1", "dtap0"
OWN_NETWORK = "SLUICE_VM_NETWORK"  # This variable is set in the private namespace.


class Machines(guests.Case):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.cable = f"cable:{self.folder.name}/cable.sock"

    def guest(self, *nics, **options):
        return guests.Guest(guests.options(BUILD, *nics, **options))

    def check(self, report, count):
        self.assertEqual(report["streams"][0]["received_pkts"], count, report)
        for nothing in ("lost", "corrupted", "duplicated", "reordered", "unsent_pkts"):
            self.assertEqual(report[nothing], 0, report)
        print(f"{count} frames", flush=True)

    @staticmethod
    def streams(count):
        return json.dumps({"streams": [{"frames": count, "rate": "max"}]})

    def send_from_here(self):
        """Runs sluice-pktgen at this host's end of the cable."""
        file = pathlib.Path(self.folder.name, "streams.json")
        file.write_text(self.streams(COUNT), encoding="utf-8")
        done = subprocess.run(
            [f"{BUILD}/apps/pktgen/sluice-pktgen", "--no-shconf", "--no-huge", "-m", "512",
             "--no-pci", "--lcores=0@0,1@0", f"--vdev=net_ipu0,wire={self.cable}", "--",
             f"--streams={file}", *PATIENT, "--json=-"],
            capture_output=True, text=True, timeout=3600, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check(json.loads(done.stdout), COUNT)

    def test_a_generator_of_this_host_and_an_application_in_a_guest(self):
        for bind in ("vfio", "uio"):
            with self.subTest(bind=bind), \
                    self.guest(f"enso,wire={self.cable}", bind=bind) as running:
                guests.start_app(running, BUILD, "echo", ADDRESS, "streaming", receives=False)
                self.send_from_here()
                guests.end_app(running)
                guests.leave(running)

    def test_a_generator_in_a_guest_and_an_application_in_another(self):
        with self.guest(f"enso,wire={self.cable}") as answering, \
                self.guest(f"ipu,wire={self.cable}") as sending:
            guests.start_app(answering, BUILD, "echo", ADDRESS, "streaming", receives=False)
            guests.run(sending, f"echo '{self.streams(BETWEEN_GUESTS)}' >/tmp/streams.json")
            self.check(guests.run_app(sending, BUILD, "pktgen", ADDRESS, "packetized",
                                      "--streams=/tmp/streams.json", *PATIENT, duration_s=0),
                       BETWEEN_GUESTS)
            guests.end_app(answering)
            for running in (answering, sending):
                guests.leave(running)

    @unittest.skipUnless(OWN_NETWORK in os.environ, "taps need root")
    def test_clients_of_this_kernel_and_a_server_in_a_guest(self):
        with self.guest("ipu,vdev=net_tap0,wire=port:net_tap0") as running:
            for command in (("addr", "add", f"{HOST}/24", "dev", TAP), ("link", "set", TAP, "up")):
                subprocess.run(["ip", *command], check=True)
            guests.start_app(running, BUILD, "kv", ADDRESS, "packetized", f"--ip={GUEST}",
                             "--memory_mb=16", "--items=10000", receives=False)
            done = subprocess.run(
                [f"{BUILD}/apps/kv_client/sluice-kv-client", f"--server={GUEST}", "--items=1000",
                 "--duration_s=3", "--outstanding=8", "--timeout_ms=5000", "--json=-"],
                capture_output=True, text=True, timeout=guests.STEP_S, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            report = json.loads(done.stdout)
            self.assertEqual(report["corrupted"], 0, report)
            guests.end_app(running)
            guests.leave(running)


if __name__ == "__main__":
    del sys.argv[1:2]
    guests.need_packages()
    if os.geteuid() == 0 and OWN_NETWORK not in os.environ and \
            subprocess.run(["unshare", "--net", "true"], check=False).returncode == 0:
        # The namespace keeps a tap's name and addresses private.
        os.environ[OWN_NETWORK] = "yes"
        os.execvp("unshare", ["unshare", "--net", *sys.orig_argv])
    unittest.main()
