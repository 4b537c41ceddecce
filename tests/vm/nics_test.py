#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""nics_test.py BUILD: third-party NICs that QEMU emulates, in guests: two of each, one for the
generator and one for an application that returns its frames. --full tests the product of NICs,
drivers of the kernel, wirings and interfaces; otherwise each value of each occurs in some row."""
import json
import pathlib
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
# pylint: disable=wrong-import-position
import harness
import guests

BUILD = sys.argv.pop()
NICS = ("vmxnet3", "e1000e", "igb", "virtio-net-pci")  # QEMU's names.
FRAMES = 2000
APPLICATION, GENERATOR = guests.ADDRESSES
RATE = 200  # Frames per second while a link goes down.
MEMORY = "-m 80 --file-prefix="


def command(app, address, core, *flags):
    return (f"{BUILD}/apps/{app}/sluice-{app} --lcores=0@0,1@{core} {MEMORY}{app} -a {address} -- "
            + " ".join(flags))


class Nics(guests.Case):
    """The generator's frames come back through the application, and each is checked."""

    @staticmethod
    def start(running, name, text, pattern):
        """Starts a program in the background, and waits for a line like `pattern` in /tmp/NAME."""
        running.send(f"{text} >/tmp/{name} 2>&1 & {name}=$!\n")
        Nics.wait_for(running, name, pattern)

    @staticmethod
    def wait_for(running, name, pattern):
        guests.run(running, f"until grep -Eq '{pattern}' /tmp/{name}; do sleep 0.2; "
                   f"kill -0 ${name} || {{ cat /tmp/{name}; break; }}; done; kill -0 ${name}")

    @staticmethod
    def write_streams(running, **stream):
        guests.run(running, f"echo '{json.dumps({'streams': [stream]})}' >/tmp/streams.json")

    def start_echo(self, running, iface):
        self.start(running, "echo", command("echo", APPLICATION, 1, f"--iface={iface}",
                                            "--stats_period_s=0.5"), guests.RUNS)

    @staticmethod
    def end_echo(running):
        return guests.run(running, "kill $echo; wait $echo; ended=$?; cat /tmp/echo; "
                          "(exit $ended)")

    def check(self, running, iface, generator_iface):
        self.start_echo(running, iface)
        said = guests.run(running, command(
            "pktgen", GENERATOR, 0, f"--iface={generator_iface}", "--streams=/tmp/streams.json",
            "--late_ms=60000", "--settle_s=5", "--json=-")
            + " 2>/tmp/said || { cat /tmp/said /tmp/echo; false; }")
        report = json.loads(said[said.index("{"):said.rindex("}") + 1])
        ended = self.end_echo(running)
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
                self.write_streams(running, frames=FRAMES, rate="1k")
                self.check(running, *ifaces)
                guests.leave(running)
                print(*row, f"{FRAMES} frames, none lost, {time.monotonic() - began:.0f} s",
                      flush=True)

    def test_a_link_that_goes_down(self):
        """The generator's link, in the middle of a run: frames due meanwhile count as unsent."""
        with guests.Guest(guests.options(BUILD, bind="uio", emulated=["igb", "igb"])) as running:
            self.write_streams(running, frames=20 * RATE, rate=str(RATE))
            self.start_echo(running, "packetized")
            self.start(running, "pktgen", command(
                "pktgen", GENERATOR, 0, "--streams=/tmp/streams.json", "--late_ms=500",
                "--settle_s=5", "--json=/tmp/report.json"), "under way or lost")
            running.set_link(1, False)
            self.wait_for(running, "pktgen", "link down")
            time.sleep(4)
            running.set_link(1, True)
            self.wait_for(running, "pktgen", "link up, was down for")
            said = guests.run(running, "wait $pktgen && cat /tmp/report.json")
            report = json.loads(said[said.index("{"):said.rindex("}") + 1])
            self.end_echo(running)
            guests.leave(running)
        self.assertTrue(report["link_up"])
        self.assertEqual(report["link_down_count"], 1)
        self.assertGreaterEqual(report["link_down_s"], 4)
        due = report["link_down_s"] * RATE
        self.assertGreater(report["unsent_pkts"], 0.5 * due)
        self.assertLess(report["lost"], 0.25 * due)
        print(f"igb, link down for {report['link_down_s']:.1f} s: unsent {report['unsent_pkts']}, "
              f"lost {report['lost']}", flush=True)


if __name__ == "__main__":
    guests.need_packages()
    guests.unittest.main()
