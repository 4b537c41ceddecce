# SPDX-License-Identifier: BSD-3-Clause
"""Frames for no VIP, with wrong lengths, or from untidy networks; and known frames with random
changes."""

import ipaddress
import random
import struct

from frames import CLIENT_MAC, encapsulated, from_client, split
from frames_case import BACKEND4, BACKEND6, CLIENT4, CLIENT6, PASS, VIP4, VIP6, WAYS, FramesTest, \
    all_ways, backend, describe, error4, every_packet, setup, tcp, udp, vip, way_addresses
from scapy.layers.inet import GRE, ICMP, IP, TCP, IPOption_Router_Alert
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrHopByHop, PadN
from scapy.layers.l2 import ARP, Ether


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
            # The frame has three tags, but the balancer parses only two.
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
            # Wrong versions, header lengths (IHL) and TCP data offsets.
            (v4[:14] + b"\x44" + v4[15:], "malformed"), (v4[:14] + b"\x4f" + v4[15:], "malformed"),
            (v4[:14] + b"\x65" + v4[15:], "malformed"), (v4[:46] + b"\x40" + v4[47:], "malformed"),
            (v4[:46] + b"\x60" + v4[47:], "malformed")])
        # A UDP length below IP's is permitted, as is padding after the datagram.
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

    def test_a_vip_may_be_a_prefix_and_the_longest_counts(self):
        config = setup(
            vip("10.200.0.0/16", ["10.0.0.1"], port=0), vip("10.200.1.0/24", ["10.0.0.2"]),
            vip(VIP4, ["10.0.0.3"], port=443),
            vip("fc00:1::/32", ["fc00::1"]), vip("fc00:1::/126", ["fc00::2"]))
        cases = []
        for destination, port, target in (
                (VIP4, 443, "10.0.0.3"), (VIP4, 80, "10.0.0.2"), ("10.200.1.0", 80, "10.0.0.2"),
                ("10.200.1.255", 80, "10.0.0.2"), (VIP4, 81, "10.0.0.1"),
                ("10.200.2.0", 80, "10.0.0.1"), ("10.200.255.255", 9, "10.0.0.1"),
                (VIP6, 80, "fc00::2"), ("fc00:1::3", 80, "fc00::2"), ("fc00:1::4", 80, "fc00::1"),
                ("fc00:1:ffff::", 80, "fc00::1")):
            frame = tcp(CLIENT6 if ":" in destination else CLIENT4, destination, dport=port,
                        flags="A")
            # In the second copy, the flow is known.
            cases += [(frame, encapsulated(frame, "ip", target))] * 2
        for destination in ("10.199.255.255", "10.201.0.0"):
            cases.append((tcp(CLIENT4, destination), PASS))
        cases += [(tcp(CLIENT6, "fc00:2::"), PASS), (tcp(CLIENT6, VIP6, dport=81),
                                                     "unknown_protocol")]
        left = self.check(config, cases)
        self.assertEqual(len(left), 22)
        # All addresses of the prefix reply to pings.
        ask = from_client(IP(src=CLIENT4, dst="10.200.77.78"), ICMP(id=1, seq=2))
        self.assertEqual(len(self.run_frames(config, [ask])[0]), 1)

    def test_a_backend_may_have_a_next_hop_of_its_own(self):
        own = "02:00:00:00:00:a9"
        frame = tcp(CLIENT4, VIP4)
        self.check(setup(vip(VIP4, [backend(BACKEND4, mac=own)])),
                   [(frame, encapsulated(frame, "ip", BACKEND4, next_hop=own))])


def without_outer_udp_checksum(frame):
    """Returns the frame with its outer UDP checksum cleared, if it has one. That checksum covers
    the inner packet, so a wrong inner packet makes it wrong, too."""
    _, _, tags, kind, payload = split(frame)
    ipv4 = kind == 0x0800
    if payload[9 if ipv4 else 6] != 17:
        return frame
    at = 14 + len(tags) + (20 if ipv4 else 40) + 6
    return frame[:at] + b"\0\0" + frame[at + 2:]


class Bent(FramesTest):
    def bend(self, count):
        """Yields known frames with one to three bytes of their headers changed, or truncated."""
        chance = random.Random(7)
        seeds = [frame for i in range(len(WAYS))
                 for frame in every_packet(*way_addresses(i)[1])]
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
                _, _, _, kind, payload = split(frame)
                way = ways.get({0x0800: payload[16:20], 0x86DD: payload[24:40]}.get(kind))
                # Skip frames whose TTL of 0 cannot be decremented, and candidates that are not
                # packets.
                try:
                    if way and without_outer_udp_checksum(encapsulated(frame, *way)) \
                            == without_outer_udp_checksum(got):
                        break
                except (ValueError, LookupError, struct.error):
                    continue
            else:
                self.fail(f"nobody sent this: {describe(got)}")
