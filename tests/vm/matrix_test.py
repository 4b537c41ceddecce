#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""matrix_test.py BUILD ON_BUS [FRAMES]: typical uses of a NIC on a bus: FRAMES verified frames
(default 10^7) in each way of binding, testpmd, applications."""
import pathlib
import re
import sys
import tempfile
import time
import typing
import unittest

from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

import guests
import harness

COUNT = int(sys.argv.pop()) if sys.argv[-1].isdigit() else 10_000_000
BUILD, ON_BUS = sys.argv[1:3]
ENSO_RATE = "5k"  # Frames per second that Ensō in a guest receives without loss.
# Additional frames for Ensō, enough for 10 s: those that arrive before a pipe is open are dropped.
ENSO_EARLY = 50_000
ENSO, IPU = guests.ADDRESSES
NICS = ("enso", "ipu")
INTERFACES = {"enso": ("streaming", "packetized"), "ipu": ("packetized", "bilateral", "coherent")}


def free_hugepages():
    """Returns the number of free hugepages of 2 MiB on this host."""
    path = pathlib.Path("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages")
    return int(path.read_text(encoding="utf-8")) if path.exists() else 0


class Client(typing.NamedTuple):
    """The clients on a NIC, as a wire of its sluice-device, whose application is in the guest."""
    app: str
    flags: tuple
    wire: str            # An application's library, and its options.
    answers: str         # The wire's counter of correct answers.
    nothing: tuple       # Counters that must be zero.


# Applications that answer clients on the wire. Ensō drops requests that arrive before the
# application runs, so clients that wait for an answer repeat their requests. Ensō does not have an
# address for clients.
SERVERS = (
    Client("kv", ("--memory_mb=16", "--items=10000", "--any_destination"),
           "kv/libsluice_kv_wire.so+items=100+outstanding=4", "hits", ("wrong", "malformed")),
    Client("rpc", ("--promiscuous",), "rpc/libsluice_rpc_wire.so+outstanding=4+timeout_ns=2000000000"
           "+target=1:536871170:1:1:20049+target=2:536871171:1:1:20049+run_calls=1",
           "answered", ("wrong", "refused", "unknown")),
    Client("sched", ("--policy=fifo_central", "--mode=swap", "--watchdog_ms=60000",
                     "--promiscuous"),
           "sched/libsluice_sched_wire.so+rate=100+timeout_ms=60000", "answered",
           ("wrong", "unknown")),
)
# Applications that inspect generated frames.
WATCHERS = ("maglev", "telemetry")
LINES = (b"<13>disk full: ERROR", b"<13>all is well")


def syslog(line, source_port):
    """Returns a frame: a message of RFC 3164 over UDP."""
    return bytes(Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01")
                 / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=source_port, dport=514)
                 / line).ljust(60, b"\0")


class Testpmd:
    """Debian's dpdk-testpmd at its prompt, in a guest."""

    def __init__(self, running, *arguments):
        self.running = running
        running.send("dpdk-testpmd -l 0,1 --file-prefix=pmd " + " ".join(arguments) + "\n")
        self.wait(r"testpmd> ")

    def wait(self, pattern):
        return self.running.wait_for(re.compile(r"([\s\S]*?)" + pattern), guests.STEP_S)

    def run(self, command, until=r"testpmd> "):
        """Returns its output up to `until`, and its prompt."""
        self.running.send(command + "\n")
        return self.wait(re.escape(command) + r"[\s\S]*?" + until)[0]

    def sent(self, port):
        said = self.run(f"show port stats {port}", until=r"Tx-bps[\s\S]*?testpmd> ")
        return int(re.search(r"TX-packets: (\d+)", said)[1])

    def await_frames(self, port):
        """Waits until 100 more frames were sent."""
        before = self.sent(port)
        while self.sent(port) < before + 100:
            time.sleep(0.2)

    def quit(self):
        self.running.send("quit\n")
        self.wait(r"Bye\.\.\.")


class Matrix(guests.Case):
    PMD_FLAGS = ("--port-topology=loop", "--no-mlockall", "--total-num-mbufs=8192")

    def guest(self, enso=guests.STEADY, ipu=guests.STEADY, **options):
        return guests.Guest(guests.options(BUILD, f"enso,{enso}", f"ipu,{ipu}", **options))

    def check(self, report):
        """Checks that a stopped device received no wrong frames."""
        for nothing in ("corrupted", "duplicated", "foreign"):
            self.assertEqual(report[nothing], 0, report)

    def send_back(self, running, arguments, nic):
        """Runs the guest's application until `nic` has sent and got back all its frames."""
        running.send(f"{ON_BUS} {arguments} >/tmp/app 2>&1 & app=$!\n")
        guests.run(running, "until grep -q echoes: /tmp/app; do sleep 1; kill -0 $app "
                   "|| break; done; kill -0 $app || { cat /tmp/app; false; }",
                   patience_s=3600)
        nic.await_quiet()
        guests.end_app(running)

    def test_frames_are_counted_one_by_one(self):
        """Uses net_ipu, whose wire waits for the driver; cable_test.py is the equivalent test for
        Ensō."""
        for bind in ("uio", "vfio"):
            traffic = f"ipu,wire=gen:size=64+flows=100+count={COUNT},verify=full,pause=on"
            with self.subTest(bind=bind), \
                    guests.Guest(guests.options(BUILD, traffic, bind=bind)) as running:
                self.assertIn(f"drv={guests.DRIVERS[bind]}",
                              guests.run(running, "dpdk-devbind.py -s"))
                self.send_back(running, f"echoes={COUNT} -l 0", running.nics[0])
                guests.leave(running)
                running.nics[0].stop()
                report = running.nics[0].report()
                self.check(report)
                self.assertEqual((report["lost"], report["wire"]["verified"]), (0, COUNT), report)
                print(f"{bind}: {COUNT} frames", flush=True)

    def test_memory_of_hugepages(self):
        """The guest's memory consists of hugepages of this host: some maps are parts of them.
        Ensō's wire does not wait for the driver, so its rate is one that a guest can forward. No
        frame is lost once the driver has opened the pipe."""
        if free_hugepages() < guests.guest.Options.memory_mb // 2:
            self.skipTest("too few hugepages")
        count = min(COUNT, 1_000_000)
        sent = {"enso": count + ENSO_EARLY, "ipu": count}
        frames = {nic: f"wire=gen:size=64+flows=100+count={sent[nic]}" for nic in NICS}
        for bind in ("uio", "vfio"):
            with self.subTest(bind=bind), self.guest(
                    enso=f"{frames['enso']}+rate={ENSO_RATE},verify=full",
                    ipu=f"{frames['ipu']},verify=full,pause=on",
                    bind=bind, hugepages=True) as running:
                for nic, address in zip(running.nics, (ENSO, IPU)):
                    self.send_back(running, f"echoes={count} -l 0 -a {address}", nic)
                guests.leave(running)
                for nic in running.nics:
                    nic.stop()
                    report = nic.report()
                    self.check(report)
                    early = report["nic_drops"].get("rx_no_fallback", 0)
                    verified = report["wire"]["verified"]
                    self.assertEqual((report["lost"], verified), (early, sent[nic.model] - early),
                                     report)
                    print(f"{bind}, hugepages, {nic.model}: {verified} frames, {early} before a "
                          "pipe was open", flush=True)

    def test_testpmd(self):
        with self.guest(bind="uio") as running:
            for mode in ("io", "macswap"):
                pmd = Testpmd(running, "--", "-i", f"--forward-mode={mode}", *self.PMD_FLAGS)
                for _ in range(3):
                    pmd.run("start")
                    for port in (0, 1):
                        pmd.await_frames(port)
                    pmd.run("stop", until=r"Done\.[\s\S]*?testpmd> ")
                    pmd.run("port stop all", until=r"Done[\s\S]*?testpmd> ")
                    pmd.run("port start all", until=r"Done[\s\S]*?testpmd> ")
                pmd.quit()
            pmd = Testpmd(running, f"-a {IPU}", "--", "-i", "--rxq=2", "--txq=2", *self.PMD_FLAGS)
            pmd.run("flow create 0 ingress pattern eth / ipv4 / udp / end actions drop / count / end",
                    until=r"Flow rule #0 created")
            pmd.run("start")
            while not re.search(r"hits: [1-9]", pmd.run("flow query 0 0 count", until=r"hits: \d+")):
                time.sleep(0.2)
            pmd.run("flow destroy 0 rule 0", until="Flow rule #0 destroyed")
            pmd.await_frames(0)
            pmd.quit()
            guests.leave(running)
            for nic in running.nics:
                nic.stop()
                self.check(nic.report())

    def test_echo_on_every_interface(self):
        """Includes links and endpoints in a BAR."""
        with self.guest() as running:
            for nic, address in zip(NICS, guests.ADDRESSES):
                for iface in INTERFACES[nic]:
                    with self.subTest(nic=nic, iface=iface):
                        self.receives(running, BUILD, address, iface)
            guests.leave(running)

    @staticmethod
    def faces(number):
        """Returns an interface of each NIC, and another one of net_ipu for each application in
        turn."""
        return [(nic, address, INTERFACES[nic][number % len(INTERFACES[nic])])
                for nic, address in zip(NICS, guests.ADDRESSES)]

    def test_watchers_of_frames(self):
        with self.guest() as running:
            for number, app in enumerate(WATCHERS):
                for nic, address, iface in self.faces(number):
                    with self.subTest(app=app, nic=nic, iface=iface):
                        report = self.receives(running, BUILD, address, iface, app)
                        if app == "telemetry":
                            self.assertEqual(report["telemetry"]["packets"], report["rx_pkts"])
            guests.leave(running)

    def test_logmon_matches_lines_that_come_in_frames(self):
        with tempfile.TemporaryDirectory() as folder:
            capture = pathlib.Path(folder, "lines.pcap")
            harness.write_capture(capture, (syslog(line, 5000 + i) for i in range(50)
                                            for line in LINES))
            lines = f"wire=pcap:{capture}+rate=1k,pause=on"
            with self.guest(lines, lines) as running:
                for nic, address, iface in self.faces(0):
                    with self.subTest(nic=nic, iface=iface):
                        report = guests.run_app(running, BUILD, "logmon", address, iface,
                                                "--filter=ERROR")
                        seen = report["logmon"]
                        self.assertGreater(seen["lines"], 100)
                        self.assertEqual(seen["lines"], report["rx_pkts"])
                        self.assertLessEqual(abs(2 * seen["matched_lines"] - seen["lines"]), 1)
                guests.leave(running)

    def test_servers_and_their_clients(self):
        for number, client in enumerate(SERVERS):
            wire = f"wire=library:{BUILD}/apps/{client.wire},pause=on"
            with self.subTest(app=client.app), self.guest(wire, wire) as running:
                for _, address, iface in self.faces(number):
                    report = guests.run_app(running, BUILD, client.app, address, iface,
                                            *client.flags, duration_s=10)
                    self.assertGreater(report["rx_pkts"], 0, iface)
                guests.leave(running)
                for nic in running.nics:
                    nic.stop()
                    counted = nic.report()["wire"]
                    self.assertGreater(counted[f"client_{client.answers}"], 0, counted)
                    for nothing in client.nothing:
                        self.assertEqual(counted.get(f"client_{nothing}", 0), 0, counted)


if __name__ == "__main__":
    del sys.argv[1:3]
    guests.need_packages()
    unittest.main()
