# SPDX-License-Identifier: BSD-3-Clause
"""QUIC: connection ids that name a server."""

import collections
import struct

import katran
from frames import encapsulated
from frames_case import CLIENT4, VIP4, FramesTest, backend, outer_destination, setup, udp, vip
from scapy.layers.inet import UDP
from scapy.layers.l2 import Ether


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

    def test_a_flow_stays_where_an_id_took_it(self):
        """A later packet of the flow without a usable id goes to the same backend; a packet of
        another flow does not."""
        ids = {"10.0.0.1": "448d000000000000", "10.0.0.2": "8012345600000000"}
        cases = []
        def case(sport, data, address):
            frame = udp(CLIENT4, VIP4, sport=sport, dport=443, data=data)
            cases.append((frame, encapsulated(frame, "ip", address)))
        for sport in range(1000, 1016):
            for address, text in [*ids.items(), *list(ids.items())[:1]]:
                case(sport, self.short(bytes.fromhex(text)), address)
                for data in (b"", b"\x40abc", self.long(0, b"8 bytes."), self.long(1, b""),
                             self.short(bytes(8))):
                    case(sport, data, address)
        self.check(self.config(), cases, quic_server=16 * 3, hit=16 * 3 * 5)

    def test_in_katran_an_id_moves_a_known_flow_alone(self):
        """The entry that an id creates for an unknown flow is stale at once, so that the
        ring decides the next packet."""
        ring, cases = katran.ring(list(self.IDS)), []
        def case(sport, data, address):
            frame = udp(CLIENT4, VIP4, sport=sport, dport=443, data=data)
            cases.append((frame, encapsulated(frame, "ip", address, ttl=False)))
        for sport in range(1000, 1016):
            by_ring = ring[katran.slot(CLIENT4, sport, 443)]
            case(sport, self.short(bytes.fromhex("448d000000000000")), "10.0.0.1")
            case(sport, b"", by_ring)
            case(sport, b"\x40abc", by_ring)
            case(sport, self.short(bytes.fromhex("8012345600000000")), "10.0.0.2")
            case(sport, self.long(0, b"8 bytes."), "10.0.0.2")
        self.check(self.config(profile="katran", decrement_ttl=False), cases,
                   quic_server=16 * 2, new=16, hit=16 * 2)

    def test_a_backend_may_have_several_ids(self):
        config = setup(vip(VIP4, [backend("10.0.0.1", quic_id=1, quic_ids=[2, 70000]),
                                  backend("10.0.0.2", quic_ids=[0x12345678, 3])],
                           port=443, protocol="udp", quic=True))
        cases = []
        for text, address in (("4000400000000000", "10.0.0.1"), ("4000800000000000", "10.0.0.1"),
                              ("8001117000000000", "10.0.0.1"), ("c012345678000000", "10.0.0.2"),
                              ("4000c00000000000", "10.0.0.2")):
            frame = udp(CLIENT4, VIP4, dport=443, data=self.short(bytes.fromhex(text)))
            cases.append((frame, encapsulated(frame, "ip", address)))
        self.check(config, cases, quic_server=len(cases))

    def test_katran_drops_what_belongs_to_a_backend_that_is_gone(self):
        config = self.config(profile="katran")
        config["vips"][0]["backends"][0]["state"] = "down"
        gone = udp(CLIENT4, VIP4, dport=443, data=self.short(bytes.fromhex("448d000000000000")))
        self.check(config, [(gone, "quic_no_server")])
