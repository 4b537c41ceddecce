# SPDX-License-Identifier: BSD-3-Clause
"""Encapsulation "nat": packets to backends, their responses, fragments of these, and ICMP errors
about either."""

import struct

from frames import BALANCER_MAC, NEXT_HOP_MAC, from_client, lower_ttl, mac, rewritten, split
from frames_case import BACKEND4, BACKEND6, CLIENT4, CLIENT6, PASS, VIP4, VIP6, FramesTest, \
    backend, ip, setup, tcp, udp, vip
from scapy.layers.inet import ICMP, IP, TCP, UDP, fragment
from scapy.layers.inet6 import ICMPv6DestUnreach, ICMPv6PacketTooBig, ICMPv6ParamProblem, \
    ICMPv6TimeExceeded, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment
from scapy.layers.l2 import Ether

ROUTER4, ROUTER6 = "192.0.2.9", "2001:db8::9"


class Nat(FramesTest):
    """The destination is rewritten, responses are rewritten back, and checksums stay correct."""

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
        # If two payload bytes equal the checksum computed without them, the sum becomes 0xffff and
        # its complement 0, which is sent as 0xffff (RFC 768).
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
        # A wrong TCP checksum stays wrong by the same amount.
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

    @staticmethod
    def errors(source, destination, quote, ttl=64, tags=()):
        """Returns an ICMP error of every kind, about a packet that begins with `quote`."""
        if ":" in source:
            messages = (ICMPv6DestUnreach(code=4), ICMPv6PacketTooBig(mtu=1300),
                        ICMPv6TimeExceeded(), ICMPv6ParamProblem(code=1, ptr=6))
        else:
            messages = (ICMP(type=3, code=3), ICMP(type=3, code=4, nexthopmtu=1300),
                        ICMP(type=4), ICMP(type=11), ICMP(type=12, ptr=9))
        return [from_client(ip(source, destination, ttl=ttl), message, quote, tags=tags)
                for message in messages]

    def error_cases(self, senders, to, sent_as, after, quote, translated, tags=()):
        """Returns pairs of a received and the expected sent frame. The received frames are errors
        from each of `senders` to `to` that quote `quote`. The sent frames are errors from `sent_as`
        (default: the same sender) to `after` that quote `translated`."""
        cases = []
        for sender in senders:
            came = self.errors(sender, to, quote, tags=tags)
            left = self.errors(sent_as or sender, after, translated, ttl=63, tags=tags)
            cases += [(one, mac(NEXT_HOP_MAC) + mac(BALANCER_MAC) + other[12:])
                      for one, other in zip(came, left)]
        return cases

    def test_errors_are_translated_both_ways(self):
        # Scapy computes every checksum of the expected frames from whole packets.
        cases = []
        for client, address, target, router in ((CLIENT4, VIP4, BACKEND4, ROUTER4),
                                                (CLIENT6, VIP6, BACKEND6, ROUTER6)):
            header = 40 if ":" in address else 20
            for packet, port in ((tcp, 8080), (udp, 5353 if ":" not in address else 80)):
                for tags in ([], [(0x8100, 5)]):
                    there = packet(client, address, data=b"question", ttl=7)
                    at_backend = split(rewritten(there, destination=target, dport=port))[4]
                    as_sent = lower_ttl(split(there)[4])
                    back = packet(target, client, sport=port, dport=31337, data=b"answer", ttl=60)
                    at_client = split(rewritten(back, source=address, sport=80))[4]
                    as_answered = lower_ttl(split(back)[4])
                    # The quote ends after the ports or before or after the checksums, or is
                    # complete.
                    for size in (4, 6, 8, 16, 18, 20, 100):
                        end = header + size
                        cases += self.error_cases((target, router), client, address, client,
                                                  at_backend[:end], as_sent[:end], tags)
                        cases += self.error_cases((client, router), address, None, target,
                                                  at_client[:end], as_answered[:end], tags)
        self.check(self.CONFIG, cases, icmp_error=len(cases), nat_return=0)

    def test_errors_about_options_extension_headers_and_first_fragments(self):
        quotes = []
        for source, destination, ports in ((CLIENT4, BACKEND4, (31337, 5353)),
                                           (CLIENT4, VIP4, (31337, 80))):
            # Options of type "no operation", and a fragment with the datagram's checksum.
            quotes.append((bytes(IP(src=source, dst=destination, options=[b"\1"] * 8)
                                 / UDP(sport=ports[0], dport=ports[1]) / b"abc"),
                           bytes(fragment(IP(src=source, dst=destination, id=3, proto=17) / bytes(
                               (IP(src=source, dst=destination) / UDP(
                                   sport=ports[0], dport=ports[1]) / bytes(900))[UDP]), 400)[0])))
        cases = []
        for came, left in zip(*quotes):
            cases += self.error_cases((BACKEND4,), CLIENT4, VIP4, CLIENT4, came, left)
        quotes = [bytes(IPv6(src=CLIENT6, dst=destination) / IPv6ExtHdrDestOpt()
                        / TCP(sport=31337, dport=port) / b"abc")
                  for destination, port in ((BACKEND6, 8080), (VIP6, 80))]
        cases += self.error_cases((ROUTER6,), CLIENT6, VIP6, CLIENT6, *quotes)
        self.check(self.CONFIG, cases, icmp_error=len(cases))

    def test_errors_about_datagrams_without_checksum(self):
        quotes = [bytes(IP(src=CLIENT4, dst=destination) / UDP(sport=1, dport=port, chksum=0)
                        / b"abc") for destination, port in ((BACKEND4, 5353), (VIP4, 80))]
        self.check(self.CONFIG, self.error_cases((ROUTER4,), CLIENT4, VIP4, CLIENT4, *quotes))

    def test_errors_about_what_nat_did_not_send_pass(self):
        def quote(destination, port):
            return bytes(ip(CLIENT4, destination) / TCP(sport=1, dport=port))
        frames = [error for quoted in (quote(BACKEND4, 8081), quote("10.0.0.2", 8080),
                                       quote(BACKEND4, 8080)[:23], quote(BACKEND4, 8080)[:19], b"")
                  for error in self.errors(BACKEND4, CLIENT4, quoted)]
        # The sender of the quoted packet must be the receiver of the error.
        frames += self.errors(BACKEND4, "192.168.1.2", quote(BACKEND4, 8080))
        self.check(self.CONFIG, [(frame, PASS) for frame in frames], icmp_error=0)

    @staticmethod
    def answer4(identification, sport=5353, data=3000):
        datagram = IP(src=BACKEND4, dst=CLIENT4, id=identification) \
            / UDP(sport=sport, dport=31337) / bytes(i % 251 for i in range(data))
        return [from_client(part) for part in fragment(datagram, 1400)]

    @staticmethod
    def answer6(source, checksum, ttl=64):
        upper = bytes(UDP(sport=80, dport=31337, len=3008, chksum=checksum) / bytes(3000))
        return [from_client(IPv6(src=source, dst=CLIENT6, nh=44, hlim=ttl), IPv6ExtHdrFragment(
            nh=17, offset=at // 8, m=int(at + 1400 < len(upper)), id=9) / upper[at:at + 1400])
                for at in range(0, len(upper), 1400)]

    def test_fragments_of_answers_come_from_the_vip(self):
        cases = []
        whole = bytes(IP(src=VIP4, dst=CLIENT4, id=7, ttl=63) / UDP(sport=80, dport=31337)
                      / bytes(i % 251 for i in range(3000)))
        at = 20
        for part in self.answer4(7):
            sent = IP(split(part)[4])
            size = len(sent) - 20
            left = IP(src=VIP4, dst=CLIENT4, id=7, ttl=63, proto=17, flags=sent.flags,
                      frag=sent.frag) / whole[at:at + size]
            at += size
            cases.append((part, mac(NEXT_HOP_MAC) + mac(BALANCER_MAC) + b"\x08\x00" + bytes(left)))
        self.assertEqual((len(cases), at), (3, len(whole)))
        # In IPv6 the sums of fc00::1 and fc00:1::1 differ by 1.
        cases += [(came, mac(NEXT_HOP_MAC) + mac(BALANCER_MAC) + left[12:])
                  for came, left in zip(self.answer6(BACKEND6, 0x1234),
                                        self.answer6(VIP6, 0x1233, ttl=63))]
        self.check(self.CONFIG, cases, nat_return=6, fragment_first=2, fragment_later=4)

    def test_a_fragment_of_an_answer_without_its_first_is_dropped(self):
        first, second, third = self.answer4(7)
        left = self.run_frames(self.CONFIG, [second, first, third, self.answer4(8)[1]])
        self.assertEqual(len(left[0]), 2)
        self.assertEqual(left[2]["drops"]["fragment"], 2)

    def test_fragments_of_what_is_no_answer_pass(self):
        # These are packets of another service on the backend's host, of its pings, and of other
        # hosts.
        ping = [from_client(part) for part in fragment(
            IP(src=BACKEND4, dst=CLIENT4, id=9) / ICMP(id=1) / bytes(3000), 1400)]
        other = [from_client(part) for part in fragment(
            IP(src="10.0.0.2", dst=CLIENT4, id=7) / UDP(sport=5353) / bytes(3000), 1400)]
        frames = [*self.answer4(7, sport=53), *ping, *other]
        self.check(self.CONFIG, [(frame, PASS) for frame in frames])
        # If an identification is reused, it belongs to the newest datagram.
        first, later = self.answer4(7)[:2]
        left, passed, _ = self.run_frames(self.CONFIG, [*self.answer4(7, sport=53), first, later])
        self.assertEqual((len(left), len(passed)), (2, 3))

    def test_a_fragmented_error_comes_from_the_vip(self):
        quote = bytes(IP(src=CLIENT4, dst=BACKEND4) / TCP(sport=1, dport=8080) / bytes(500))
        parts = [from_client(part) for part in fragment(
            IP(src=ROUTER4, dst=CLIENT4, id=5) / ICMP(type=3, code=1) / quote, 200)]
        left, _, report = self.run_frames(self.CONFIG, parts[:1])
        self.assertEqual((IP(split(left[0])[4]).src, report["events"]["icmp_error"]), (VIP4, 1))

    def test_the_last_hop_ends_here(self):
        self.check(self.CONFIG, [(tcp(CLIENT4, VIP4, ttl=1), "ttl_expired"),
                                 (tcp(BACKEND4, CLIENT4, sport=8080, ttl=1), "ttl_expired"),
                                 (tcp(BACKEND6, CLIENT6, sport=8080, ttl=1), "ttl_expired")])
