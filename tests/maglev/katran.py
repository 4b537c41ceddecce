# SPDX-License-Identifier: BSD-3-Clause
"""Katran's flow hash and ring, as docs/maglev-peers.md describes them, for comparison in tests."""

import ipaddress
import struct

MASK = 0xFFFFFFFF
RING = 65537
MAX_VIPS = 512

# For each address: the endpoint hash, and the offset and skip for a ring of 65537, as computed by
# Katran.
ENDPOINTS = {
    "10.0.0.1": (15452190748042156372, 4577, 18292),
    "10.0.0.2": (3230249507672883833, 42248, 16076),
    "10.0.0.3": (7977179616151763037, 65365, 24158),
    "fc00::1": (7270861649299822404, 7827, 60497),
    "fc00::2": (9786963569722665307, 12132, 1761),
    "fc00::3": (805685465572700183, 61702, 64040),
}


def rotated(word, bits):
    return (word << bits | word >> (32 - bits)) & MASK


def mixed(a, b, c):
    """Computes lookup3's mix()."""
    for bits in (4, 6, 8, 16, 19, 4):
        a = (a - c) & MASK
        a ^= rotated(c, bits)
        c = (c + b) & MASK
        a, b, c = b, c, a
    return a, b, c


def final(a, b, c):
    """Computes lookup3's final()."""
    for bits in (14, 11, 25, 16, 4, 14, 24):
        c = ((c ^ b) - rotated(b, bits)) & MASK
        a, b, c = b, c, a
    return b


def jhash_2words(a, b, seed):
    start = (0xDEADBEEF + 8 + seed) & MASK
    return final((a + start) & MASK, (b + start) & MASK, start)


def jhash_16_bytes(data, seed):
    a = b = c = (0xDEADBEEF + 16 + seed) & MASK
    words = struct.unpack("<4I", data)
    a, b, c = mixed((a + words[0]) & MASK, (b + words[1]) & MASK, (c + words[2]) & MASK)
    return final((a + words[3]) & MASK, b, c)


def slot(source, sport, dport):
    address = ipaddress.ip_address(source)
    ports = struct.unpack("<I", struct.pack("!HH", sport, dport))[0]
    word = struct.unpack("<I", address.packed)[0] if address.version == 4 \
        else jhash_16_bytes(address.packed, MAX_VIPS)
    return jhash_2words(word, ports, MAX_VIPS * RING) % RING


def ring(addresses):
    """Returns the address of each slot; every address has weight 1."""
    seats = sorted((*ENDPOINTS[address], address) for address in addresses)
    at = [offset for _, offset, _, _ in seats]
    slots = [None] * RING
    free = RING
    while free:
        for i, (_, _, skip, address) in enumerate(seats):
            while slots[at[i]] is not None:
                at[i] = (at[i] + skip) % RING
            slots[at[i]] = address
            free -= 1
            if not free:
                break
    return slots
