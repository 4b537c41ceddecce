# SPDX-License-Identifier: BSD-3-Clause
"""TCP and UDP in every encapsulation, byte by byte; scapy and tshark parse the sent frames."""

import ipaddress
import subprocess
import tempfile

import harness
import offline
from frames import BALANCER_MAC, NEXT_HOP_MAC, cut, encapsulated, lower_ttl, split
from frames_case import WAYS, FramesTest, all_ways, every_packet, setup, tcp, udp, way_addresses
from scapy.layers.inet import GRE, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether


class Encapsulation(FramesTest):
    def test_every_way_to_a_backend(self):
        for settings in ({}, {"source_ipv4": "10.0.13.37", "source_ipv6": "fc00:2307::1337",
                              "gue_port": 9886, "decrement_ttl": False}):
            cases = []
            for i in range(len(WAYS)):
                kind, (source, destination), target = way_addresses(i)
                fixed = settings.get("source_ipv6" if ":" in target else "source_ipv4")
                for frame in every_packet(source, destination):
                    cases.append((frame, encapsulated(
                        frame, kind, target, source=fixed, ttl=settings.get("decrement_ttl", True),
                        gue_port=settings.get("gue_port", 6080))))
            with self.subTest(settings):
                # In the second copy, all flows are known.
                self.check(setup(*all_ways(), **settings), cases * 2, too_big=0,
                           bad_ip_checksum=0)

    def test_scapy_decapsulates_what_was_sent(self):
        frames, packets = [], []
        for i in range(len(WAYS)):
            kind, addresses, target = way_addresses(i)
            for frame in every_packet(*addresses):
                frames.append(frame)
                packets.append((kind, target, frame))
        left, _ = self.forwarded(setup(*all_ways()), frames)
        for (kind, target, frame), got in zip(packets, left):
            ether, sent = Ether(got), Ether(frame)
            self.assertEqual((ether.src, ether.dst), (BALANCER_MAC, NEXT_HOP_MAC))
            outer = ether.getlayer(IPv6 if ":" in target else IP)
            self.assertEqual(outer.dst, target)
            rebuilt = outer.copy()
            if isinstance(outer, IP):
                del rebuilt.chksum
            inside = outer.payload
            if kind == "gue":
                self.assertIsInstance(inside, UDP)
                del rebuilt[UDP].chksum
                self.assertNotEqual(inside.chksum, 0)
                self.assertEqual(inside.dport, 6080)
                raw = bytes(inside.payload)
                inside = (IP if raw[0] >> 4 == 4 else IPv6)(raw)
            elif kind == "gre":
                self.assertIsInstance(inside, GRE)
                self.assertEqual(bytes(inside)[:2], b"\0\0")  # Neither options nor a version.
                inside = inside.payload
            self.assertEqual(bytes(rebuilt), bytes(outer))
            original = sent.getlayer(IP) or sent.getlayer(IPv6)
            self.assertEqual(bytes(inside),
                             lower_ttl(cut(bytes(original))))
            # Every inner checksum is correct.
            again = inside.copy()
            upper = again.getlayer(TCP) or again.getlayer(UDP)
            del upper.chksum
            if isinstance(again, IP):
                del again.chksum
            self.assertEqual(bytes(again), bytes(inside))

    def test_tshark_reads_the_same(self):
        frames, wanted = [], []
        for i in range(len(WAYS)):
            kind, (source, destination), target = way_addresses(i)
            for packet, name in ((tcp, "tcp"), (udp, "udp")):
                tags = [(0x8100, 11)] if name == "udp" else []
                frame = packet(source, destination, data=b"abcde", ttl=33, tos=0x2E, tags=tags)
                frames.append(frame)
                outer = split(encapsulated(frame, kind, target))[4]
                at = (slice(12, 16), slice(8, 24))[":" in target]
                sender = str(ipaddress.ip_address(outer[at]))
                wanted.append({
                    "src": [sender, source], "dst": [target, destination],
                    "ttl": ["64", "32"], "tos": [0x2E, 0x2E], "vlan": ["11"] * len(tags),
                    "gre": ([] if kind != "gre" else
                            ["0x86dd" if ":" in source else "0x0800"]),
                    "udp.dstport": ["6080"] * (kind == "gue") + ["80"] * (name == "udp"),
                    "tcp.dstport": ["80"] * (name == "tcp"),
                    "ip checksums": ["1"] * ((":" not in target) + (":" not in source)),
                    "upper checksums": ["1"] * (1 + (kind == "gue")), "malformed": []})
        left, _ = self.forwarded(setup(*all_ways()), frames)
        self.assertEqual(tshark(left), wanted)


# Two columns where the names differ between IPv4 and IPv6, or TCP and UDP; outer first.
TSHARK_FIELDS = {
    "src": ("ip.src", "ipv6.src"), "dst": ("ip.dst", "ipv6.dst"), "ttl": ("ip.ttl", "ipv6.hlim"),
    "tos": ("ip.dsfield", "ipv6.tclass"), "vlan": ("vlan.id",), "gre": ("gre.proto",),
    "udp.dstport": ("udp.dstport",), "tcp.dstport": ("tcp.dstport",),
    "ip checksums": ("ip.checksum.status",),
    "upper checksums": ("udp.checksum.status", "tcp.checksum.status"),
    "malformed": ("_ws.malformed",)}


def tshark(frames):
    """Returns tshark's fields (TSHARK_FIELDS) of each frame. GUE's variant 1 is IP directly over
    UDP."""
    names = [name for columns in TSHARK_FIELDS.values() for name in columns]
    with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
        harness.write_capture(file.name, frames)
        lines = subprocess.run(
            ["timeout", "60", "tshark", "-n", "-r", file.name, "-d", "udp.port==6080,ip",
             *(f"-o{layer}.check_checksum:TRUE" for layer in ("ip", "tcp", "udp")),
             "-Tfields", "-Eseparator=|", "-Eoccurrence=a", *(f"-e{name}" for name in names)],
            capture_output=True, text=True, check=True).stdout.splitlines()
    rows = []
    for line in lines:
        values = {name: text.split(",") if text else []
                  for name, text in zip(names, line.split("|"))}
        outer_ipv6 = len(values["ip.src"]) < 2
        row = {}
        for key, columns in TSHARK_FIELDS.items():
            if outer_ipv6 and len(columns) == 2 and not columns[0].startswith("udp"):
                columns = columns[::-1]
            row[key] = [value for name in columns for value in values[name]]
        row["tos"] = [int(text, 16) for text in row["tos"]]
        rows.append(row)
    return rows
