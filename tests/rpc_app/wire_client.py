# SPDX-License-Identifier: BSD-3-Clause
"""wire_client.py PROTOCOL ADDRESS PORT MESSAGE…: sends each message, hexadecimal, over udp or tcp
and prints the reply to it, or `none`. Over UDP the first message has a special purpose: it is sent
after each of the others, and its reply shows that there are no further replies. `tcp!` first
behaves like an attacker: it opens connections that are silent, never finish a record, announce
wrong lengths, or never read."""
import contextlib
import socket
import struct
import sys

PATIENCE_S = 20
LAST = 1 << 31


class Peer:
    def __init__(self, protocol, address, port):
        self.kind = socket.SOCK_DGRAM if protocol == "udp" else socket.SOCK_STREAM
        self.family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.place = (address, int(port))

    def connect(self):
        made = socket.socket(self.family, self.kind)
        made.settimeout(PATIENCE_S)
        made.connect(self.place)
        return made

    def over_udp(self, message, last):
        with self.connect() as made:
            made.send(message)
            made.send(last)
            reply = made.recv(65536)
            return b"" if reply[:4] == last[:4] else reply

    def over_tcp(self, message):
        """Sends one byte first, then the rest of a fragment, and another fragment: one record.
        Returns the reply; it is empty if the connection ended."""
        half = len(message) // 8 * 4
        data = struct.pack(">I", half) + message[:half] \
            + struct.pack(">I", LAST | len(message) - half) + message[half:]
        with self.connect() as made, contextlib.suppress(ConnectionError):
            made.sendall(data[:1])
            made.sendall(data[1:])
            mark = self.receive(made, 4)
            return self.receive(made, struct.unpack(">I", mark)[0] & ~LAST) if mark else b""
        return b""

    @staticmethod
    def receive(made, size):
        data = b""
        while len(data) < size and (part := made.recv(size - len(data))):
            data += part
        return data

    def be_hostile(self):
        """Returns the connections to keep open."""
        starts = [b""] * 100 + [b"\x80\x00\x00\x28half"] * 5 + [b"\xff" * 4, b"\x80\x00\x00"]
        opened = []
        for start in starts:
            opened.append(self.connect())
            with contextlib.suppress(ConnectionError):
                opened[-1].sendall(start)
        # Requests lists without reading them: the port mapper's procedure 4 (RFC 5531 section 9).
        dump = struct.pack(">11I", LAST | 40, 9, 0, 2, 100000, 3, 4, 0, 0, 0, 0)
        opened.append(self.connect())
        opened[-1].setblocking(False)
        with contextlib.suppress(BlockingIOError, ConnectionError):
            for _ in range(100_000):
                opened[-1].send(dump)
        return opened


def main(protocol, address, port, *texts):
    peer = Peer(protocol, address, port)
    messages = [bytes.fromhex(text) for text in texts]
    if protocol == "udp":
        replies = [peer.over_udp(message, messages[0]) for message in messages[1:]]
    else:
        kept = peer.be_hostile() if protocol == "tcp!" else []
        replies = [peer.over_tcp(message) for message in messages]
        for made in kept:
            made.close()
    for reply in replies:
        print(reply.hex() or "none")


main(*sys.argv[1:])
