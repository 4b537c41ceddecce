#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""nics_test.py BUILD: NICs that others wrote, as QEMU emulates them, in guests: two of each, one for
the generator and one for an application that returns what it gets. --full: the product of NICs,
drivers of the kernel, wirings and interfaces; else each value of each stands in some row."""
import json
import sys
import time

sys.path.append(str(__import__("pathlib").Path(__file__).resolve().parents[1]))
# pylint: disable=wrong-import-position
import harness
import guests

BUILD = sys.argv.pop()
NICS = ("vmxnet3", "e1000e", "igb", "virtio-net-pci")  # As QEMU calls them.
FRAMES = 2000
MEMORY = "-m 80 --file-prefix="


def command(app, address, core, *flags):
    return (f"{BUILD}/apps/{app}/sluice-{app} --lcores=0@0,1@{core} {MEMORY}{app} -a {address} -- "
            + " ".join(flags))


class Nics(guests.Case):
    """The generator's frames come back through the application, each of them checked."""

    def check(self, running, iface, generator_iface):
        application, generator = guests.ADDRESSES
        running.send(command("echo", application, 1, f"--iface={iface}", "--stats_period_s=0.5")
                     + " >/tmp/echo 2>&1 & app=$!\n")
        guests.run(running, f"until grep -Eq '{guests.RUNS}' /tmp/echo; do sleep 0.2; "
                   "kill -0 $app || { cat /tmp/echo; break; }; done; kill -0 $app")
        said = guests.run(running, command(
            "pktgen", generator, 0, f"--iface={generator_iface}", "--streams=/tmp/streams.json",
            "--late_ms=60000", "--settle_s=5", "--json=-")
            + " 2>/tmp/said || { cat /tmp/said /tmp/echo; false; }")
        report = json.loads(said[said.index("{"):said.rindex("}") + 1])
        ended = guests.run(running, "kill $app; wait $app; ended=$?; cat /tmp/echo; (exit $ended)")
        self.assertEqual(report["streams"][0]["sent_pkts"], FRAMES, report)
        for nothing in ("lost", "corrupted", "duplicated", "unsent_pkts", "link_down_count"):
            self.assertEqual(report[nothing], 0, (report, ended))
        self.assertIn("dropped by the NIC 0;", ended)

    def test_frames_there_and_back(self):
        for nic, bind, wiring, ifaces in harness.each(
                NICS, ["uio", "vfio"], ["hub", "cable"],
                [("packetized", "streaming"), ("streaming", "packetized")]):
            row = (nic, bind, wiring, *ifaces)
            began = time.monotonic()
            with self.subTest(row=row), guests.Guest(guests.options(
                    BUILD, bind=bind, emulated=[nic, nic], wiring=wiring)) as running:
                streams = json.dumps({"streams": [{"frames": FRAMES, "rate": "1k"}]})
                guests.run(running, f"echo '{streams}' >/tmp/streams.json")
                self.check(running, *ifaces)
                guests.leave(running)
                print(*row, f"{FRAMES} frames, none lost, {time.monotonic() - began:.0f} s",
                      flush=True)


if __name__ == "__main__":
    guests.need_packages()
    guests.unittest.main()
