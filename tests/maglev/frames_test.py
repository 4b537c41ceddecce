#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Packets of every kind through sluice-maglev, offline: what leaves is compared byte by byte with
frames that scapy builds by the rules of the RFCs (frames.py), decapsulated by scapy, and read by
tshark. Every frame has an ending: rx = tx + consumed + drops, in every run, and what is consumed
went to the slow path unchanged."""

import collections
import ipaddress
import random
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

import frames as expected
import katran
import offline
from frames import BALANCER_MAC, CLIENT_MAC, NEXT_HOP_MAC, encapsulated, from_client, mac, \
    rewritten, too_big
from scapy.layers.inet import GRE, ICMP, IP, TCP, UDP, IPOption_Router_Alert, fragment
from scapy.layers.inet6 import ICMPv6DestUnreach, ICMPv6EchoReply, ICMPv6EchoRequest, \
    ICMPv6PacketTooBig, ICMPv6ParamProblem, ICMPv6TimeExceeded, IPv6, IPv6ExtHdrDestOpt, \
    IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, PadN
from scapy.layers.ipsec import AH
from scapy.layers.l2 import ARP, Ether

MAGLEV = sys.argv.pop()

CLIENT4, CLIENT6 = "192.168.1.1", "fc00:2::1"
VIP4, VIP6 = "10.200.1.1", "fc00:1::1"
BACKEND4, BACKEND6 = "10.0.0.1", "fc00::1"
PASS = "passed"  # An expected ending beside bytes and names of drops.


def backend(address, **more):
    return {"name": "b" + address, "address": address, **more}


def vip(address, backends, port=80, protocol="tcp", encapsulation="ip", **more):
    return {"name": f"{address} {port} {protocol}", "address": address, "port": port,
            "protocol": protocol, "encapsulation": encapsulation,
            "backends": [b if isinstance(b, dict) else backend(b) for b in backends], **more}


def setup(*vips, **more):
    return {"next_hop": NEXT_HOP_MAC, "vips": list(vips), **more}


def ip(source, destination, **fields):
    """An IP header of scapy's, of the family of its addresses."""
    if ":" not in source:
        return IP(src=source, dst=destination, **fields)
    names = {"ttl": "hlim", "tos": "tc"}
    return IPv6(src=source, dst=destination, **{names[k]: v for k, v in fields.items()})


def tcp(source, destination, sport=31337, dport=80, data=b"", flags="S", tags=(), **fields):
    return from_client(ip(source, destination, **fields),
                       TCP(sport=sport, dport=dport, flags=flags), data, tags=tags)


def udp(source, destination, sport=31337, dport=80, data=b"", tags=(), **fields):
    return from_client(ip(source, destination, **fields), UDP(sport=sport, dport=dport), data,
                       tags=tags)


def outer_destination(frame):
    payload = expected.split(frame)[4]
    return str(ipaddress.ip_address(payload[16:20] if payload[0] >> 4 == 4 else payload[24:40]))


def describe(frame):
    return f"{frame.hex()}\n{Ether(frame).show(dump=True)}"


class FramesTest(unittest.TestCase):
    maxDiff = None

    def run_frames(self, config, frames):
        """Frames that left, and the report, whose sums are checked."""
        left, passed, report = offline.run(MAGLEV, config, frames)
        self.assertEqual(report["rx_pkts"], len(frames))
        self.assertEqual(report["rx_pkts"], report["tx_pkts"] + report["consumed_pkts"]
                         + sum(report["drops"].values()))
        self.assertEqual(report["tx_pkts"], len(left))
        self.assertEqual(report["consumed_pkts"], len(passed))
        self.assertEqual(report["events"]["passed"], len(passed))
        return left, passed, report

    def forwarded(self, config, frames):
        """Frames that left: one for each; and the report."""
        left, _, report = self.run_frames(config, frames)
        self.assertEqual(len(left), len(frames))
        return left, report

    def check(self, config, cases, **events):
        """`cases`: (frame, ending): the bytes that leave, PASS, or the name of a drop."""
        left, passed, report = self.run_frames(config, [frame for frame, _ in cases])
        wanted = [(i, e) for i, (_, e) in enumerate(cases) if isinstance(e, bytes)]
        for (i, want), got in zip(wanted, left):
            if want != got:
                self.fail(f"frame {i}: {describe(cases[i][0])}\n--- expected\n{describe(want)}"
                          f"\n--- got\n{describe(got)}")
        self.assertEqual(len(left), len(wanted))
        self.assertEqual(passed, [frame for frame, ending in cases if ending == PASS])
        drops = collections.Counter(e for _, e in cases if isinstance(e, str) and e != PASS)
        self.assertEqual({name: n for name, n in report["drops"].items() if n}, dict(drops))
        for name, count in events.items():
            self.assertEqual(report["events"][name], count, name)
        return left


def one_vip(family, kind="ip", backend_family=None, protocol="tcp", **more):
    """A configuration with one VIP and one backend."""
    address = VIP4 if family == 4 else VIP6
    backend_family = backend_family or family
    return setup(vip(address, [BACKEND4 if backend_family == 4 else BACKEND6], protocol=protocol,
                     encapsulation=kind), **more)


# Encapsulation, family of the VIP, family of the backend.
WAYS = [(kind, inner, outer) for kind in ("ip", "gre", "gue")
        for inner, outer in ((4, 4), (4, 6), (6, 6))]


def way_addresses(i):
    kind, inner, outer = WAYS[i]
    return kind, (CLIENT4, f"10.200.1.{i + 1}") if inner == 4 else (CLIENT6, f"fc00:1::{i + 1}"), \
        f"10.0.1.{i + 1}" if outer == 4 else f"fc00::1:{i + 1}"


def all_ways():
    vips = []
    for i in range(len(WAYS)):
        kind, (_, address), target = way_addresses(i)
        vips += [vip(address, [target], protocol=protocol, encapsulation=kind)
                 for protocol in ("tcp", "udp")]
    return vips


class Encapsulation(FramesTest):
    def packets(self, source, destination):
        yield tcp(source, destination)
        yield tcp(source, destination, data=b"odd", flags="PA")
        yield udp(source, destination, data=b"even")
        yield udp(source, destination)
        yield udp(source, destination, data=bytes(1300))
        for tos in (0x01, 0x02, 0x03, 0xB8, 0xFF):
            yield tcp(source, destination, tos=tos, flags="A")
        for ttl in (2, 64, 255):
            yield udp(source, destination, ttl=ttl, data=b"x")
        for sport in (1, 255, 256, 65535):
            yield tcp(source, destination, sport=sport, flags="A", data=b"y" * 31)
        for tags in ([(0x8100, 100)], [(0x88A8, 7), (0x8100, 4094)], [(0x8100, 1), (0x8100, 2)]):
            yield tcp(source, destination, flags="A", tags=tags)
            yield udp(source, destination, data=b"tagged", tags=tags)
        # Ethernet padding, which is no part of the packet; of any value.
        yield tcp(source, destination, flags="A") + b"\x5a" * 6
        yield udp(source, destination, data=b"z", tags=[(0x8100, 9)]) + b"\xff" * 40

    def test_every_way_to_a_backend(self):
        for settings in ({}, {"source_ipv4": "10.0.13.37", "source_ipv6": "fc00:2307::1337",
                              "gue_port": 9886, "decrement_ttl": False}):
            cases = []
            for i in range(len(WAYS)):
                kind, (source, destination), target = way_addresses(i)
                fixed = settings.get("source_ipv6" if ":" in target else "source_ipv4")
                for frame in self.packets(source, destination):
                    cases.append((frame, encapsulated(
                        frame, kind, target, source=fixed, ttl=settings.get("decrement_ttl", True),
                        gue_port=settings.get("gue_port", 6080))))
            with self.subTest(settings):
                self.check(setup(*all_ways(), **settings), cases, too_big=0, bad_ip_checksum=0)

    def test_scapy_decapsulates_what_was_sent(self):
        frames, packets = [], []
        for i in range(len(WAYS)):
            kind, addresses, target = way_addresses(i)
            for frame in self.packets(*addresses):
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
                             expected.lower_ttl(expected.cut(bytes(original))))
            # Every checksum inside is right.
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
                outer = expected.split(encapsulated(frame, kind, target))[4]
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


class Nat(FramesTest):
    """The destination is rewritten, answers are rewritten back, checksums stay right."""

    CONFIG = setup(
        vip(VIP4, [backend(BACKEND4, port=8080)], encapsulation="nat"),
        vip(VIP4, [backend(BACKEND4, port=5353)], protocol="udp", encapsulation="nat"),
        vip(VIP6, [backend(BACKEND6, port=8080)], encapsulation="nat"),
        vip(VIP6, [BACKEND6], protocol="udp", encapsulation="nat"))

    def test_there_and_back(self):
        cases = []
        for client, address, target in ((CLIENT4, VIP4, BACKEND4), (CLIENT6, VIP6, BACKEND6)):
            for packet, port in ((tcp, 8080), (udp, 5353 if ":" not in address else 80)):
                for data in (b"", b"odd", b"even", bytes(range(256)) * 5):
                    for tags in ([], [(0x8100, 5)], [(0x88A8, 6), (0x8100, 7)]):
                        there = packet(client, address, data=data, tags=tags, ttl=7, tos=0x2E)
                        cases.append((there, rewritten(there, destination=target, dport=port)))
                        back = packet(target, client, sport=port, dport=31337, data=data,
                                      tags=tags, ttl=60)
                        cases.append((back, rewritten(back, source=address, sport=80)))
        self.check(self.CONFIG, cases, nat_return=len(cases) // 2)

    def test_no_udp_checksum_stays_none(self):
        for client, address, target, port in ((CLIENT4, VIP4, BACKEND4, 5353),
                                              (CLIENT6, VIP6, BACKEND6, 80)):
            there = from_client(ip(client, address), UDP(sport=1, dport=80, chksum=0), b"abc")
            back = from_client(ip(target, client), UDP(sport=port, dport=1, chksum=0), b"abc")
            left = self.check(self.CONFIG, [
                (there, rewritten(there, destination=target, dport=port)),
                (back, rewritten(back, source=address, sport=80))])
            for frame in left:
                ether = Ether(frame)
                self.assertEqual(ether[UDP].chksum, 0)

    def test_a_udp_checksum_never_becomes_0(self):
        # Two bytes of payload that equal the checksum without them make its sum 0xffff and its
        # complement 0, which is sent as 0xffff (RFC 768).
        def there(client, address, word):
            return udp(client, address, data=struct.pack("!H", word))
        def after(frame, target, port):
            return rewritten(frame, destination=target, dport=port)
        cases = []
        for client, address, target, port in ((CLIENT4, VIP4, BACKEND4, 5353),
                                              (CLIENT6, VIP6, BACKEND6, 80)):
            word = Ether(after(there(client, address, 0), target, port))[UDP].chksum
            frame = there(client, address, word)
            cases.append((frame, after(frame, target, port)))
            self.assertEqual(Ether(cases[-1][1])[UDP].chksum, 0xFFFF)
        self.check(self.CONFIG, cases)

    def test_padding_and_wrong_checksums(self):
        padded = tcp(CLIENT4, VIP4, flags="A") + b"\x55" * 6
        left, _ = self.forwarded(self.CONFIG, [padded])
        self.assertEqual(left[0], rewritten(padded, destination=BACKEND4, dport=8080) + b"\x55" * 6)
        # A wrong TCP checksum stays wrong by the same difference.
        wrong = from_client(ip(CLIENT4, VIP4), TCP(sport=1, dport=80, chksum=0x1234), b"abc")
        right = from_client(ip(CLIENT4, VIP4), TCP(sport=1, dport=80), b"abc")
        left, _ = self.forwarded(self.CONFIG, [wrong])
        after = Ether(rewritten(right, destination=BACKEND4, dport=8080))[TCP].chksum
        difference = (0x1234 - Ether(right)[TCP].chksum) % 0xFFFF
        self.assertEqual((Ether(left[0])[TCP].chksum - after) % 0xFFFF, difference)

    def test_what_comes_from_elsewhere_passes(self):
        self.check(self.CONFIG, [
            (tcp(BACKEND4, CLIENT4, sport=8081, dport=1), PASS),
            (udp(BACKEND4, CLIENT4, sport=8080, dport=1), PASS),
            (tcp("10.0.0.2", CLIENT4, sport=8080, dport=1), PASS)])

    def test_the_last_hop_ends_here(self):
        self.check(self.CONFIG, [(tcp(CLIENT4, VIP4, ttl=1), "ttl_expired"),
                                 (tcp(BACKEND4, CLIENT4, sport=8080, ttl=1), "ttl_expired"),
                                 (tcp(BACKEND6, CLIENT6, sport=8080, ttl=1), "ttl_expired")])


class Fragments(FramesTest):
    POOL = setup(*(vip(address, [f"{prefix}{i}" for i in range(1, 9)], protocol=protocol)
                   for address, prefix in ((VIP4, "10.0.0."), (VIP6, "fc00::"))
                   for protocol in ("udp", "tcp")))

    def fragments4(self, sport, identification):
        datagram = IP(src=CLIENT4, dst=VIP4, id=identification) / UDP(sport=sport, dport=80) \
            / bytes(i % 251 for i in range(2000))
        return [from_client(part) for part in fragment(datagram, 800)]

    def fragments6(self, sport, identification):
        upper = bytes(UDP(sport=sport, dport=80, len=1208, chksum=0x1234) / bytes(1200))
        return [from_client(IPv6(src=CLIENT6, dst=VIP6, nh=44), IPv6ExtHdrFragment(
            nh=17, offset=at // 8, m=int(at + 400 < len(upper)), id=identification)
                            / upper[at:at + 400]) for at in range(0, len(upper), 400)]

    def test_all_fragments_go_where_their_flow_goes(self):
        for address, client, cutter, target in ((VIP4, CLIENT4, self.fragments4, "10.0.0."),
                                                (VIP6, CLIENT6, self.fragments6, "fc00::")):
            frames, flows = [], []
            for i in range(20):
                parts = cutter(40000 + i, 100 + i)
                self.assertGreaterEqual(len(parts), 3)
                datagram = [udp(client, address, sport=40000 + i, data=b"whole"), *parts]
                frames += datagram
                flows += [i] * len(datagram)
            left, report = self.forwarded(self.POOL, frames)
            backends = {}
            for flow, frame, got in zip(flows, frames, left):
                backends.setdefault(flow, outer_destination(got))
                self.assertTrue(backends[flow].startswith(target))
                self.assertEqual(got.hex(), encapsulated(frame, "ip", backends[flow]).hex())
            self.assertGreater(len(set(backends.values())), 2)
            self.assertEqual(report["events"]["fragment_first"], 20)
            self.assertEqual(report["events"]["fragment_later"], len(frames) - 40)

    def test_a_fragment_without_its_first_is_dropped(self):
        config = one_vip(4, protocol="udp")
        first, second, third = self.fragments4(5, 7)[:3]
        other = self.fragments4(5, 8)
        self.check(config, [
            (second, "fragment"), (first, encapsulated(first, "ip", BACKEND4)),
            (second, encapsulated(second, "ip", BACKEND4)), (other[1], "fragment"),
            (third, encapsulated(third, "ip", BACKEND4))])
        # The same identification of another protocol or sender is another datagram.
        stranger = from_client(IP(src="192.168.1.2", dst=VIP4, id=7, frag=100), bytes(16))
        as_tcp = from_client(IP(src=CLIENT4, dst=VIP4, id=7, frag=100, proto=6), bytes(16))
        self.check(config, [(first, encapsulated(first, "ip", BACKEND4)),
                            (stranger, "fragment"), (as_tcp, "fragment")])

    def test_overlapping_fragments_are_the_backends_to_judge(self):
        first, second = self.fragments4(5, 9)[:2]
        overlap = from_client(IP(src=CLIENT4, dst=VIP4, id=9, frag=2, flags="MF", proto=17),
                              b"\xee" * 64)
        tiny = from_client(IP(src=CLIENT4, dst=VIP4, id=9, frag=1, proto=17), b"\0\1")
        frames = [first, overlap, tiny, second, first]
        self.check(one_vip(4, protocol="udp"),
                   [(frame, encapsulated(frame, "ip", BACKEND4)) for frame in frames],
                   fragment_first=2, fragment_later=3)

    def test_fragments_behind_tags_and_extension_headers(self):
        tags = [(0x8100, 3)]
        cases = []
        for part in self.fragments4(5, 10):
            tagged = from_client(IP(expected.split(part)[4]), tags=tags)
            cases.append((tagged, encapsulated(tagged, "ip", BACKEND4)))
        self.check(one_vip(4, protocol="udp"), cases, fragment_later=len(cases) - 1)
        cases = []
        for part in self.fragments6(5, 11):
            inner = IPv6(expected.split(part)[4])
            options = IPv6ExtHdrHopByHop(nh=44, options=[PadN(optdata=bytes(12))])
            longer = from_client(IPv6(src=CLIENT6, dst=VIP6, nh=0), options, inner.payload)
            cases.append((longer, encapsulated(longer, "gre", BACKEND6)))
        self.check(one_vip(6, "gre", protocol="udp"), cases, fragment_later=len(cases) - 1)

    def test_fragments_need_not_name_the_same_next_header(self):
        # RFC 8200 section 4.5: only that of the first one counts.
        upper = bytes(IPv6ExtHdrDestOpt(nh=17, options=[PadN(optdata=bytes(4))])
                      / UDP(sport=7, dport=80, len=1008, chksum=0x1234) / bytes(1000))
        cases = []
        for at, next_header in ((0, 60), (400, 60), (800, 59)):
            part = from_client(IPv6(src=CLIENT6, dst=VIP6, nh=44),
                               IPv6ExtHdrFragment(nh=next_header, offset=at // 8, m=int(at < 800),
                                                  id=77) / upper[at:at + 400])
            cases.append((part, encapsulated(part, "ip", BACKEND6)))
        self.check(one_vip(6, protocol="udp"), cases, fragment_first=1, fragment_later=2)

    def test_another_datagram_behind_an_authentication_header_is_another_one(self):
        def authenticated(part, sequence):
            header = AH(nh=44, payloadlen=4, spi=1, seq=sequence, icv=bytes(12))
            return from_client(IPv6(src=CLIENT6, dst=VIP6, nh=51), header,
                               IPv6(expected.split(part)[4]).payload)
        first, later = (authenticated(part, i) for i, part in enumerate(self.fragments6(5, 11)[:2]))
        other = authenticated(self.fragments6(6, 12)[1], 3)
        self.check(one_vip(6, protocol="udp"), [
            (first, encapsulated(first, "ip", BACKEND6)), (other, "fragment"),
            (later, encapsulated(later, "ip", BACKEND6))])

    def test_nat_of_fragments(self):
        config = setup(vip(VIP4, [backend(BACKEND4, port=5353)], protocol="udp",
                           encapsulation="nat"))
        first, later = self.fragments4(5, 12)[:2]
        left, _ = self.forwarded(config, [first, later])
        whole = bytes(IP(src=CLIENT4, dst=BACKEND4) / UDP(sport=5, dport=5353)
                      / bytes(i % 251 for i in range(2000)))
        got = [IP(expected.split(frame)[4]) for frame in left]
        for packet, sent in zip(got, (first, later)):
            original = IP(expected.split(sent)[4])
            self.assertEqual((packet.src, packet.dst, packet.frag, packet.flags, packet.ttl),
                             (CLIENT4, BACKEND4, original.frag, original.flags, original.ttl - 1))
        # UDP header and data as if the whole datagram had been rewritten before it was cut.
        self.assertEqual(bytes(got[0].payload), whole[20:20 + len(got[0].payload)])
        self.assertEqual(bytes(got[1].payload), bytes(IP(expected.split(later)[4]).payload))


def error4(kind, code, quoted, source="192.0.2.9", destination=VIP4, **fields):
    return from_client(IP(src=source, dst=destination), ICMP(type=kind, code=code, **fields),
                       quoted)


class Icmp(FramesTest):
    def test_errors_follow_the_flow_that_they_are_about(self):
        pool = Fragments.POOL
        for known in (True, False):
            frames, ways = [], []
            for i in range(12):
                for client, address in ((CLIENT4, VIP4), (CLIENT6, VIP6)):
                    flow = tcp(client, address, sport=50000 + i, flags="S")
                    answer = bytes(ip(address, client, ttl=60)
                                   / TCP(sport=80, dport=50000 + i, flags="SA"))
                    if ":" in address:
                        errors = [from_client(IPv6(src="2001:db8::9", dst=VIP6), message / answer)
                                  for message in (ICMPv6PacketTooBig(mtu=1300),
                                                  ICMPv6DestUnreach(), ICMPv6TimeExceeded(),
                                                  ICMPv6ParamProblem())]
                    else:
                        errors = [error4(3, 4, answer[:28], nexthopmtu=1300),
                                  error4(3, 1, answer), error4(11, 0, answer),
                                  error4(12, 0, answer), error4(4, 0, answer), error4(5, 1, answer)]
                    one = [flow, *errors] if known else [*errors, flow]
                    frames += one
                    ways += [(address, i)] * len(one)
            left, report = self.forwarded(pool, frames)
            backends = {}
            for way, frame, got in zip(ways, frames, left):
                backends.setdefault(way, outer_destination(got))
                self.assertEqual(got.hex(), encapsulated(frame, "ip", backends[way]).hex(), way)
            self.assertGreater(len(set(backends.values())), 4)
            self.assertEqual(report["events"]["icmp_error"], len(frames) - 24)

    def test_errors_about_nobody(self):
        answer = bytes(IP(src=VIP4, dst=CLIENT4) / TCP(sport=80, dport=1))
        nobody = bytes(IP(src=VIP4, dst=CLIENT4) / TCP(sport=81, dport=1))
        stranger = bytes(IP(src="10.200.1.9", dst=CLIENT4) / TCP(sport=80, dport=1))
        self.check(one_vip(4), [
            (error4(3, 1, nobody), "icmp_other"), (error4(3, 1, stranger), "icmp_other"),
            (error4(3, 1, answer[:20]), "icmp_other"), (error4(3, 1, answer[:23]), "icmp_other"),
            (error4(3, 1, b""), "icmp_other"), (error4(13, 0, answer), "icmp_other"),
            (error4(0, 0, b"reply"), "icmp_other"),
            (error4(3, 1, answer, destination="10.200.1.9"), PASS)], icmp_error=0)

    def test_a_vip_answers_ping(self):
        cases = []
        for data in (b"", b"odd", bytes(1400)):
            for tags in ([], [(0x8100, 12)]):
                ask = from_client(IP(src=CLIENT4, dst=VIP4, ttl=3, id=9), ICMP(id=1, seq=2), data,
                                  tags=tags)
                reply = from_client(IP(src=VIP4, dst=CLIENT4, ttl=64, id=9),
                                    ICMP(type=0, id=1, seq=2), data, tags=tags)
                cases.append((ask, mac(CLIENT_MAC) + mac(BALANCER_MAC) + reply[12:]))
                ask = from_client(IPv6(src=CLIENT6, dst=VIP6, hlim=3),
                                  ICMPv6EchoRequest(id=1, seq=2, data=data), tags=tags)
                reply = from_client(IPv6(src=VIP6, dst=CLIENT6, hlim=64),
                                    ICMPv6EchoReply(id=1, seq=2, data=data), tags=tags)
                cases.append((ask, mac(CLIENT_MAC) + mac(BALANCER_MAC) + reply[12:]))
        stranger = from_client(IP(src=CLIENT4, dst="10.200.1.9"), ICMP())
        config = setup(vip(VIP4, [BACKEND4]), vip(VIP6, [BACKEND6]))
        self.check(config, [*cases, (stranger, PASS)], echo=len(cases))

    def test_what_is_too_long_is_answered(self):
        # Bytes of IP that still fit into 1500 with what is put in front.
        room = {("ip", 4): 1480, ("ip", 6): 1460, ("gre", 4): 1476, ("gre", 6): 1456,
                ("gue", 4): 1472, ("gue", 6): 1452}
        cases = []
        for i, (kind, inner, outer) in enumerate(WAYS):
            _, addresses, target = way_addresses(i)
            headers = 28 if inner == 4 else 48
            mtu = room[kind, outer]
            for tags in ([], [(0x8100, 12)]):
                fits = udp(*addresses, data=bytes(mtu - headers), tags=tags)
                cases.append((fits, encapsulated(fits, kind, target)))
                longer = udp(*addresses, data=bytes(mtu + 1 - headers), tags=tags)
                cases.append((longer, too_big(longer, mtu)))
        self.check(setup(*all_ways()), cases, too_big=len(cases) // 2)

    def test_too_long_for_another_path(self):
        longest = tcp(CLIENT4, VIP4, data=bytes(9000 - 60))
        longer = tcp(CLIENT4, VIP4, data=bytes(9000 - 59))
        self.check(one_vip(4, mtu=9000), [(longest, encapsulated(longest, "ip", BACKEND4)),
                                          (longer, too_big(longer, 8980))])
        nat = setup(vip(VIP4, [BACKEND4], encapsulation="nat"), mtu=600)
        fits, above = (tcp(CLIENT4, VIP4, data=bytes(size)) for size in (560, 561))
        self.check(nat, [(fits, rewritten(fits, destination=BACKEND4)),
                         (above, too_big(above, 600))])

    def test_no_error_about_errors_and_fragments_and_groups(self):
        answer = bytes(IP(src=VIP4, dst=CLIENT4) / TCP(sport=80, dport=1) / bytes(1500))
        first = from_client(IP(src=CLIENT4, dst=VIP4, id=3, flags="MF", proto=17),
                            UDP(sport=1, dport=80, len=4000, chksum=1) / bytes(1472))
        later = from_client(IP(src=CLIENT4, dst=VIP4, id=3, frag=185, proto=17), bytes(1480))
        self.check(one_vip(4, protocol="udp"), [
            (first, too_big(first, 1480)), (later, "too_long"),
            (udp("224.0.0.5", VIP4, data=bytes(1460)), "too_long"),
            (udp("127.0.0.1", VIP4, data=bytes(1460)), "too_long")], too_big=1)
        self.check(one_vip(4), [(error4(3, 1, answer[:1460]), "too_long")], too_big=0)


class Oddities(FramesTest):
    CONFIG = setup(vip(VIP4, [BACKEND4]), vip(VIP6, [BACKEND6]),
                   vip(VIP4, [BACKEND4], protocol="udp"))

    def test_what_is_not_for_a_vip_passes(self):
        self.check(self.CONFIG, [
            (tcp(CLIENT4, "10.200.1.9"), PASS), (tcp(CLIENT6, "fc00:1::9"), PASS),
            (from_client(ARP(pdst=VIP4)), PASS),
            (bytes(Ether(type=0x88CC, src=CLIENT_MAC, dst="01:80:c2:00:00:0e")) + bytes(46), PASS),
            # IEEE 802.3 with a length: spanning tree.
            (bytes(Ether(type=38, src=CLIENT_MAC, dst="01:80:c2:00:00:00")) + b"\x42\x42\x03"
             + bytes(43), PASS),
            (from_client(IP(src=CLIENT4, dst="10.200.1.9", proto=89), bytes(44)), PASS),
            (from_client(IP(src=CLIENT4, dst="10.200.1.9"), ICMP()), PASS),
            # Three tags: what is behind the second is not read.
            (tcp(CLIENT4, VIP4, tags=[(0x8100, 1), (0x8100, 2), (0x8100, 3)]), PASS)])

    def test_no_service_of_a_vip(self):
        self.check(self.CONFIG, [
            (tcp(CLIENT4, VIP4, dport=81), "unknown_protocol"),
            (udp(CLIENT6, VIP6), "unknown_protocol"),
            (from_client(IP(src=CLIENT4, dst=VIP4, proto=89), bytes(44)), "unknown_protocol"),
            (from_client(IP(src=CLIENT4, dst=VIP4) / GRE() / IP()), "unknown_protocol"),
            (from_client(IPv6(src=CLIENT6, dst=VIP6, nh=132), bytes(44)), "unknown_protocol")])

    def test_runts(self):
        whole = tcp(CLIENT4, VIP4)
        self.check(self.CONFIG, [(whole[:size], "malformed")
                                 for size in (*range(14), *range(14, len(whole), 3))])
        whole = tcp(CLIENT6, VIP6, tags=[(0x8100, 3)])
        self.check(self.CONFIG, [(whole[:size], "malformed") for size in range(12, len(whole), 3)])

    def test_lengths_that_lie(self):
        def with_word(frame, at, word):
            return frame[:at] + struct.pack("!H", word) + frame[at + 2:]
        v4, v6, dgram = tcp(CLIENT4, VIP4), tcp(CLIENT6, VIP6), udp(CLIENT4, VIP4, data=b"abcd")
        self.check(self.CONFIG, [
            (with_word(v4, 16, 41), "malformed"), (with_word(v4, 16, 19), "malformed"),
            (with_word(v4, 16, 0), "malformed"), (with_word(v4, 16, 65535), "malformed"),
            (with_word(v4, 16, 39), "malformed"), (with_word(v6, 18, 21), "malformed"),
            (with_word(v6, 18, 19), "malformed"), (with_word(v6, 18, 65535), "malformed"),
            (with_word(dgram, 38, 7), "malformed"), (with_word(dgram, 38, 13), "malformed"),
            # Version and IHL; TCP's data offset.
            (v4[:14] + b"\x44" + v4[15:], "malformed"), (v4[:14] + b"\x4f" + v4[15:], "malformed"),
            (v4[:14] + b"\x65" + v4[15:], "malformed"), (v4[:46] + b"\x40" + v4[47:], "malformed"),
            (v4[:46] + b"\x60" + v4[47:], "malformed")])
        # A UDP length below that of IP is allowed, and so is padding behind it.
        shorter = with_word(dgram, 38, 10)
        self.check(self.CONFIG, [(shorter, encapsulated(shorter, "ip", BACKEND4))])

    def test_options_and_extension_headers_travel_along(self):
        options = from_client(IP(src=CLIENT4, dst=VIP4, options=[IPOption_Router_Alert()]),
                              TCP(sport=1, dport=80))
        headers = from_client(IPv6(src=CLIENT6, dst=VIP6),
                              IPv6ExtHdrHopByHop(options=[PadN(optdata=bytes(4))])
                              / IPv6ExtHdrDestOpt(options=[PadN(optdata=bytes(12))]),
                              TCP(sport=1, dport=80))
        self.check(self.CONFIG, [(options, encapsulated(options, "ip", BACKEND4)),
                                 (headers, encapsulated(headers, "ip", BACKEND6))],
                   bad_ip_checksum=0)

    def test_wrong_checksums_stay_wrong_and_are_counted(self):
        good = IP(src=CLIENT4, dst=VIP4)
        wrong = [IP(src=CLIENT4, dst=VIP4, chksum=checksum) for checksum in (0, 1, 0xBAD, 0xFFFF)]
        options = IP(src=CLIENT4, dst=VIP4, options=[IPOption_Router_Alert()], chksum=0x1234)
        bad_tcp = from_client(good, TCP(sport=1, dport=80, chksum=0x1234))
        frames = [from_client(header, TCP(sport=1, dport=80)) for header in [*wrong, options]]
        self.check(self.CONFIG, [(frame, encapsulated(frame, "ip", BACKEND4))
                                 for frame in [*frames, bad_tcp]], bad_ip_checksum=len(frames))

    def test_the_last_hop_ends_here(self):
        self.check(self.CONFIG, [(tcp(CLIENT4, VIP4, ttl=1), "ttl_expired"),
                                 (tcp(CLIENT4, VIP4, ttl=0), "ttl_expired"),
                                 (tcp(CLIENT6, VIP6, ttl=1), "ttl_expired"),
                                 (tcp(CLIENT6, VIP6, ttl=0), "ttl_expired")])

    def test_an_empty_pool_drops(self):
        nobody = setup(vip(VIP4, []), vip(VIP6, [backend(BACKEND6, state="down")]),
                       vip("10.200.1.2", [backend(BACKEND4, weight=0)]),
                       vip("10.200.1.3", [backend(BACKEND4, state="draining")]))
        self.check(nobody, [(tcp(CLIENT4, VIP4), "no_backend"), (tcp(CLIENT6, VIP6), "no_backend"),
                            (tcp(CLIENT4, "10.200.1.2"), "no_backend"),
                            (tcp(CLIENT4, "10.200.1.3"), "no_backend")])

    def test_port_0_is_any_port_that_has_no_service_of_its_own(self):
        config = setup(vip(VIP4, ["10.0.0.1"], port=0), vip(VIP4, ["10.0.0.2"], port=443))
        cases = []
        for port in (1, 80, 443, 65535):
            frame = tcp(CLIENT4, VIP4, dport=port)
            cases.append((frame, encapsulated(frame, "ip",
                                              "10.0.0.2" if port == 443 else "10.0.0.1")))
        self.check(config, [*cases, (udp(CLIENT4, VIP4), "unknown_protocol")])

    def test_a_backend_may_have_a_next_hop_of_its_own(self):
        own = "02:00:00:00:00:a9"
        frame = tcp(CLIENT4, VIP4)
        self.check(setup(vip(VIP4, [backend(BACKEND4, mac=own)])),
                   [(frame, encapsulated(frame, "ip", BACKEND4, next_hop=own))])


class Quic(FramesTest):
    """Reference: the first two bits of a connection id are its version."""

    IDS = {"10.0.0.1": 0x1234, "10.0.0.2": 0x123456, "10.0.0.3": 0x12345678}

    def config(self, **more):
        return setup(vip(VIP4, [backend(address, quic_id=number)
                                for address, number in self.IDS.items()],
                         port=443, protocol="udp", quic=True), **more)

    @staticmethod
    def short(connection_id):
        return b"\x40" + connection_id + bytes(20)

    @staticmethod
    def long(kind, connection_id, version=1):
        return struct.pack("!BIB", 0xC0 | kind << 4, version, len(connection_id)) + connection_id \
            + bytes(20)

    def test_connection_ids_choose_the_backend(self):
        ids = {"10.0.0.1": bytes.fromhex("448d000000000000"),   # Version 1: 16 bits.
               "10.0.0.2": bytes.fromhex("8012345600000000"),   # Version 2: 24 bits.
               "10.0.0.3": bytes.fromhex("c012345678000000")}   # Version 3: 32 bits.
        for profile in ("sluice", "katran"):
            cases = []
            for sport in range(1000, 1010):
                for address, connection_id in ids.items():
                    for data in (self.short(connection_id), self.long(2, connection_id),
                                 self.long(3, connection_id, 0x6B3343CF)):
                        frame = udp(CLIENT4, VIP4, sport=sport, dport=443, data=data)
                        cases.append((frame, encapsulated(frame, "ip", address,
                                                          ttl=profile != "katran")))
            with self.subTest(profile):
                self.check(self.config(profile=profile, decrement_ttl=profile != "katran"), cases,
                           quic_server=len(cases))

    def test_what_names_no_server_goes_by_the_ring(self):
        known = bytes.fromhex("448d000000000000")
        frames, unknown = [], 0
        for sport in range(1000, 1020):
            for data in (self.long(0, known), self.long(1, known), b"", b"\x40abc",
                         self.long(2, known[:7])):
                frames.append(udp(CLIENT4, VIP4, sport=sport, dport=443, data=data))
            for connection_id in ("0012345678000000", "8000000100000000"):
                unknown += 1
                frames.append(udp(CLIENT4, VIP4, sport=sport, dport=443,
                                  data=self.short(bytes.fromhex(connection_id))))
        left, report = self.forwarded(self.config(), frames)
        by_flow = collections.defaultdict(set)
        for frame, got in zip(frames, left):
            by_flow[Ether(frame)[UDP].sport].add(outer_destination(got))
        self.assertEqual({len(backends) for backends in by_flow.values()}, {1})
        self.assertEqual(len(set.union(*by_flow.values())), 3)
        self.assertEqual(report["events"]["quic_server"], 0)
        self.assertEqual(report["events"]["quic_unknown"], unknown)

    def test_katran_drops_what_belongs_to_a_backend_that_is_gone(self):
        config = self.config(profile="katran")
        config["vips"][0]["backends"][0]["state"] = "down"
        gone = udp(CLIENT4, VIP4, dport=443, data=self.short(bytes.fromhex("448d000000000000")))
        self.check(config, [(gone, "quic_no_server")])


class Katran(FramesTest):
    def config(self, *vips, **more):
        return setup(*vips, profile="katran", decrement_ttl=False, **more)

    def test_the_rings_and_slots_here_are_those_of_the_reference(self):
        crcs = {"10.0.0.": 0x96F6391F, "fc00::": 0xC0D8E182}
        for prefix, crc in crcs.items():
            ring = katran.ring([f"{prefix}{i}" for i in (1, 2, 3)])
            self.assertEqual(zlib.crc32(",".join(ring).encode()), crc)
        for source, sport, dport, slot in (
                ("192.168.1.1", 31337, 80, 48717), ("192.168.1.1", 31337, 0, 39962),
                ("1.2.3.4", 1, 2, 23804), ("10.0.0.1", 65535, 443, 24758),
                ("fc00:2::1", 31337, 80, 37505), ("fc00:2::42", 31337, 443, 42990),
                ("0.0.0.0", 42, 42, 46348)):
            self.assertEqual(katran.slot(source, sport, dport), slot)

    def test_golden_outer_headers(self):
        frame = tcp("192.168.1.1", VIP4, sport=31337, dport=80)
        outer = bytes(IP(src="172.16.104.123", dst=BACKEND4, ttl=64, id=0, proto=4)
                      / IP(src="192.168.1.1", dst=VIP4) / TCP(sport=31337, dport=80))
        self.check(self.config(vip(VIP4, [BACKEND4])),
                   [(frame, mac(NEXT_HOP_MAC) + mac(BALANCER_MAC) + b"\x08\x00" + outer)])
        outer = bytes(IPv6(src="100::bac1:101", dst=BACKEND6, hlim=64, nh=4)
                      / IP(src="192.168.1.1", dst=VIP4) / TCP(sport=31337, dport=80))
        self.check(self.config(vip(VIP4, [BACKEND6])),
                   [(frame, mac(NEXT_HOP_MAC) + mac(BALANCER_MAC) + b"\x86\xdd" + outer)])
        # As Katran's own tests have it: GUE on port 9886, from fixed addresses.
        gue = self.config(vip(VIP4, [BACKEND4], encapsulation="gue"),
                          source_ipv4="10.0.13.37", gue_port=9886)
        outer = bytes(IP(src="10.0.13.37", dst=BACKEND4, ttl=64, id=0)
                      / UDP(sport=26747, dport=9886)
                      / IP(src="192.168.1.1", dst=VIP4) / TCP(sport=31337, dport=80))
        self.check(gue, [(frame, mac(NEXT_HOP_MAC) + mac(BALANCER_MAC) + b"\x08\x00" + outer)])

    def test_flows_take_the_slots_of_the_reference(self):
        pools = {4: ["10.0.0.3", "10.0.0.1", "10.0.0.2"], 6: ["fc00::2", "fc00::1", "fc00::3"]}
        rings = {family: katran.ring(pool) for family, pool in pools.items()}
        cases = []
        def case(family, source, sport, dport, address, slot):
            frame = tcp(source, address, sport=sport, dport=dport)
            cases.append((frame, encapsulated(frame, "ip", rings[family][slot], ttl=False)))
        goldens = [(4, "192.168.1.1", 31337, 80, 48717), (4, "1.2.3.4", 1, 2, 23804),
                   (4, "10.0.0.1", 65535, 443, 24758), (6, "fc00:2::1", 31337, 80, 37505),
                   (6, "fc00:2::42", 31337, 443, 42990)]
        for family, source, sport, dport, slot in goldens:
            case(family, source, sport, dport, VIP4 if family == 4 else VIP6, slot)
        case(4, "192.168.1.1", 31337, 80, "10.200.1.2", 39962)   # A VIP of any port.
        case(4, "192.168.1.1", 31337, 42, "10.200.1.3", 46348)   # By destination port alone.
        for i in range(200):
            source, sport = f"172.20.{i}.{255 - i}", 1024 + 37 * i
            case(4, source, sport, 443, VIP4, katran.slot(source, sport, 443))
            source = f"2001:db8:{i:x}::{i * i:x}:1"
            case(6, source, sport, 80, VIP6, katran.slot(source, sport, 80))
        vips = [vip(address, pool, port=port) for address, pool in ((VIP4, pools[4]),
                                                                    (VIP6, pools[6]))
                for port in (2, 80, 443)]
        self.check(self.config(*vips, vip("10.200.1.2", pools[4], port=0),
                               vip("10.200.1.3", pools[4], port=42, destination_port_only=True)),
                   cases)

    def test_drops_options_and_fragments(self):
        options = from_client(IP(src=CLIENT4, dst=VIP4, options=[IPOption_Router_Alert()]),
                              TCP(sport=1, dport=80))
        first, later = fragment(IP(src=CLIENT4, dst=VIP4) / UDP(dport=80) / bytes(1200), 800)
        header6 = from_client(IPv6(src=CLIENT6, dst=VIP6), IPv6ExtHdrFragment(m=1),
                              UDP(dport=80, len=1000, chksum=1), bytes(64))
        self.check(self.config(vip(VIP4, [BACKEND4], protocol="udp"), vip(VIP4, [BACKEND4]),
                               vip(VIP6, [BACKEND6], protocol="udp")),
                   [(options, "ip_options"), (from_client(first), "fragment"),
                    (from_client(later), "fragment"), (header6, "fragment")])


def without_outer_udp_checksum(frame):
    """It covers what is inside, and is as wrong as that."""
    _, _, tags, kind, payload = expected.split(frame)
    ipv4 = kind == 0x0800
    if payload[9 if ipv4 else 6] != 17:
        return frame
    at = 14 + len(tags) + (20 if ipv4 else 40) + 6
    return frame[:at] + b"\0\0" + frame[at + 2:]


class Bent(FramesTest):
    def bend(self, count):
        """Known frames with one to three bytes of their headers changed, or cut."""
        chance = random.Random(7)
        seeds = [frame for i in range(len(WAYS))
                 for frame in Encapsulation().packets(*way_addresses(i)[1])]
        answer = bytes(IP(src="10.200.1.1", dst=CLIENT4) / TCP(sport=80, dport=1))
        seeds += [error4(3, 4, answer, destination="10.200.1.1")] * 5
        for _ in range(count):
            frame = bytearray(chance.choice(seeds))
            for _ in range(chance.choice((1, 1, 2, 3))):
                frame[chance.randrange(min(len(frame), 80))] = chance.choice(
                    (0, 1, 0xFF, chance.randrange(256)))
            yield bytes(frame[:chance.randrange(len(frame))] if chance.random() < 0.1 else frame)

    def test_what_leaves_is_what_came_encapsulated(self):
        ways = {ipaddress.ip_address(address).packed: (kind, target)
                for kind, (_, address), target in map(way_addresses, range(len(WAYS)))}
        frames = list(self.bend(2500))
        left, _, report = self.run_frames(setup(*all_ways()), frames)
        self.assertGreater(len(left), 1000)
        self.assertGreater(report["drops"]["malformed"], 100)
        candidates = iter(frames)
        for got in left:
            for frame in candidates:
                _, _, _, kind, payload = expected.split(frame)
                way = ways.get({0x0800: payload[16:20], 0x86DD: payload[24:40]}.get(kind))
                # A TTL of 0 cannot be lowered, and what is no packet cannot be expected.
                try:
                    if way and without_outer_udp_checksum(encapsulated(frame, *way)) \
                            == without_outer_udp_checksum(got):
                        break
                except (ValueError, LookupError, struct.error):
                    continue
            else:
                self.fail(f"nobody sent this: {describe(got)}")


class Profiles(FramesTest):
    def test_all_of_them_encapsulate_alike(self):
        for profile in ("sluice", "paper", "katran", "cilium"):
            for ttl in (True, False):
                cases = []
                for i in range(len(WAYS)):
                    kind, addresses, target = way_addresses(i)
                    for frame in (tcp(*addresses, data=b"abc"), udp(*addresses)):
                        cases.append((frame, encapsulated(frame, kind, target, ttl=ttl)))
                with self.subTest(profile=profile, ttl=ttl):
                    self.check(setup(*all_ways(), profile=profile, decrement_ttl=ttl), cases)

    def test_the_same_frames_end_the_same_way_again(self):
        pool = [f"10.0.0.{i}" for i in range(1, 100)]
        config = setup(vip(VIP4, pool))
        frames = [tcp(CLIENT4, VIP4, sport=1000 + i) for i in range(200)]
        self.assertEqual(self.forwarded(config, frames)[0], self.forwarded(config, frames)[0])

    def test_a_flow_stays_and_flows_spread(self):
        pool = [f"10.0.0.{i}" for i in range(1, 6)]
        frames = [tcp(CLIENT4, VIP4, sport=1000 + i, flags=flags)
                  for flags in ("S", "A", "PA", "FA") for i in range(100)]
        for profile in ("sluice", "paper", "katran", "cilium"):
            for connections in (True, False):
                config = setup(vip(VIP4, pool, connections=connections), profile=profile)
                with self.subTest(profile=profile, connections=connections):
                    left, report = self.forwarded(config, frames)
                    chosen = [outer_destination(frame) for frame in left]
                    for start in (100, 200, 300):
                        self.assertEqual(chosen[start:start + 100], chosen[:100])
                    # 100 flows over 5 backends: 20 each, with a deviation of 4.
                    shares = collections.Counter(chosen[:100])
                    self.assertEqual(sorted(shares), pool)
                    self.assertGreater(min(shares.values()), 4)
                    self.assertEqual(report["events"]["new"], 100 if connections else 0)
                    self.assertEqual(report["events"]["hit"], 300 if connections else 0)
                    self.assertEqual(report["events"]["by_ring"], 0 if connections else 400)


# Two columns where IPv4 and IPv6 have names of their own, or TCP and UDP; outer first.
TSHARK_FIELDS = {
    "src": ("ip.src", "ipv6.src"), "dst": ("ip.dst", "ipv6.dst"), "ttl": ("ip.ttl", "ipv6.hlim"),
    "tos": ("ip.dsfield", "ipv6.tclass"), "vlan": ("vlan.id",), "gre": ("gre.proto",),
    "udp.dstport": ("udp.dstport",), "tcp.dstport": ("tcp.dstport",),
    "ip checksums": ("ip.checksum.status",),
    "upper checksums": ("udp.checksum.status", "tcp.checksum.status"),
    "malformed": ("_ws.malformed",)}


def tshark(frames):
    """What tshark finds in each frame, by TSHARK_FIELDS; GUE's variant 1 is IP behind UDP."""
    names = [name for columns in TSHARK_FIELDS.values() for name in columns]
    with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
        offline.write_capture(file.name, frames)
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


if __name__ == "__main__":
    unittest.main()
