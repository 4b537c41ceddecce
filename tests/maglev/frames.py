# SPDX-License-Identifier: BSD-3-Clause
"""Computes the expected frames behind a load balancer from RFC 2003, 2473, 2784, 791, 1624, 1191
and 4443 and from Katran's outer sources. scapy computes checksums and headers of the outer
packet."""

import ipaddress
import logging
import struct

logging.getLogger("scapy").setLevel(logging.ERROR)
from scapy.layers.inet import GRE, ICMP, IP, TCP, UDP  # pylint: disable=wrong-import-position
from scapy.layers.inet6 import ICMPv6PacketTooBig, IPv6  # pylint: disable=wrong-import-position
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether  # pylint: disable=wrong-import-position

CLIENT_MAC = "02:00:00:00:00:c1"  # The router that forwards the clients' packets.
BALANCER_MAC = "02:00:00:00:00:b1"
NEXT_HOP_MAC = "02:00:00:00:00:a1"

TAGS = (0x8100, 0x88A8, 0x9100)
IPV6_EXTENSIONS = (0, 43, 44, 51, 60)  # The extension headers in these tests.
OUTER_BYTES = {"ip": 0, "gre": 4, "gue": 8}


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


def packed(address):
    return ipaddress.ip_address(address).packed


def from_client(*layers, tags=()):
    """Returns a client's frame as it reaches the balancer. scapy fills in lengths and checksums."""
    frame = Ether(src=CLIENT_MAC, dst=BALANCER_MAC)
    for kind, number in tags:
        frame /= {0x88A8: Dot1AD, 0x8100: Dot1Q}[kind](prio=number % 8, vlan=number)
    for layer in layers:
        frame /= layer
    return bytes(frame)


def split(frame):
    """Returns destination, source, tags, EtherType, and the rest."""
    at = 12
    while int.from_bytes(frame[at:at + 2], "big") in TAGS:
        at += 4
    return frame[:6], frame[6:12], frame[12:at], int.from_bytes(frame[at:at + 2], "big"), \
        frame[at + 2:]


def ethertype(ip):
    return {4: 0x0800, 6: 0x86DD}[ip[0] >> 4]


def cut(ip):
    """Returns an IP packet without the padding of its frame."""
    total = struct.unpack_from("!H", ip, 2)[0] if ip[0] >> 4 == 4 \
        else 40 + struct.unpack_from("!H", ip, 4)[0]
    return ip[:total]


def ports(ip):
    """Returns the ports (source, destination), which are 0 if the packet has none."""
    if ip[0] >> 4 == 4:
        protocol, at = ip[9], (ip[0] & 15) * 4
        later = struct.unpack_from("!H", ip, 6)[0] & 0x1FFF
    else:
        protocol, at, later = ip[6], 40, 0
        while protocol in IPV6_EXTENSIONS and not later:
            size = {44: 8, 51: (ip[at + 1] + 2) * 4}.get(protocol, (ip[at + 1] + 1) * 8)
            if protocol == 44:
                later = struct.unpack_from("!H", ip, at + 2)[0] & 0xFFF8
            protocol, at = ip[at], at + size
    return (0, 0) if later or protocol not in (6, 17) else struct.unpack_from("!HH", ip, at)


def lower_ttl(ip):
    """Returns the packet with its TTL lowered by one, as by a router. The checksum is updated by
    RFC 1624, so that a wrong one stays wrong by the same difference."""
    if ip[0] >> 4 == 6:
        return ip[:7] + bytes([ip[7] - 1]) + ip[8:]
    old = struct.unpack_from("!H", ip, 8)[0]
    checksum = struct.unpack_from("!H", ip, 10)[0]
    total = (checksum ^ 0xFFFF) + (old ^ 0xFFFF) + (old - 0x100)
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return ip[:8] + struct.pack("!HH", old - 0x100, total ^ 0xFFFF) + ip[12:]


def flow_source(ip):
    """Returns source address and port of the packet's flow. An ICMP error belongs to the flow of
    the quoted packet, which went in the other direction."""
    if ip[0] >> 4 == 4:
        if ip[9] != 1:
            return ip[12:16], ports(ip)[0]
        quote = ip[(ip[0] & 15) * 4 + 8:]
        return quote[16:20], ports(quote)[1]
    if ip[6] != 58:
        return ip[8:24], ports(ip)[0]
    return ip[72:88], ports(ip[48:])[1]


def entropy(address, port, outer):
    """Returns the values that Katran derives from a flow's source (docs/maglev-peers.md, "Katran:
    encapsulation"): the last half of an outer IPv4 address, the last word of an outer IPv6 one, and
    GUE's source port."""
    word, high, low = address[-4:], *divmod(port, 256)
    half = bytes([word[2] ^ low, word[3] ^ high])
    in_ipv6 = word[:2] if len(address) == 16 else word[2:]
    return half, bytes([word[0] ^ high, word[1] ^ low]) + word[2:], \
        int.from_bytes(half, "big") if outer == 4 else int.from_bytes(in_ipv6, "big") ^ port


def encapsulated(frame, kind, backend, source=None, next_hop=NEXT_HOP_MAC, gue_port=6080, ttl=True):
    """Returns `frame` encapsulated for `backend`. With `ttl`, the balancer counts as a router."""
    old_destination, _, tags, _, payload = split(frame)
    inner = cut(payload)
    address, port = flow_source(inner)
    half, word, gue_source = entropy(address, port, ipaddress.ip_address(backend).version)
    tos = inner[1] if inner[0] >> 4 == 4 else struct.unpack_from("!H", inner)[0] >> 4 & 0xFF
    if ttl:
        inner = lower_ttl(inner)
    backend = ipaddress.ip_address(backend)
    protocol = {"ip": {4: 4, 6: 41}[inner[0] >> 4], "gre": 47, "gue": 17}[kind]
    if backend.version == 4:
        source = source or str(ipaddress.ip_address(bytes([172, 16]) + half))
        outer = IP(src=source, dst=str(backend), ttl=64, id=0, flags=0, tos=tos, proto=protocol)
    else:
        source = source or str(ipaddress.ip_address(bytes([1]) + bytes(11) + word))
        outer = IPv6(src=source, dst=str(backend), hlim=64, tc=tos, fl=0, nh=protocol)
    if kind == "gre":
        outer /= GRE(proto=ethertype(inner))
    if kind == "gue":
        outer /= UDP(sport=gue_source, dport=gue_port)
    outer = bytes(outer / inner)
    return mac(next_hop) + old_destination + tags + struct.pack("!H", ethertype(outer)) + outer


def rewritten(frame, source=None, destination=None, sport=None, dport=None):
    """Returns `frame` with addresses or ports changed, after one hop. scapy recomputes every
    checksum (a UDP checksum of 0 means none and stays)."""
    old_destination, _, tags, kind, payload = split(frame)
    packet = {0x0800: IP, 0x86DD: IPv6}[kind](lower_ttl(cut(payload)))
    packet.src, packet.dst = source or packet.src, destination or packet.dst
    upper = packet.getlayer(TCP) or packet.getlayer(UDP)
    upper.sport, upper.dport = sport or upper.sport, dport or upper.dport
    if kind == 0x0800:
        del packet.chksum
    if isinstance(upper, TCP) or upper.chksum != 0:
        del upper.chksum
    return mac(NEXT_HOP_MAC) + old_destination + tags + struct.pack("!H", kind) + bytes(packet)


def direct(frame, backend_mac, ttl=True):
    """Returns `frame` for the backend with that MAC address, after one hop, including padding."""
    old_destination, _, tags, kind, payload = split(frame)
    packet = cut(payload)
    return mac(backend_mac) + old_destination + tags + struct.pack("!H", kind) \
        + (lower_ttl(packet) if ttl else packet) + payload[len(packet):]


def too_big(frame, mtu):
    """Returns the error that a router sends back."""
    destination, source, tags, kind, payload = split(frame)
    quoted = cut(payload)
    if kind == 0x0800:
        sender = IP(quoted[:20])
        error = IP(src=sender.dst, dst=sender.src, ttl=64, id=0, flags="DF", tos=0xC0) \
            / ICMP(type=3, code=4, nexthopmtu=mtu) / quoted[:576 - 28]
    else:
        sender = IPv6(quoted[:40])
        error = IPv6(src=sender.dst, dst=sender.src, hlim=64) \
            / ICMPv6PacketTooBig(mtu=mtu) / quoted[:1280 - 48]
    return source + destination + tags + struct.pack("!H", kind) + bytes(error)
