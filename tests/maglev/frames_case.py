# SPDX-License-Identifier: BSD-3-Clause
"""Runs frames through sluice-maglev and reports differences from the expected ones. Defines
configurations and clients' packets that several tests share."""

import collections
import ipaddress
import unittest

import offline
from frames import NEXT_HOP_MAC, from_client, split
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

CLIENT4, CLIENT6 = "192.168.1.1", "fc00:2::1"
VIP4, VIP6 = "10.200.1.1", "fc00:1::1"
BACKEND4, BACKEND6 = "10.0.0.1", "fc00::1"
PASS = "passed"  # An expected outcome, used like the sent bytes or the name of a drop.


def backend(address, **more):
    return {"name": "b" + address, "address": address, **more}


def vip(address, backends, port=80, protocol="tcp", encapsulation="ip", **more):
    return {"name": f"{address} {port} {protocol}", "address": address, "port": port,
            "protocol": protocol, "encapsulation": encapsulation,
            "backends": [b if isinstance(b, dict) else backend(b) for b in backends], **more}


def setup(*vips, **more):
    return {"next_hop": NEXT_HOP_MAC, "vips": list(vips), **more}


def ip(source, destination, **fields):
    """Returns an IP header of scapy in the family of its addresses."""
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


def error4(kind, code, quoted, source="192.0.2.9", destination=VIP4, **fields):
    """Returns an ICMP error about a packet that begins with `quoted`."""
    return from_client(IP(src=source, dst=destination), ICMP(type=kind, code=code, **fields),
                       quoted)


def every_packet(source, destination):
    """Yields TCP and UDP for a pair of addresses, in all variants that a backend must receive."""
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
    # Ethernet padding with an arbitrary value, which is not part of the packet.
    yield tcp(source, destination, flags="A") + b"\x5a" * 6
    yield udp(source, destination, data=b"z", tags=[(0x8100, 9)]) + b"\xff" * 40


def outer_destination(frame):
    payload = split(frame)[4]
    return str(ipaddress.ip_address(payload[16:20] if payload[0] >> 4 == 4 else payload[24:40]))


def describe(frame):
    return f"{frame.hex()}\n{Ether(frame).show(dump=True)}"


def one_vip(family, kind="ip", backend_family=None, protocol="tcp", **more):
    """Returns a configuration with one VIP and one backend."""
    address = VIP4 if family == 4 else VIP6
    backend_family = backend_family or family
    return setup(vip(address, [BACKEND4 if backend_family == 4 else BACKEND6], protocol=protocol,
                     encapsulation=kind), **more)


# A VIP of each family and protocol, with eight backends each.
POOL = setup(*(vip(address, [f"{prefix}{i}" for i in range(1, 9)], protocol=protocol)
               for address, prefix in ((VIP4, "10.0.0."), (VIP6, "fc00::"))
               for protocol in ("udp", "tcp")))


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


class FramesTest(unittest.TestCase):
    """Checks in every run that each frame has one outcome (rx = tx + consumed + drops), and that
    consumed frames reach the slow path unchanged."""

    maglev = None  # The program's path, set by frames_test.py.
    maxDiff = None

    def run_frames(self, config, frames):
        """Returns the sent frames, and the report, after checking its sums."""
        left, passed, report = offline.run(self.maglev, config, frames)
        self.assertEqual(report["rx_pkts"], len(frames))
        self.assertEqual(report["rx_pkts"], report["tx_pkts"] + report["consumed_pkts"]
                         + sum(report["drops"].values()))
        self.assertEqual(report["tx_pkts"], len(left))
        self.assertEqual(report["consumed_pkts"], len(passed))
        self.assertEqual(report["events"]["passed"], len(passed))
        return left, passed, report

    def forwarded(self, config, frames):
        """Returns the sent frames, one for each input; and the report."""
        left, _, report = self.run_frames(config, frames)
        self.assertEqual(len(left), len(frames))
        return left, report

    def check(self, config, cases, **events):
        """Checks the outcomes of frames. `cases` contains pairs of a frame and its outcome: the
        sent bytes, PASS, or the name of a drop. Returns the sent frames."""
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
