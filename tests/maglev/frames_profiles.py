# SPDX-License-Identifier: BSD-3-Clause
"""What profiles have in common, and Katran's to the byte."""

import collections
import zlib

import katran
from frames import BALANCER_MAC, NEXT_HOP_MAC, encapsulated, from_client, mac
from frames_case import BACKEND4, BACKEND6, CLIENT4, CLIENT6, VIP4, VIP6, WAYS, FramesTest, \
    all_ways, outer_destination, setup, tcp, udp, vip, way_addresses
from scapy.layers.inet import IP, TCP, UDP, IPOption_Router_Alert, fragment
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment


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
