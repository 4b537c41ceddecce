# SPDX-License-Identifier: BSD-3-Clause
"""Captures for the wires of the ports, with frames that stock programs process."""
import struct

UDP, ICMP = 17, 1


def checksum(data):
    """Returns the Internet checksum of `data` (RFC 1071)."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def ethernet(kind, payload):
    return bytes.fromhex("02536c000001") + bytes.fromhex("020000000002") + struct.pack(
        ">H", kind) + payload


def ipv4(source, destination, protocol, payload, identification=0, fragment=0):
    header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), identification, fragment, 64,
                         protocol, 0, source, destination)
    header = header[:10] + struct.pack(">H", checksum(header)) + header[12:]
    frame = ethernet(0x0800, header + payload)
    return frame + bytes(max(0, 60 - len(frame)))


def address(text):
    return bytes(int(part) for part in text.split("."))


def udp(source, destination, payload=b"\x5a" * 26, port=9):
    # A checksum of zero means that there is none.
    return ipv4(address(source), address(destination), UDP,
                struct.pack(">HHHH", port, port, 8 + len(payload), 0) + payload)


def fragments(identification):
    """Returns a datagram of 1408 bytes in two fragments; reassembled, it fits in a frame."""
    payload = struct.pack(">HHHH", 9, 9, 1408, 0) + b"\x5a" * 1400
    cut = 704
    ends = address("198.18.0.1"), address("100.20.0.1")
    return [ipv4(*ends, UDP, payload[:cut], identification, 0x2000),
            ipv4(*ends, UDP, payload[cut:], identification, cut // 8)]


def ping(sequence):
    message = struct.pack(">BBHHH", 8, 0, 0, 1, sequence) + b"\x5a" * 26
    message = message[:2] + struct.pack(">H", checksum(message)) + message[4:]
    return ipv4(address("10.0.0.1"), address("10.0.0.2"), ICMP, message)


def ptp_sync():
    """Returns a Sync of domain 0 with the two-step flag, and its Follow_Up (IEEE 1588-2008,
    13.6)."""
    def message(kind, sequence, control):
        clock = bytes.fromhex("0253 6cff fe00 0001 0001")
        header = struct.pack(">BBHBBHqI", kind, 2, 44, 0, 0, 0x0200, 0, 0) + clock + struct.pack(
            ">HBb", sequence, control, 0)
        body = header + struct.pack(">HII", 0, 1000, 0)
        addresses = bytes.fromhex("011b19000000020000000002")
        return addresses + struct.pack(">H", 0x88F7) + body + bytes(2)
    return [frame for i in range(100) for frame in (message(0, i, 0), message(8, i, 2))]


FRAMES = {
    "udp": lambda: [udp(f"10.0.{i}.1", "10.1.0.1", port=1000 + i) for i in range(64)],
    "routed": lambda: [udp("198.18.0.1", "198.18.1.1")],
    "filtered": lambda: [udp("10.0.0.1", "192.168.1.1")],
    # 1504 bytes of IP: more than an MTU of 1500, but within the 1518 of a frame in a capture.
    "long": lambda: [udp("198.18.0.1", "100.20.0.1", b"\x5a" * 1476)],
    "fragments": lambda: [frame for i in range(1, 1000) for frame in fragments(i)],
    "ping": lambda: [ping(i) for i in range(64)],
    "ptp": ptp_sync,
}
