# SPDX-License-Identifier: BSD-3-Clause
"""The hash of frames that return to a model on a card (lib/device/grid/samples.h)."""

import struct

MASK = (1 << 64) - 1


def mix_bits(word):
    """Moremur (Evensen, https://mostlymangling.blogspot.com/2019/12)."""
    word = (word ^ word >> 27) * 0x3C79AC492BA7B653 & MASK
    word = (word ^ word >> 33) * 0x1C69B3F74AC4AE35 & MASK
    return word ^ word >> 27


def hash_frame(frame):
    padded = frame + bytes(-len(frame) % 64)
    low = high = 0
    for number in range(len(padded) // 64):
        flit = number
        for word in struct.unpack_from("<8Q", padded, 64 * number):
            flit = (mix_bits(flit ^ word) + word) & MASK
        low = (low + flit) & 0xffffffff
        high = (high + (flit >> 32)) & 0xffffffff
    return mix_bits((high << 32 | low) ^ len(frame) << 40)


def hash_capture(path):
    """Returns the sum of the hashes of a pcap file's frames: a header of 24 bytes, then records of
    time (8 bytes), lengths (u32 each) and bytes."""
    with open(path, "rb") as file:
        data = file.read()
    at, total = 24, 0
    while at < len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        total += hash_frame(data[at + 16:at + 16 + length])
        at += 16 + length
    return total & MASK
