# SPDX-License-Identifier: BSD-3-Clause
"""Common properties of profiles, and Katran's byte by byte."""

import collections
import zlib

import katran
from frames import BALANCER_MAC, NEXT_HOP_MAC, encapsulated, from_client, mac, split, too_big
from frames_case import BACKEND4, BACKEND6, CLIENT4, CLIENT6, PASS, VIP4, VIP6, WAYS, FramesTest, \
    all_ways, error4, outer_destination, setup, tcp, udp, vip, way_addresses
from scapy.layers.inet import IP, TCP, UDP, IPOption_Router_Alert, fragment
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, \
    IPv6ExtHdrRouting


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
                    # 100 flows over 5 backends: 20 each, with a standard deviation of 4.
                    shares = collections.Counter(chosen[:100])
                    self.assertEqual(sorted(shares), pool)
                    self.assertGreater(min(shares.values()), 4)
                    self.assertEqual(report["events"]["new"], 100 if connections else 0)
                    self.assertEqual(report["events"]["hit"], 300 if connections else 0)
                    self.assertEqual(report["events"]["by_ring"], 0 if connections else 400)


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
        # Katran's tests use GUE on port 9886, from fixed addresses.
        gue = self.config(vip(VIP4, [BACKEND4], encapsulation="gue"),
                          source_ipv4="10.0.13.37", gue_port=9886)
        outer = bytes(IP(src="10.0.13.37", dst=BACKEND4, ttl=64, id=0)
                      / UDP(sport=26747, dport=9886)
                      / IP(src="192.168.1.1", dst=VIP4) / TCP(sport=31337, dport=80))
        self.check(gue, [(frame, mac(NEXT_HOP_MAC) + mac(BALANCER_MAC) + b"\x08\x00" + outer)])

    def test_golden_source_ports_of_gue_in_ipv6(self):
        # For an IPv4 packet: 31337 is 7a69; the address ends in 01 01; 7a69 ^ 0101 = 7b68.
        # For an IPv6 packet: the first half of the address' last word, 0000, and beef ^ 7a69 =
        # c486.
        for source, address, port in (("192.168.1.1", VIP4, 0x7B68), ("fc00:2::1", VIP6, 31337),
                                      ("fc00:2::beef:1", VIP6, 0xC486)):
            config = self.config(vip(address, [BACKEND6], encapsulation="gue"),
                                 source_ipv6="fc00:2307::1337", gue_port=9886)
            frame = tcp(source, address, sport=31337, dport=80)
            left, _ = self.forwarded(config, [frame])
            udp_header = split(left[0])[4][40:48]
            self.assertEqual(udp_header[:4].hex(), f"{port:04x}269e")
            self.check(config, [(frame, encapsulated(frame, "gue", BACKEND6, "fc00:2307::1337",
                                                     gue_port=9886, ttl=False))])

    def test_golden_outer_headers_of_errors(self):
        # The quoted packet went from the VIP to 192.168.1.1 port 31337, so the entropy is that of
        # its flow.
        answer = bytes(IP(src=VIP4, dst="192.168.1.1") / TCP(sport=80, dport=31337))
        error = error4(3, 4, answer, nexthopmtu=1300)
        inner = split(error)[4]
        for target, kind, outer in (
                (BACKEND4, 0x0800, IP(src="172.16.104.123", dst=BACKEND4, ttl=64, id=0, proto=4)),
                (BACKEND6, 0x86DD, IPv6(src="100::bac1:101", dst=BACKEND6, hlim=64, nh=4))):
            self.check(self.config(vip(VIP4, [target])), [
                (error, mac(NEXT_HOP_MAC) + mac(BALANCER_MAC) + kind.to_bytes(2, "big")
                 + bytes(outer / inner))], icmp_error=1)
        # 104.123 is 687b, or 26747.
        gue = self.config(vip(VIP4, [BACKEND4], encapsulation="gue"), source_ipv4="10.0.13.37")
        outer = bytes(IP(src="10.0.13.37", dst=BACKEND4, ttl=64, id=0)
                      / UDP(sport=26747, dport=6080) / inner)
        self.check(gue, [(error, mac(NEXT_HOP_MAC) + mac(BALANCER_MAC) + b"\x08\x00" + outer)])

    def test_errors_take_the_slot_of_their_flow(self):
        pool = ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
        ring, cases = katran.ring(pool), []
        for i in range(50):
            client, port = f"172.20.{i}.{255 - i}", 1024 + 37 * i
            answer = bytes(IP(src=VIP4, dst=client) / TCP(sport=80, dport=port))
            error = error4(3, 1, answer, source="192.0.2.9")
            cases.append((error, encapsulated(error, "ip", ring[katran.slot(client, port, 80)],
                                              ttl=False)))
        self.check(self.config(vip(VIP4, pool)), cases, icmp_error=50)

    def test_golden_outer_headers_without_a_source(self):
        # The ring's slot is that of source 0.0.0.0 with the destination port used for both ports.
        # The outer header contains the client's port (31337 is 7a69, and 1337 is 0539) but not its
        # address. These packets and results are from Katran's tests.
        ring = katran.ring(["10.0.0.1", "10.0.0.2", "10.0.0.3"])
        config = self.config(vip(VIP4, ["10.0.0.1", "10.0.0.2", "10.0.0.3"], port=42,
                                 destination_port_only=True))
        gue = self.config(vip(VIP4, [BACKEND4], port=42, destination_port_only=True,
                              encapsulation="gue"), source_ipv4="10.0.13.37", gue_port=9886)
        cases, gue_cases = [], []
        for source, sport, outer_source, gue_source in (
                ("192.168.1.1", 31337, "172.16.105.122", 0x697A),
                ("192.168.1.1", 31337, "172.16.105.122", 0x697A),
                ("192.168.100.1", 1337, "172.16.57.5", 0x3905)):
            frame = tcp(source, VIP4, sport=sport, dport=42, flags="A")
            inner = split(frame)[4]
            macs = mac(NEXT_HOP_MAC) + mac(BALANCER_MAC) + b"\x08\x00"
            cases.append((frame, macs + bytes(IP(src=outer_source, dst=ring[46348], ttl=64, id=0,
                                                 proto=4) / inner)))
            gue_cases.append((frame, macs + bytes(IP(src="10.0.13.37", dst=BACKEND4, ttl=64, id=0)
                                                  / UDP(sport=gue_source, dport=9886) / inner)))
        self.check(config, cases)
        self.check(gue, gue_cases)
        frame = tcp("fc00:2::1", VIP6, sport=31337, dport=42)
        outer = bytes(IPv6(src="100::7a69:0", dst=BACKEND6, hlim=64, nh=41) / split(frame)[4])
        self.check(self.config(vip(VIP6, [BACKEND6], port=42, destination_port_only=True)),
                   [(frame, mac(NEXT_HOP_MAC) + mac(BALANCER_MAC) + b"\x86\xdd" + outer)])

    def test_frames_of_1514_bytes_go_into_any_outer_header(self):
        for mtu in ({}, {"mtu": 1600}, {"mtu": 9000}):
            cases = []
            for i, (kind, inner, _) in enumerate(WAYS):
                _, addresses, target = way_addresses(i)
                headers = 28 if inner == 4 else 48
                fits = udp(*addresses, data=bytes(1500 - headers))
                self.assertEqual(len(fits), 1514)
                longer = udp(*addresses, data=bytes(1501 - headers))
                # In the second copy, the flow is known.
                cases += [(fits, encapsulated(fits, kind, target, ttl=False)),
                          (longer, too_big(longer, 1500))] * 2
            with self.subTest(mtu):
                self.check(self.config(*all_ways(), **mtu), cases, too_big=len(cases) // 2)
        # The balancer accepts a smaller path MTU.
        longer = udp(*way_addresses(0)[1], data=bytes(1453))
        self.check(self.config(*all_ways(), mtu=1500), [(longer, too_big(longer, 1480))])

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
        case(4, "192.168.1.1", 31337, 80, "10.200.1.2", 39962)   # This VIP serves any port.
        for i in range(200):
            source, sport = f"172.20.{i}.{255 - i}", 1024 + 37 * i
            case(4, source, sport, 443, VIP4, katran.slot(source, sport, 443))
            source = f"2001:db8:{i:x}::{i * i:x}:1"
            case(6, source, sport, 80, VIP6, katran.slot(source, sport, 80))
        vips = [vip(address, pool, port=port) for address, pool in ((VIP4, pools[4]),
                                                                    (VIP6, pools[6]))
                for port in (2, 80, 443)]
        self.check(self.config(*vips, vip("10.200.1.2", pools[4], port=0)), cases)

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

    def test_ipv6_extension_headers_are_the_hosts_and_atomic_fragments_nobodys(self):
        def behind(*headers):
            packet = IPv6(src=CLIENT6, dst=VIP6)
            for header in headers:
                packet /= header
            return from_client(packet / TCP(sport=1, dport=80))
        atomic = behind(IPv6ExtHdrFragment())
        passing = [behind(IPv6ExtHdrHopByHop()), behind(IPv6ExtHdrDestOpt()),
                   behind(IPv6ExtHdrRouting()), behind(IPv6ExtHdrHopByHop(), IPv6ExtHdrFragment()),
                   behind(IPv6ExtHdrDestOpt(), IPv6ExtHdrFragment(m=1)),
                   behind(IPv6ExtHdrDestOpt(), IPv6ExtHdrFragment(nh=60, offset=9))]
        self.check(self.config(vip(VIP6, [BACKEND6])),
                   [(atomic, "fragment"), *((frame, PASS) for frame in passing)])
        # Other profiles do not drop such packets.
        self.check(setup(vip(VIP6, [BACKEND6])),
                   [(frame, encapsulated(frame, "ip", BACKEND6))
                    for frame in (atomic, *passing[:2])])

    def test_padding_is_cut(self):
        frame = tcp(CLIENT4, VIP4)
        self.check(self.config(vip(VIP4, [BACKEND4])),
                   [(frame + b"\x55" * 6, encapsulated(frame, "ip", BACKEND4, ttl=False))])
