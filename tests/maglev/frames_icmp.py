# SPDX-License-Identifier: BSD-3-Clause
"""ICMP and ICMPv6: errors about flows, echo, and messages of the balancer itself."""

from frames import BALANCER_MAC, CLIENT_MAC, encapsulated, from_client, mac, rewritten, too_big
from frames_case import BACKEND4, BACKEND6, CLIENT4, CLIENT6, PASS, POOL, VIP4, VIP6, WAYS, \
    FramesTest, all_ways, error4, ip, one_vip, outer_destination, setup, tcp, udp, vip, \
    way_addresses
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6DestUnreach, ICMPv6EchoReply, ICMPv6EchoRequest, \
    ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6ND_RA, ICMPv6PacketTooBig, ICMPv6ParamProblem, \
    ICMPv6TimeExceeded, IPv6


class Icmp(FramesTest):
    def test_errors_follow_the_flow_that_they_are_about(self):
        pool = POOL
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
        cases = [(frame, PASS) for frame in (
            error4(3, 1, nobody), error4(3, 1, stranger), error4(3, 1, answer[:20]),
            error4(3, 1, answer[:23]), error4(3, 1, b""), error4(13, 0, answer),
            error4(3, 1, answer, destination="10.200.1.9"))]
        self.check(one_vip(4), cases, icmp_error=0)

    def test_what_the_host_must_hear_passes(self):
        reply = from_client(IP(src=CLIENT4, dst=VIP4), ICMP(type=0, id=1, seq=2), b"reply")
        cases = [reply, error4(13, 0, bytes(12)),
                 *(from_client(IPv6(src="fe80::1", dst=VIP6, hlim=255), message)
                   for message in (ICMPv6ND_NS(tgt=VIP6), ICMPv6ND_NA(tgt="fe80::1"), ICMPv6ND_RA(),
                                   ICMPv6EchoReply(id=1, seq=2, data=b"reply")))]
        for profile in ("sluice", "katran"):
            config = setup(vip(VIP4, [BACKEND4]), vip(VIP6, [BACKEND6]), profile=profile)
            self.check(config, [(frame, PASS) for frame in cases], echo=0)

    def test_an_echo_that_deserves_no_answer(self):
        from_group = from_client(IP(src="224.0.0.1", dst=VIP4), ICMP(id=1, seq=2))
        self.check(one_vip(4), [(from_group, "icmp_other")], echo=0)

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
        # The IP bytes that still fit in 1500 with the outer headers.
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
