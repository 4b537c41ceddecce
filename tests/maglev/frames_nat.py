# SPDX-License-Identifier: BSD-3-Clause
"""Encapsulation "nat": packets to backends, and their answers."""

import struct

from frames import from_client, rewritten
from frames_case import BACKEND4, BACKEND6, CLIENT4, CLIENT6, PASS, VIP4, VIP6, FramesTest, \
    backend, ip, setup, tcp, udp, vip
from scapy.layers.inet import TCP, UDP
from scapy.layers.l2 import Ether


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
