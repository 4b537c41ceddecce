# SPDX-License-Identifier: BSD-3-Clause
"""Encapsulation "mac": the backend's MAC address and one hop; all else is unchanged."""

from frames import CLIENT_MAC, direct, from_client, too_big
from frames_case import BACKEND4, BACKEND6, CLIENT4, CLIENT6, VIP4, VIP6, FramesTest, backend, \
    error4, every_packet, ip, setup, tcp, udp, vip
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_Router_Alert
from scapy.layers.inet6 import ICMPv6TimeExceeded, IPv6, IPv6ExtHdrFragment

BACKEND_MACS = {VIP4: "02:00:00:00:00:d4", VIP6: "02:00:00:00:00:d6"}


def config(**more):
    """Includes an IPv6 VIP whose backend is checked over IPv4."""
    ways = ((VIP4, "tcp", BACKEND4), (VIP4, "udp", BACKEND4), (VIP6, "tcp", BACKEND6),
            (VIP6, "udp", BACKEND4))
    return setup(*(vip(address, [backend(target, mac=BACKEND_MACS[address])], protocol=protocol,
                       encapsulation="mac") for address, protocol, target in ways), **more)


FAMILIES = ((CLIENT4, VIP4), (CLIENT6, VIP6))


class Mac(FramesTest):
    def test_only_the_mac_addresses_and_the_ttl_change(self):
        for ttl in (True, False):
            cases = [(frame, direct(frame, BACKEND_MACS[address], ttl=ttl))
                     for client, address in FAMILIES for frame in every_packet(client, address)]
            with self.subTest(ttl):
                # In the second copy, all flows are known.
                self.check(config(decrement_ttl=ttl), cases * 2, too_big=0, bad_ip_checksum=0,
                           nat_return=0)

    def test_the_last_hop_ends_here(self):
        self.check(config(), [(packet(client, address, ttl=1), "ttl_expired")
                              for client, address in FAMILIES for packet in (tcp, udp)] * 2)

    def test_the_path_to_the_backends_is_all_for_the_packet(self):
        cases = []
        for client, address in FAMILIES:
            headers = 28 if address == VIP4 else 48
            fits = udp(client, address, data=bytes(1500 - headers))
            longer = udp(client, address, data=bytes(1501 - headers))
            cases += [(fits, direct(fits, BACKEND_MACS[address])), (longer, too_big(longer, 1500))]
        self.check(config(), cases * 2, too_big=4)

    def test_options_and_fragments_go_the_same_way(self):
        frames = [
            from_client(ip(CLIENT4, VIP4, options=[IPOption_Router_Alert()]),
                        TCP(sport=7, dport=80), b"options"),
            from_client(ip(CLIENT4, VIP4, flags="MF", id=9), UDP(sport=8, dport=80, len=88),
                        bytes(64)),
            from_client(IP(src=CLIENT4, dst=VIP4, proto=17, frag=9, id=9), bytes(16)),
            from_client(IPv6(src=CLIENT6, dst=VIP6), IPv6ExtHdrFragment(m=1, id=9),
                        UDP(sport=8, dport=80, len=88), bytes(64)),
            from_client(IPv6(src=CLIENT6, dst=VIP6), IPv6ExtHdrFragment(offset=9, id=9, nh=17),
                        bytes(16))]
        macs = [BACKEND_MACS[VIP4]] * 3 + [BACKEND_MACS[VIP6]] * 2
        self.check(config(), [(frame, direct(frame, to)) for frame, to in zip(frames, macs)],
                   fragment_first=2, fragment_later=2)

    def test_errors_follow_their_flow_and_echo_is_answered_here(self):
        about4 = bytes(IP(src=VIP4, dst=CLIENT4) / TCP(sport=80, dport=31337))
        about6 = bytes(IPv6(src=VIP6, dst=CLIENT6) / UDP(sport=80, dport=31337))
        frames = [(error4(3, 1, about4), VIP4),
                  (from_client(IPv6(src=CLIENT6, dst=VIP6), ICMPv6TimeExceeded(), about6), VIP6)]
        self.check(config(), [(frame, direct(frame, BACKEND_MACS[to])) for frame, to in frames],
                   icmp_error=2)
        ping = from_client(IP(src=CLIENT4, dst=VIP4), ICMP(), b"ping")
        left, _ = self.forwarded(config(), [ping])
        self.assertEqual(left[0][:6], bytes.fromhex(CLIENT_MAC.replace(":", "")))
