# SPDX-License-Identifier: BSD-3-Clause
"""Fragments of IPv4 and IPv6."""

from frames import encapsulated, from_client, split
from frames_case import BACKEND4, BACKEND6, CLIENT4, CLIENT6, POOL, VIP4, VIP6, FramesTest, \
    backend, one_vip, outer_destination, setup, udp, vip
from scapy.layers.inet import IP, UDP, fragment
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, \
    PadN
from scapy.layers.ipsec import AH


class Fragments(FramesTest):
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
            left, report = self.forwarded(POOL, frames)
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
        # The same identification with another protocol or sender belongs to another datagram.
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
            tagged = from_client(IP(split(part)[4]), tags=tags)
            cases.append((tagged, encapsulated(tagged, "ip", BACKEND4)))
        self.check(one_vip(4, protocol="udp"), cases, fragment_later=len(cases) - 1)
        cases = []
        for part in self.fragments6(5, 11):
            inner = IPv6(split(part)[4])
            options = IPv6ExtHdrHopByHop(nh=44, options=[PadN(optdata=bytes(12))])
            longer = from_client(IPv6(src=CLIENT6, dst=VIP6, nh=0), options, inner.payload)
            cases.append((longer, encapsulated(longer, "gre", BACKEND6)))
        self.check(one_vip(6, "gre", protocol="udp"), cases, fragment_later=len(cases) - 1)

    def test_fragments_need_not_name_the_same_next_header(self):
        # RFC 8200 section 4.5: only the next header of the first fragment counts.
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
                               IPv6(split(part)[4]).payload)
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
        got = [IP(split(frame)[4]) for frame in left]
        for packet, sent in zip(got, (first, later)):
            original = IP(split(sent)[4])
            self.assertEqual((packet.src, packet.dst, packet.frag, packet.flags, packet.ttl),
                             (CLIENT4, BACKEND4, original.frag, original.flags, original.ttl - 1))
        # UDP header and data as if the whole datagram had been rewritten before fragmentation.
        self.assertEqual(bytes(got[0].payload), whole[20:20 + len(got[0].payload)])
        self.assertEqual(bytes(got[1].payload), bytes(IP(split(later)[4]).payload))
