# SPDX-License-Identifier: BSD-3-Clause
"""Writes captures for the generator: datagrams that end in the bytes that an application returns,
and frames at irregular times; reads the times of frames that a receiver captured."""
import random
import struct

NANOSECOND_PCAP = 0xA1B23C4D
ETHERNET = 1
HEADER_BYTES = 14 + 20 + 8  # Ethernet, IPv4, UDP.
FCS_BYTES = 4
TAG_BYTES = 16  # The generator's tag replaces the last bytes of a frame.
GENERATOR_MAC = "02:53:6c:67:65:6e"
DESTINATION = "198.18.0.1"  # The generator's default, from the RFC 2544 range.
FIRST_SOURCE = 0x0A000001
FIRST_PORT = 20000
KEY_BYTES = TAG_BYTES  # A request's key is the tag.
MEMCACHED_PORT = 11211
# pcapng (draft-ietf-opsawg-pcapng).
ENHANCED_PACKET, OPTION_FLAGS, INBOUND = 6, 2, 1


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def datagram(mac, source, port, payload):
    """Returns a frame to a MAC address and a port, from source number `source`. Its UDP checksum is
    wrong; the generator corrects it when it writes a tag into the payload."""
    addresses = struct.pack(">I4B", FIRST_SOURCE + source, *map(int, DESTINATION.split(".")))
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 28 + len(payload), 0, 0, 64, 17, 0) + addresses
    ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
    udp = struct.pack(">HHHH", FIRST_PORT + source, port, 8 + len(payload), 0xFFFF)
    macs = b"".join(bytes.fromhex(each.replace(":", "")) for each in (mac, GENERATOR_MAC))
    return macs + b"\x08\x00" + ip + udp + payload


def get_with_key():
    """Returns memcached's binary GETK with its UDP header. The response to a missing item contains
    the key; the tag makes the key different in each frame."""
    udp_frame = struct.pack(">HHHH", 0, 0, 1, 0)
    header = struct.pack(">BBHBBHIIQ", 0x80, 0x0C, KEY_BYTES, 0, 0, 0, KEY_BYTES, 0, 0)
    return udp_frame + header + bytes(KEY_BYTES)


def log_text(length, seed):
    """Returns log lines, one in fifty with ERROR, truncated to the size of the frame."""
    draw = random.Random(seed)
    text = ""
    while len(text) < length:
        level = "ERROR" if draw.random() < 0.02 else "INFO"
        text += (f"2026-01-02T03:04:05Z host{draw.randrange(100)} app[{draw.randrange(30000)}]: "
                 f"{level} request {draw.randrange(1 << 20)} took {draw.randrange(900)} ms\n")
    return text[:length].encode()


def write(path, frames):
    """Writes a pcap file of (ns, frame) pairs."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", NANOSECOND_PCAP, 2, 4, 0, 0, 65535, ETHERNET))
        for time_ns, frame in frames:
            file.write(struct.pack("<IIII", time_ns // 10**9, time_ns % 10**9, len(frame),
                                   len(frame)) + frame)


def received_ns(data):
    """Returns the times of the received packets of a pcapng file, in file order. The clock counts
    ns."""
    found, at = [], 0
    while at + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if length < 12 or at + length > len(data):
            break  # The file is truncated; count the complete blocks.
        if kind == ENHANCED_PACKET and flags_of(data[at:at + length]) & 3 == INBOUND:
            high, low = struct.unpack_from("<II", data, at + 12)
            found.append(high << 32 | low)
        at += length
    return found


def flags_of(block):
    """Returns the flags of an enhanced packet block; 0 if it has none."""
    captured = struct.unpack_from("<I", block, 20)[0]
    at = 28 + (captured + 3) // 4 * 4
    while at + 4 <= len(block) - 4:
        code, length = struct.unpack_from("<HH", block, at)
        if code == 0:
            break
        if code == OPTION_FLAGS and length == 4:
            return struct.unpack_from("<I", block, at + 4)[0]
        at += 4 + (length + 3) // 4 * 4
    return 0
