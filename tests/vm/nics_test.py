#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""nics_test.py BUILD: applications on third-party NICs that QEMU emulates, in guests. Each row of
ROWS is a guest, in which the steps run one after another. --full runs all steps in the product of
the columns of ROWS; otherwise each guest runs one part of STEPS, so that each step, and each value
of each column, occurs in some row."""
import contextlib
import json
import pathlib
import sys
import time

from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
# pylint: disable=wrong-import-position
import harness
import guests
import station

BUILD = sys.argv.pop()
NICS = ("vmxnet3", "e1000e", "igb", "virtio-net-pci")  # QEMU's names.
TWO_QUEUES = {"vmxnet3", "igb", "e1000e"}  # virtio-net has only one with a hub or a cable.
ROWS = harness.each(NICS, ["uio", "vfio"], ["hub", "cable"],
                    [("packetized", "streaming"), ("streaming", "packetized")])
FRAMES = 2000
APPLICATION, GENERATOR = guests.ADDRESSES
MEMORY = "-m 80 --file-prefix="
APPLICATION_IP = "10.0.0.2"
OTHER_MAC = "02:00:00:00:bb:bb"
ANSWER_S = 60  # Time within which a slow guest must answer.
VIP, BACKENDS = "192.0.2.53", ("198.51.100.11", "198.51.100.12")  # From configs/maglev-sample.json.
STEPS = []


def step(function):
    """Adds a method of Nics to STEPS."""
    STEPS.append(function.__name__)
    return function


def command(app, address, core, *flags, lcores="", memory=MEMORY):
    return (f"{BUILD}/apps/{app}/sluice-{app} --lcores={lcores or f'0@0,1@{core}'} {memory}{app} "
            f"-a {address} -- " + " ".join(flags))


def datagram(mac, payload, destination=APPLICATION_IP, sport=4000, dport=9000, **fields):
    """Returns a UDP frame of the station; `fields` are those of UDP."""
    return (Ether(src=station.MAC, dst=mac) / IP(src=station.IP, dst=destination)
            / UDP(sport=sport, dport=dport, **fields) / Raw(payload))


def with_wrong_checksum(frame):
    right = Ether(bytes(frame))[UDP].chksum
    frame[UDP].chksum = right ^ 0x5555
    return frame


def answers(sport):
    """Returns a predicate that is true for datagrams to this port of the station."""
    return lambda packet: UDP in packet and packet[UDP].dport == sport \
        and packet[Ether].dst == station.MAC


def payload(packet):
    """Returns the payload of a datagram without the frame's padding."""
    return bytes(packet[UDP].payload)[:packet[UDP].len - 8]


class Row:
    """A guest, its station, and the port that the station reaches."""

    def __init__(self, row, running, peer):
        self.nic, self.bind, self.wiring, (self.iface, self.generator_iface) = row
        self.running, self.peer = running, peer
        self.index = 0 if self.wiring == "hub" else 2
        self.address = APPLICATION if self.wiring == "hub" else guests.THIRD
        self.mac = f"02:00:00:00:00:{self.index + 1:02x}"


class Nics(guests.Case):
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

    @staticmethod
    @contextlib.contextmanager
    def application(row, name, *flags, **options):
        """Runs an application on the port that the station reaches. Yields its report, which is
        complete after the end."""
        report = {}
        row.peer.forget()
        Nics.start(row.running, name, command(
            name, row.address, 1, f"--iface={row.iface}", "--stats_period_s=0.5",
            "--json=/tmp/report.json", *flags, **options), guests.RUNS)
        try:
            yield report
        except BaseException:
            guests.run(row.running, f"kill ${name}; wait ${name}; tail -n 5 /tmp/{name}", code=None)
            raise
        said = guests.run(row.running, f"kill ${name}; wait ${name} && cat /tmp/report.json "
                          f"|| {{ cat /tmp/{name}; false; }}")
        report.update(json.loads(said[said.index("{"):said.rindex("}") + 1]))

    def answered(self, row, sport, frames, count=None):
        """Sends frames, and returns the datagrams to `sport` that come back: as many as frames, or
        `count`."""
        row.peer.send(*frames)
        count = len(frames) if count is None else count
        found = row.peer.wait_for(answers(sport), count, ANSWER_S)
        self.assertEqual(len(found), count, found)
        return found

    def check_echo(self, row, sport=4000):
        """Checks that a frame comes back with one byte altered."""
        sent = b"echo this, please: 0123456789"
        back = payload(self.answered(row, sport, [datagram(row.mac, sent, sport=sport)])[0])
        self.assertEqual(len(back), len(sent))
        self.assertEqual(sum(a != b for a, b in zip(back, sent)), 1, back)

    # ------------------------------------------------------------------ steps

    @step
    def generator(self, row):
        """sluice-pktgen's frames come back through sluice-echo, and each is checked."""
        self.write_streams(row.running, frames=FRAMES, rate="1k")
        self.start(row.running, "echo", command("echo", APPLICATION, 1, f"--iface={row.iface}",
                                                "--stats_period_s=0.5"), guests.RUNS)
        said = guests.run(row.running, command(
            "pktgen", GENERATOR, 0, f"--iface={row.generator_iface}",
            "--streams=/tmp/streams.json", "--late_ms=60000", "--settle_s=5", "--json=-")
            + " 2>/tmp/said || { cat /tmp/said /tmp/echo; false; }")
        report = json.loads(said[said.index("{"):said.rindex("}") + 1])
        ended = guests.run(row.running, "kill $echo; wait $echo; ended=$?; cat /tmp/echo; "
                           "(exit $ended)")
        self.assertEqual(report["streams"][0]["sent_pkts"], FRAMES, report)
        for nothing in ("lost", "corrupted", "duplicated", "unsent_pkts", "link_down_count"):
            self.assertEqual(report[nothing], 0, (report, ended))
        self.assertIn("dropped by the NIC 0;", ended)

    @step
    def frames_and_link(self, row):
        """sluice-echo returns complete frames of many lengths, and with tags, and drops a frame
        that is longer than the MTU. After the link was down, frames pass again."""
        lengths = (1, 18, 100, 512, 1400, 1472)
        with self.application(row, "echo", f"--ip={APPLICATION_IP}") as report:
            found = self.answered(row, 4001, [datagram(row.mac, bytes(length), sport=4001)
                                              for length in lengths])
            self.assertEqual([len(payload(packet)) for packet in found], list(lengths))
            frame = datagram(row.mac, bytes(100), sport=4002)
            tags = Dot1Q(vlan=5, prio=3) / Dot1Q(vlan=9)
            found = self.answered(row, 4002, [Ether(src=station.MAC, dst=row.mac) / Dot1Q(vlan=7)
                                              / frame[IP], Ether(src=station.MAC, dst=row.mac)
                                              / tags / frame[IP]])
            self.assertEqual([[tag.vlan for tag in packet.iterpayloads()
                               if isinstance(tag, Dot1Q)] for packet in found], [[7], [5, 9]])
            row.peer.send(datagram(row.mac, bytes(2958), sport=4003))  # An IP packet of 3000 bytes.
            self.check_echo(row)
            self.assertEqual(row.peer.received(answers(4003)), [])
            row.running.set_link(row.index, False)
            self.wait_for(row.running, "echo", "link down")
            row.running.set_link(row.index, True)
            self.wait_for(row.running, "echo", "link up")
            self.check_echo(row, sport=4004)
        self.assertGreaterEqual(report["link_down_count"], 1)
        self.assertTrue(report["link_up"])

    @step
    def kv(self, row):
        """sluice-kv answers ARP, ping and memcached's protocol, drops wrong checksums, and does
        not answer frames for other stations."""
        def request(text, **fields):
            return datagram(row.mac, bytes((0, 1, 0, 0, 0, 1, 0, 0)) + text, dport=11211, **fields)

        with self.application(row, "kv", f"--ip={APPLICATION_IP}", "--memory_mb=16",
                              "--items=10000") as report:
            self.assertEqual(row.peer.resolve(APPLICATION_IP, ANSWER_S), row.mac)
            row.peer.send(Ether(src=station.MAC, dst=row.mac)
                          / IP(src=station.IP, dst=APPLICATION_IP) / ICMP(id=7, seq=1) / b"ping")
            self.assertEqual(len(row.peer.wait_for(
                lambda packet: ICMP in packet and packet[ICMP].type == 0, 1, ANSWER_S)), 1)
            stored = self.answered(row, 5001, [request(b"set k 0 0 5\r\nhello\r\n", sport=5001)])
            self.assertTrue(payload(stored[0]).endswith(b"STORED\r\n"), stored)
            other = request(b"get k\r\n", sport=5002)
            other[Ether].dst = OTHER_MAC
            wrong = [with_wrong_checksum(request(b"get k\r\n", sport=5002)) for _ in range(3)]
            got = self.answered(row, 5002, [other, *wrong, request(b"get k\r\n", sport=5002)], 1)
            self.assertIn(b"hello", payload(got[0]))
            # The answer to a later request follows all other answers.
            self.answered(row, 5003, [request(b"get k\r\n", sport=5003)])
            self.assertEqual(len(row.peer.received(answers(5002))), 1)
        self.assertEqual(report["drops"].get("bad_checksum"), 3, report["drops"])

    @step
    def maglev(self, row):
        """sluice-maglev sends datagrams for a VIP to backends. A packet of 3000 bytes exceeds the
        MTU: it is dropped, or the NIC delivers it, and then its sender gets an answer."""
        count = 50
        with self.application(row, "maglev") as report:
            row.peer.send(datagram(row.mac, bytes(2958), VIP, dport=53))
            row.peer.send(*(datagram(row.mac, b"query %d" % i, VIP, sport=6000 + i, dport=53)
                            for i in range(count)))
            found = row.peer.wait_for(
                lambda packet: IP in packet and packet[IP].dst in BACKENDS, count, ANSWER_S)
        self.assertEqual(len(found), count, report)
        inner = sorted(bytes(packet)[-16:].split(b"query ")[-1].rstrip(b"\0") for packet in found)
        self.assertEqual(inner, sorted(b"%d" % i for i in range(count)))
        self.assertEqual({packet[IP].dst for packet in found}, set(BACKENDS))
        too_big = report["events"]["too_big"]
        refused = row.peer.received(lambda packet: ICMP in packet and packet[ICMP].type == 3
                                    and packet[ICMP].code == 4)
        self.assertEqual(len(refused), too_big)
        self.assertEqual(report["tx_pkts"], count + too_big, report)
        print(row.nic, "3000 bytes:", f"answered {too_big}", report["nic_drops"], flush=True)

    @step
    def logmon(self, row):
        """sluice-logmon counts and matches the lines of syslog in datagrams with right checksums,
        with and without tags."""
        lines = [datagram(row.mac, b"<13>disk full: ERROR" if i % 2 else b"<13>all is well",
                          sport=7000 + i, dport=514) for i in range(40)]
        tagged = [Ether(src=station.MAC, dst=row.mac) / Dot1Q(vlan=7) / line[IP]
                  for line in lines[:10]]
        wrong = [with_wrong_checksum(line.copy()) for line in lines[:5]]
        with self.application(row, "logmon", "--filter=ERROR",
                              f"--ip={APPLICATION_IP}") as report:
            row.peer.send(*lines, *tagged, *wrong)
            # The answer follows the frames before it.
            self.assertEqual(row.peer.resolve(APPLICATION_IP, ANSWER_S), row.mac)
        self.assertEqual(report["drops"].get("bad_checksum"), 5, report)
        self.assertEqual(report["logmon"]["lines"], 50)
        self.assertEqual(report["logmon"]["matched_lines"], 25)

    @step
    def telemetry(self, row):
        """sluice-telemetry counts every frame."""
        with self.application(row, "telemetry", memory="-m 120 --file-prefix=") as report:
            row.peer.send(*(datagram(OTHER_MAC, bytes(100), sport=8000 + i % 20)
                            for i in range(200)))
            time.sleep(3)  # The frames wait in the NIC, and must be received before the program
                           # ends.
        self.assertEqual(report["rx_pkts"], 200)
        self.assertEqual(report["telemetry"]["packets"], 200)

    @step
    def two_queues(self, row):
        """Two workers have a queue each, and every frame comes back; a NIC with one queue refuses
        a second one."""
        options = {"lcores": "0@0,1@1,2@0", "memory": "-m 120 --file-prefix="}
        if row.nic not in TWO_QUEUES:
            said = guests.run(row.running, command(
                "echo", row.address, 1, f"--iface={row.iface}", "--workers=2", "--duration_s=2",
                **options) + " 2>&1", code=1)
            self.assertIn("configuring 2 receive and 2 transmit queues failed", said)
            return
        with self.application(row, "echo", "--workers=2", **options) as report:
            frames = [datagram(row.mac, bytes(60), sport=4010, dport=9000 + i) for i in range(128)]
            self.answered(row, 4010, frames)
        self.assertEqual((report["rx_pkts"], report["tx_pkts"]), (128, 128))

    @step
    def unbinding(self, row):
        """The driver is unbound under sluice-echo: vfio-pci waits for the program's end, and
        uio_pci_generic does not. Afterwards a program works again."""
        running = row.running
        self.start(running, "echo", command("echo", row.address, 1, f"--iface={row.iface}",
                                            "--stats_period_s=0.5"), guests.RUNS)
        self.check_echo(row)
        running.send(f"{guests.BIND} {row.address} none & bind=$!\n")
        guests.run(running, "sleep 1; kill $echo; wait $echo", code=None)
        guests.run(running, f"wait $bind && {guests.BIND} {row.address} {row.bind}")
        with self.application(row, "echo"):
            self.check_echo(row, sport=4005)

    # ------------------------------------------------------------------- rows

    def test_rows(self):
        for number, values in enumerate(ROWS):
            nic, bind, wiring, ifaces = values
            steps = STEPS if harness.FULL else [name for i, name in enumerate(STEPS)
                                                if i < 2 or i % len(NICS) == number]
            # With a hub, the station is a third party; otherwise, it is connected to a third NIC.
            emulated = [nic] * (2 if wiring == "hub" else 3)
            with station.Station() as peer, guests.Guest(guests.options(
                    BUILD, bind=bind, emulated=emulated, wiring=wiring,
                    station=str(peer.path))) as running:
                peer.connect(running)
                row = Row(values, running, peer)
                for name in steps:
                    began = time.monotonic()
                    with self.subTest(row=values, step=name):
                        getattr(self, name)(row)
                        print(nic, bind, wiring, *ifaces, name,
                              f"{time.monotonic() - began:.0f} s", flush=True)
                guests.leave(running)

    def test_the_generators_link_goes_down(self):
        """The link goes down in the middle of a run. Frames that become due while it is down count
        as unsent."""
        rate = 200  # In frames per second.
        with guests.Guest(guests.options(BUILD, bind="uio", emulated=["igb", "igb"])) as running:
            self.write_streams(running, frames=20 * rate, rate=str(rate))
            self.start(running, "echo", command("echo", APPLICATION, 1, "--stats_period_s=0.5"),
                       guests.RUNS)
            self.start(running, "pktgen", command(
                "pktgen", GENERATOR, 0, "--streams=/tmp/streams.json", "--late_ms=500",
                "--settle_s=5", "--json=/tmp/report.json"), "in flight or lost")
            running.set_link(1, False)
            self.wait_for(running, "pktgen", "link down")
            time.sleep(4)
            running.set_link(1, True)
            self.wait_for(running, "pktgen", "link up, was down for")
            said = guests.run(running, "wait $pktgen && cat /tmp/report.json")
            report = json.loads(said[said.index("{"):said.rindex("}") + 1])
            guests.run(running, "kill $echo; wait $echo")
            guests.leave(running)
        self.assertTrue(report["link_up"])
        self.assertEqual(report["link_down_count"], 1)
        self.assertGreaterEqual(report["link_down_s"], 4)
        due = report["link_down_s"] * rate
        self.assertGreater(report["unsent_pkts"], 0.5 * due)
        self.assertLess(report["lost"], 0.25 * due)
        print(f"igb, link down for {report['link_down_s']:.1f} s: unsent {report['unsent_pkts']}, "
              f"lost {report['lost']}", flush=True)


if __name__ == "__main__":
    guests.need_packages()
    guests.unittest.main()
