# SPDX-License-Identifier: BSD-3-Clause
"""Maps keys to servers with hashlib and bisect, from libmemcached's documentation (ketama,
weighted, all weights 1), and with libmemcached itself if its library is installed."""

import bisect
import ctypes
import hashlib
import struct

# The number in libmemcached-1.0/types/behavior.h.
MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED = 16


def ring(servers):
    """Returns (point, server), sorted: four points of each of 40 digests of a server's name. A name
    includes the port unless it is memcached's default."""
    points = []
    for server in servers:
        host, port = server.split(":")
        name = host if port == "11211" else server
        for i in range(40):
            digest = hashlib.md5(f"{name}-{i}".encode()).digest()
            points += [(point, server) for point in struct.unpack("<4I", digest)]
    return sorted(points)


def server_of(points, key):
    value = struct.unpack("<I", hashlib.md5(key).digest()[:4])[0]
    return points[bisect.bisect_left(points, (value, "")) % len(points)][1]


def place(servers, keys):
    """Returns the server of each key."""
    points = ring(servers)
    return {key: server_of(points, key) for key in keys}


def moved(before, after):
    """Returns the keys whose servers differ between two placements."""
    return {key for key, server in before.items() if after[key] != server}


def libmemcached_place(servers, keys):
    """Returns libmemcached's placement; None if it is not installed."""
    try:
        library = ctypes.CDLL("libmemcached.so.11")
    except OSError:
        return None
    library.memcached_create.restype = ctypes.c_void_p
    handle = ctypes.c_void_p(library.memcached_create(None))
    try:
        assert library.memcached_behavior_set(
            handle, MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED, ctypes.c_uint64(1)) == 0
        for server in servers:
            host, port = server.split(":")
            assert library.memcached_server_add(handle, host.encode(),
                                                ctypes.c_uint16(int(port))) == 0
        return {key: servers[library.memcached_generate_hash(handle, key,
                                                             ctypes.c_size_t(len(key)))]
                for key in keys}
    finally:
        library.memcached_free(handle)


def workload_key(item):
    """Returns the client's 8-byte key of an item: its number permuted, six bits per character."""
    digits = item * 0x9e3779b97f4a7c15 % 2 ** 48
    return bytes((digits >> 6 * i & 63) + ord(";") for i in range(8))
