#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""veth_test.py SLUICE_KV SLUICE_KV_CLIENT: real clients. The server is on one end of a veth pair,
and Linux in a network namespace on the other: plain sockets that send every request of memcached's
protocol.txt and of MICA's batch format, Debian's memcaslap, and sluice-kv-client. Root only."""

import contextlib
import ctypes
import json
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "bench"))
import harness  # pylint: disable=wrong-import-position
import private_folder  # pylint: disable=wrong-import-position,unused-import
from veth import Veth  # pylint: disable=wrong-import-position

KV_CLIENT = sys.argv.pop()
KV = sys.argv.pop()
PAIR = Veth("kv")
CLIENT, SERVER = "10.99.7.1", "10.99.7.2"
CLIENT6, SERVER6 = "fd99:7::1", "fd99:7::2"
MEMCASLAP = shutil.which("memcaslap") or shutil.which("memaslap")
PATIENCE_S = 30
MAX_REPLY_BYTES = 20000
LIBC = ctypes.CDLL(None, use_errno=True)


def socket_in_namespace(*kind):
    """Creates a socket in the client's namespace; this process returns to its namespace."""
    with open("/proc/thread-self/ns/net", "rb") as here, \
            open("/run/netns/" + PAIR.netns, "rb") as there:
        try:
            if LIBC.setns(there.fileno(), 0) != 0:
                raise OSError(ctypes.get_errno(), "setns")
            made = socket.socket(*kind)
        finally:
            LIBC.setns(here.fileno(), 0)
    made.settimeout(PATIENCE_S)
    return made


def veth():
    return PAIR.up(CLIENT + "/24", CLIENT6 + "/64")


class Stream:
    """A TCP connection to the server."""

    def __init__(self, tcp):
        self.tcp = tcp

    def send(self, data):
        """Sends from a thread, because the server does not read while its answers wait."""
        threading.Thread(target=self.tcp.sendall, args=(data,)).start()

    def rest(self):
        """Returns all bytes until the server closes the connection."""
        parts = []
        while not parts or parts[-1]:
            parts.append(self.tcp.recv(1 << 20))
        return b"".join(parts)


@contextlib.contextmanager
def connection(address, port=11211):
    with socket_in_namespace(socket.AF_INET6 if ":" in address else socket.AF_INET,
                             socket.SOCK_STREAM) as tcp:
        tcp.connect((address, port))
        yield Stream(tcp)


@contextlib.contextmanager
def server(vdevs, *flags):
    process = subprocess.Popen(
        [KV, "--no-huge", "-m", "512", "--no-pci", "--lcores=0@0,1@0,2@0",
         *(f"--vdev={vdev}" for vdev in vdevs), "--", f"--ip={SERVER},{SERVER6}",
         "--json=-", "--stats_period_s=0.05", *flags],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    report, said = {}, []
    # A reader keeps the pipe from filling up.
    reader = threading.Thread(target=lambda: said.extend(process.stderr))
    stdout = ""
    try:
        for line in process.stderr:
            said.append(line)
            if "Mpps" in line:
                break
        else:
            raise AssertionError("".join(said))
        reader.start()
        yield report
    finally:
        process.send_signal(signal.SIGTERM)
        watchdog = threading.Timer(PATIENCE_S, process.kill)
        watchdog.start()
        stdout = process.stdout.read()
        process.wait()
        watchdog.cancel()
        if reader.ident is not None:
            reader.join()
        process.stdout.close()
        process.stderr.close()
    assert process.returncode == 0, "".join(said)
    report.update(json.loads(stdout))


AF_PACKET = f"net_af_packet0,iface={PAIR.here}"
PACKETIZED = [AF_PACKET, "net_ipu0,wire=port:net_af_packet0"]
# An Ensō NIC cannot send ARP and IPv6, so these leave through the exception port. Here, that port
# is another socket on the same interface, and net_af_packet also receives the frames that this
# socket sends. This works only for ARP.
STREAMING = [AF_PACKET, f"net_pcap0,iface={PAIR.here}", "net_enso0,wire=port:net_af_packet0"]


class Memcached:
    """memcached's protocols over UDP (protocol.txt, "UDP protocol"): request id, sequence number,
    datagrams of the message, 0; big-endian."""

    def __init__(self, address=SERVER, port=11211):
        self.address = (address, port)
        self.udp = socket_in_namespace(socket.AF_INET6 if ":" in address else socket.AF_INET,
                                       socket.SOCK_DGRAM)
        self.request_id = 0x1ffe

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.udp.close()

    def tell(self, request):
        self.request_id = (self.request_id + 1) % 0x10000
        self.send(struct.pack(">HHHH", self.request_id, 0, 1, 0) + request)

    def send(self, datagram):
        self.udp.sendto(datagram, self.address)

    def hear(self):
        """Returns the next message, reassembled from datagrams in any order. All must belong to the
        last request."""
        parts, total = {}, None
        while len(parts) != total:
            datagram, sender = self.udp.recvfrom(65536)
            assert sender[:2] == self.address, sender
            request_id, sequence, of, reserved = struct.unpack(">HHHH", datagram[:8])
            assert (request_id, reserved) == (self.request_id, 0), datagram[:8]
            assert total in (None, of) and sequence < of and sequence not in parts, datagram[:8]
            assert len(datagram) <= 1400
            total = of
            parts[sequence] = datagram[8:]
        self.datagrams = total
        return b"".join(parts[i] for i in range(total))

    def ask(self, request):
        self.tell(request)
        return self.hear()


KEY = b"k" * 250
BAD_LINE = b"CLIENT_ERROR bad command line format\r\n"
NON_NUMERIC = b"CLIENT_ERROR cannot increment or decrement non-numeric value\r\n"

# Requests and their responses according to memcached's protocol.txt, in an order that makes each
# response deterministic. If a response is a set of words, their order is arbitrary.
WALK = [
    # Storage and retrieval.
    (b"get a\r\n", b"END\r\n"),
    (b"set a 5 0 3\r\nabc\r\n", b"STORED\r\n"),
    (b"get a\r\n", b"VALUE a 5 3\r\nabc\r\nEND\r\n"),
    (b"set a 4294967295 0 0\r\n\r\n", b"STORED\r\n"),
    (b"get a\r\n", b"VALUE a 4294967295 0\r\n\r\nEND\r\n"),
    (b"add a 0 0 1\r\nx\r\n", b"NOT_STORED\r\n"),
    (b"add b 1 0 1\r\nx\r\n", b"STORED\r\n"),
    (b"replace b 2 0 2\r\nyz\r\n", b"STORED\r\n"),
    (b"replace none 0 0 1\r\nx\r\n", b"NOT_STORED\r\n"),
    (b"append b 9 0 2\r\n!?\r\n", b"STORED\r\n"),
    (b"prepend b 9 0 1\r\n-\r\n", b"STORED\r\n"),
    (b"append none 0 0 1\r\nx\r\n", b"NOT_STORED\r\n"),
    (b"prepend none 0 0 1\r\nx\r\n", b"NOT_STORED\r\n"),
    (b"get a none b\r\n", b"VALUE a 4294967295 0\r\n\r\nVALUE b 2 5\r\n-yz!?\r\nEND\r\n"),
    (b"set " + KEY + b" 0 0 1\r\nx\r\n", b"STORED\r\n"),
    (b"get " + KEY + b"\r\n", b"VALUE " + KEY + b" 0 1\r\nx\r\nEND\r\n"),
    (b"set e 0 -1 1\r\nx\r\n", b"STORED\r\n"),
    (b"get e\r\n", b"END\r\n"),
    # Numbers.
    (b"set n 0 0 2\r\n10\r\n", b"STORED\r\n"),
    (b"incr n 5\r\n", b"15\r\n"),
    (b"decr n 5\r\n", b"10\r\n"),
    (b"decr n 100\r\n", b"0\r\n"),
    (b"incr n 18446744073709551615\r\n", b"18446744073709551615\r\n"),
    (b"incr n 2\r\n", b"1\r\n"),
    (b"incr none 1\r\n", b"NOT_FOUND\r\n"),
    (b"decr none 1\r\n", b"NOT_FOUND\r\n"),
    (b"incr b 1\r\n", NON_NUMERIC),
    (b"decr b 1\r\n", NON_NUMERIC),
    (b"incr n x\r\n", b"CLIENT_ERROR invalid numeric delta argument\r\n"),
    # Times and deletion.
    (b"touch b 0\r\n", b"TOUCHED\r\n"),
    (b"touch none 0\r\n", b"NOT_FOUND\r\n"),
    (b"gat 100 b\r\n", b"VALUE b 2 5\r\n-yz!?\r\nEND\r\n"),
    (b"gat 100 none\r\n", b"END\r\n"),
    (b"gat -1 b\r\n", b"VALUE b 2 5\r\n-yz!?\r\nEND\r\n"),
    (b"get b\r\n", b"END\r\n"),
    (b"delete a\r\n", b"DELETED\r\n"),
    (b"delete a\r\n", b"NOT_FOUND\r\n"),
    # No reply.
    (b"set q 0 0 1 noreply\r\n1\r\nadd q 0 0 1 noreply\r\n2\r\nreplace q 0 0 1 noreply\r\n3\r\n"
     b"append q 0 0 1 noreply\r\n0\r\nprepend q 0 0 1 noreply\r\n2\r\nincr q 5 noreply\r\n"
     b"decr q 1 noreply\r\ntouch q 0 noreply\r\ndelete n noreply\r\nget q n\r\n",
     b"VALUE q 0 3\r\n234\r\nEND\r\n"),
    # Meta commands.
    (b"mn\r\n", b"MN\r\n"),
    (b"mg none v\r\n", b"EN\r\n"),
    (b"ms m 5 T0 F7\r\nhello\r\n", b"HD\r\n"),
    (b"mg m\r\n", b"HD\r\n"),
    (b"mg m s v f k t Oq\r\n", b"VA 5 s5 f7 km t-1 Oq\r\nhello\r\n"),
    (b"ms m 1 ME\r\nx\r\n", b"NS\r\n"),
    (b"ms m 1 MA\r\n!\r\n", b"HD\r\n"),
    (b"ms m 1 MP\r\n>\r\n", b"HD\r\n"),
    (b"mg m v\r\n", b"VA 7\r\n>hello!\r\n"),
    (b"ms none 1 MR\r\nx\r\n", b"NS\r\n"),
    (b"ms m 1 C1\r\nx\r\n", b"EX\r\n"),
    (b"ms m x\r\n", BAD_LINE),
    (b"ma none\r\n", b"NF\r\n"),
    (b"ma c N0 J10 v\r\n", b"VA 2\r\n10\r\n"),
    (b"ma c D5 v\r\n", b"VA 2\r\n15\r\n"),
    (b"ma c MD D20 v\r\n", b"VA 1\r\n0\r\n"),
    (b"ma m\r\n", NON_NUMERIC),
    (b"mg none v q\r\nmg m k q\r\nms c 1 q\r\n5\r\nmn\r\n", b"HD km\r\nMN\r\n"),
    (b"md m C1\r\n", b"EX\r\n"),
    (b"md m q\r\nmd m\r\n", b"NF\r\n"),
    # Errors.
    (b"nonsense\r\n", b"ERROR\r\n"),
    (b"\r\n", b"ERROR\r\n"),
    (b"get\r\n", b"ERROR\r\n"),
    (b"set a 0 0\r\n", b"ERROR\r\n"),
    (b"touch a\r\n", b"ERROR\r\n"),
    (b"mg\r\n", b"ERROR\r\n"),
    (b"get k" + KEY + b"\r\n", BAD_LINE),
    (b"mg k" + KEY + b"\r\n", BAD_LINE),
    (b"delete k" + KEY + b"\r\n", BAD_LINE),
    (b"set a 0 0 -1\r\n", BAD_LINE),
    (b"set a x 0 1\r\nx\r\n", BAD_LINE + b"ERROR\r\n"),
    (b"touch q soon\r\n", b"CLIENT_ERROR invalid exptime argument\r\n"),
    (b"gat soon q\r\n", b"CLIENT_ERROR invalid exptime argument\r\n"),
    (b"mg q v v\r\n", b"CLIENT_ERROR duplicate flag\r\n"),
    (b"verbosity 1\r\n", b"OK\r\n"),
    (b"verbosity\r\n", b"ERROR\r\n"),
    # Administration from the network.
    (b"flush_all\r\n", b"CLIENT_ERROR flush_all not allowed\r\n"),
    (b"shutdown\r\n", b"ERROR\r\n"),
    (b"cache_memlimit 1\r\n", b"ERROR\r\n"),
    (b"get q\r\n", b"VALUE q 0 3\r\n234\r\nEND\r\n"),
]


def mica(messages, count=None):
    """Returns MICA 2's batch of (operation, key, value, opaque), with a hash that servers need not
    trust."""
    def padded(part):
        return part + bytes(-len(part) % 8)
    return struct.pack("<BBI", 0x78, len(messages) if count is None else count, 0) + b"".join(
        struct.pack("<BBHIQII", operation, 0, 0, len(key) << 24 | len(value), 0x1234567890abcdef,
                    opaque, 0) + padded(key) + padded(value)
        for operation, key, value, opaque in messages)


def mica_answers(datagram):
    """Returns (operation, result, value, opaque) of each; their number must match the
    datagram's."""
    magic, count, reserved = struct.unpack_from("<BBI", datagram)
    assert (magic, reserved) == (0x79, 0), datagram[:6]
    at, answers = 6, []
    while at < len(datagram):
        operation, result, _, lengths, key_hash, opaque, _ = struct.unpack_from(
            "<BBHIQII", datagram, at)
        key_bytes, value_bytes = lengths >> 24, lengths & 0xffffff
        assert (key_bytes, key_hash) == (0, 0x1234567890abcdef), (key_bytes, key_hash)
        answers.append((operation, result, datagram[at + 24:at + 24 + value_bytes], opaque))
        at += 24 + value_bytes + -value_bytes % 8
    assert (at, len(answers)) == (len(datagram), count), datagram
    return answers


RESET, NOOP, ADD, SET, GET, TEST, DELETE, INCREMENT = 0, 1, 3, 4, 5, 6, 7, 8
SUCCESS, ERROR, EXISTS, NOT_FOUND, PARTIAL, NOT_SUPPORTED = 0, 1, 3, 4, 5, 7


class Veth(unittest.TestCase):
    def law(self, report):
        self.assertEqual(report["rx_pkts"] + report["sent_pkts"],
                         report["tx_pkts"] + report["consumed_pkts"]
                         + sum(report["drops"].values()))
        self.assertEqual(report["drops"]["tx_unframeable"], 0)

    def walk(self, address, timed):
        """With `timed`, also tests requests that need a second of the server's clock."""
        with Memcached(address) as server_:
            # This item expires while the other requests are made.
            self.assertEqual(server_.ask(b"set soon 0 1 1\r\nx\r\n"), b"STORED\r\n")
            for request, answer in WALK:
                with self.subTest(request):
                    self.assertEqual(server_.ask(request), answer)
            self.assertRegex(server_.ask(b"version\r\n"), rb"\AVERSION 1\.6\.\d+-sluice-\S+\r\n\Z")
            self.walk_uniques(server_)
            self.walk_long_replies(server_)
            self.walk_silence(server_)
            if timed:
                self.walk_statistics(server_)
                self.walk_expiry(server_)
            self.assertEqual(server_.ask(b"delete q\r\n"), b"DELETED\r\n")
            self.assertEqual(server_.ask(b"md c\r\n"), b"HD\r\n")

    def walk_uniques(self, server_):
        def unique(command=b"gets u"):
            return re.search(rb"\AVALUE u 0 1 (\d+)\r\n", server_.ask(command + b"\r\n"))[1]
        self.assertEqual(server_.ask(b"set u 0 0 1\r\n1\r\n"), b"STORED\r\n")
        first = unique()
        self.assertEqual(unique(b"gats 0 u"), first)
        self.assertEqual(server_.ask(b"cas u 0 0 1 %s\r\n2\r\n" % first), b"STORED\r\n")
        self.assertNotEqual(unique(), first)
        self.assertEqual(server_.ask(b"cas u 0 0 1 %s\r\n3\r\n" % first), b"EXISTS\r\n")
        self.assertEqual(server_.ask(b"cas none 0 0 1 1\r\n3\r\n"), b"NOT_FOUND\r\n")
        self.assertEqual(server_.ask(b"mg u v c\r\n"), b"VA 1 c%s\r\n2\r\n" % unique())
        self.assertEqual(server_.ask(b"md u C%s\r\n" % unique()), b"HD\r\n")

    def walk_statistics(self, server_):
        def statistics():
            lines = server_.ask(b"stats\r\n").decode().split("\r\n")
            self.assertEqual(lines[-2:], ["END", ""])
            self.assertTrue(all(line.startswith("STAT ") for line in lines[:-2]))
            return dict(line.split(" ", 2)[1:] for line in lines[:-2])
        self.assertEqual(server_.ask(b"set s 0 0 1\r\n1\r\n"), b"STORED\r\n")
        # Statistics are collected once per second.
        end = time.monotonic() + PATIENCE_S
        while int(statistics()["get_hits"]) < 8 or int(statistics()["curr_items"]) < 2:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)
        self.assertLessEqual({"time", "cmd_get", "cmd_set", "get_hits", "get_misses", "evictions",
                              "bytes", "curr_items", "threads"}, set(statistics()))
        self.assertEqual(server_.ask(b"delete s\r\n"), b"DELETED\r\n")

    def walk_long_replies(self, server_):
        values = {b"long%d" % i: bytes(97 + (i + j) % 26 for j in range(1300)) for i in range(20)}
        for key, value in values.items():
            self.assertEqual(server_.ask(b"set %s 0 0 1300\r\n%s\r\n" % (key, value)),
                             b"STORED\r\n")
        for count in (1, 2, 5, 14):
            keys = list(values)[:count]
            expected = b"".join(b"VALUE %s 0 1300\r\n%s\r\n" % (key, values[key])
                                for key in keys) + b"END\r\n"
            self.assertEqual(server_.ask(b"get " + b" ".join(keys) + b"\r\n"), expected)
            # 1400 bytes per datagram, 8 of them its header.
            self.assertEqual(server_.datagrams, -(-len(expected) // 1392))
        # The reply would exceed --max_reply_bytes.
        answer = server_.ask(b"get " + b" ".join(values) + b"\r\n")
        self.assertTrue(answer.startswith(b"SERVER_ERROR "), answer[:80])
        self.assertLessEqual(len(answer), 1392)
        for key in values:
            self.assertEqual(server_.ask(b"delete %s\r\n" % key), b"DELETED\r\n")

    def walk_expiry(self, server_):
        end = time.monotonic() + PATIENCE_S
        while server_.ask(b"get soon\r\n") != b"END\r\n":
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)

    def walk_silence(self, server_):
        """Datagrams without a response: the next response belongs to a later request."""
        for datagram in (b"", b"1234567", struct.pack(">HHHH", 1, 0, 2, 0) + b"get a\r\n",
                         struct.pack(">HHHH", 1, 0, 1, 0),
                         struct.pack(">HHHH", 1, 0, 1, 0) + b"get a"):
            server_.send(datagram)
            self.assertEqual(server_.ask(b"mn\r\n"), b"MN\r\n")
        self.refused += 5
        server_.tell(b"delete none noreply\r\n")
        self.assertEqual(server_.ask(b"mn\r\n"), b"MN\r\n")

    def ask_mica(self, udp, address, *messages):
        udp.sendto(mica(messages), (address, 1024))
        return mica_answers(udp.recv(65536))

    def walk_mica(self, address):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket_in_namespace(family, socket.SOCK_DGRAM) as udp:
            self.assertEqual(
                self.ask_mica(udp, address, (SET, b"m", b"value", 1), (GET, b"m", b"", 2),
                              (ADD, b"m", b"x", 3), (TEST, b"m", b"", 4), (DELETE, b"m", b"", 5),
                              (GET, b"m", b"", 6), (ADD, b"m", bytes(8), 7),
                              (INCREMENT, b"m", struct.pack("<Q", 300), 8), (NOOP, b"", b"", 9)),
                [(SET, SUCCESS, b"", 1), (GET, SUCCESS, b"value", 2), (ADD, EXISTS, b"", 3),
                 (TEST, SUCCESS, b"", 4), (DELETE, SUCCESS, b"", 5), (GET, NOT_FOUND, b"", 6),
                 (ADD, SUCCESS, b"", 7), (INCREMENT, SUCCESS, struct.pack("<Q", 300), 8),
                 (NOOP, SUCCESS, b"", 9)])
            self.assertEqual(
                self.ask_mica(udp, address, (RESET, b"", b"", 1), (99, b"m", b"", 2),
                              (GET, b"", b"", 3), (SET, b"k" * 251, b"x", 4),
                              (INCREMENT, b"m", b"1", 5), (DELETE, b"none", b"", 6),
                              (DELETE, b"m", b"", 7)),
                [(RESET, NOT_SUPPORTED, b"", 1), (99, NOT_SUPPORTED, b"", 2),
                 (GET, ERROR, b"", 3), (SET, ERROR, b"", 4), (INCREMENT, ERROR, b"", 5),
                 (DELETE, NOT_FOUND, b"", 6), (DELETE, SUCCESS, b"", 7)])
            # A get of two values that together exceed one response.
            big = bytes(i % 251 for i in range(1000))
            self.ask_mica(udp, address, (SET, b"big", big, 0))
            self.assertEqual(
                self.ask_mica(udp, address, (GET, b"big", b"", 1), (GET, b"big", b"", 2)),
                [(GET, SUCCESS, big, 1), (GET, PARTIAL, b"", 2)])
            self.ask_mica(udp, address, (DELETE, b"big", b"", 0))
            # Wrong counts and lengths, another magic, and an empty datagram.
            whole = mica([(GET, b"m", b"", 1)])
            for datagram in (b"", mica([]), mica([(GET, b"m", b"", 1)], count=2), whole[:-1],
                             whole + bytes(8), b"\x79" + whole[1:]):
                udp.sendto(datagram, (address, 1024))
                self.assertEqual(self.ask_mica(udp, address, (NOOP, b"", b"", 5)),
                                 [(NOOP, SUCCESS, b"", 5)])
            self.refused += 6

    def ping(self, addresses):
        """Sends echo requests of ICMP and ICMPv6: RFC 792, RFC 4443. The kernel computes the
        checksums of the latter."""
        with socket_in_namespace(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as icmp:
            echo = struct.pack("!BBHHH", 8, 0, ~(0x0800 + 77 + 1) & 0xffff, 77, 1)
            icmp.sendto(echo, (SERVER, 0))
            self.assertEqual(icmp.recv(2048)[20:],
                             struct.pack("!BBHHH", 0, 0, ~(77 + 1) & 0xffff, 77, 1))
        for address in addresses[1:]:
            with socket_in_namespace(socket.AF_INET6, socket.SOCK_RAW,
                                     socket.IPPROTO_ICMPV6) as icmp:
                icmp.sendto(struct.pack("!BBHHH", 128, 0, 0, 77, 1) + b"payload", (address, 0))
                while True:  # The socket also receives neighbor discovery packets.
                    answer = icmp.recv(2048)
                    if answer[0] == 129:
                        break
                self.assertEqual(answer[4:], struct.pack("!HH", 77, 1) + b"payload")
        for address in addresses:
            self.assertIn("lladdr", PAIR.run("ip", "neigh", "show", address))

    def everything(self, vdevs, *flags, addresses=(SERVER, SERVER6)):
        self.refused = 0
        with veth(), server(vdevs, f"--max_reply_bytes={MAX_REPLY_BYTES}", *flags) as report:
            self.ping(addresses)
            for address in addresses:
                self.walk(address, timed=address == addresses[-1])
                self.walk_mica(address)
        self.law(report)
        self.assertEqual(report["drops"]["refused"], self.refused)
        # The key of 250 bytes remains, as do expired items that were read by a worker that may not
        # remove them.
        self.assertLessEqual(report["store"]["items"], 1 if "--workers=2" not in flags else 4)
        self.assertGreaterEqual(report["store"]["items"], 1)
        self.assertEqual(report["mica"]["refused_admin"], len(addresses))
        self.assertEqual(report["memcached"]["refused_admin"], len(addresses))
        self.assertGreater(report["memcached"]["cut_replies"], 0)
        return report

    def test_packetized(self):
        self.everything(PACKETIZED)

    def test_packetized_without_a_model(self):
        self.everything([AF_PACKET])

    def test_streaming(self):
        self.everything(STREAMING, "--iface=streaming", "--exception_port=net_pcap0",
                        addresses=(SERVER,))

    def test_streaming_without_a_model(self):
        self.everything([AF_PACKET], "--iface=streaming")

    def test_bilateral(self):
        self.everything(PACKETIZED, "--iface=bilateral")

    def test_two_workers(self):
        report = self.everything(PACKETIZED, "--workers=2", "--partitions=5")
        self.assertGreater(report["workers"]["handed_over"], 0)

    def test_flush_all_where_it_is_allowed_fragments_and_other_ports(self):
        with veth(), server(PACKETIZED, "--allow_flush", "--workers=2", "--memcached_port=9000",
                            "--mica_port=0") as report, \
                Memcached() as silent, Memcached(port=9000) as server_, \
                Memcached(SERVER6, port=9000) as server6:
            for i in range(20):
                self.assertEqual(server_.ask(b"set k%d 0 0 1\r\nx\r\n" % i), b"STORED\r\n")
            self.assertEqual(server_.ask(b"flush_all\r\n"), b"OK\r\n")
            keys = b" ".join(b"k%d" % i for i in range(20))
            self.assertEqual(server_.ask(b"get " + keys + b"\r\n"), b"END\r\n")
            # The server ignores a request to another port, and a request that arrives in fragments.
            silent.tell(b"set a 0 0 1\r\nx\r\n")
            self.assertEqual(server_.ask(b"get a\r\n"), b"END\r\n")
            server6.tell(b"set a 0 0 3000\r\n" + bytes(3000) + b"\r\n")
            self.assertEqual(server6.ask(b"get a\r\n"), b"END\r\n")
        self.law(report)
        # 3026 bytes of UDP including its header, in fragments of at most 1448 bytes (RFC 8200, MTU
        # 1500).
        self.assertEqual(report["drops"]["fragment"], 3)
        self.assertEqual(report["memcached"]["sets"], 20)
        self.assertEqual(report["store"]["items"], 0)

    @unittest.skipUnless(MEMCASLAP, "libmemcached-tools is not installed")
    def test_memcaslap_gets_right_answers(self):
        # memcaslap's verification fails with --overwrite, even against memcached, and it does not
        # support the binary protocol over UDP.
        with veth(), server(PACKETIZED) as report:
            for options in ((), ("-d", "2")):
                said = PAIR.run(MEMCASLAP, "-s", SERVER + ":11211", "-U", "-t", "1s",
                                "-T", "1", "-c", "4", "-v", "1", "-X", "100", *options)
                counted = {name: int(number)
                           for name, number in re.findall(r"^(\w+): (\d+)$", said, re.MULTILINE)}
                with self.subTest(options):
                    self.assertGreater(counted["cmd_get"], 0, said)
                    self.assertGreater(counted["cmd_set"], 0, said)
                    for nothing in ("get_misses", "verify_misses", "verify_failed"):
                        self.assertEqual(counted[nothing], 0, said)
        self.law(report)
        self.assertEqual(report["memcached"]["errors"], 0)

    @unittest.skipUnless(harness.has_tcp(KV), "this build has no TCP")
    def test_tcp(self):
        value = bytes(range(256)) * 4096
        with veth(), tempfile.TemporaryDirectory() as folder:
            flags = ("--transport=tcp", "--allow_flush", f"--snapshot={folder}/items")
            with server(PACKETIZED, *flags) as report:
                for address in (SERVER, SERVER6):
                    with connection(address) as stream:
                        stream.send(b"set k 5 0 %d\r\n%b\r\n" % (len(value), value) +
                                    b"get a k b k\r\nquit\r\n")
                        item = b"VALUE k 5 %d\r\n%b\r\n" % (len(value), value)
                        self.assertEqual(stream.rest(), b"STORED\r\n" + 2 * item + b"END\r\n")
                with connection(SERVER) as stream:
                    stream.send(struct.pack(">BBHBBHIIQ", 0x80, 0, 1, 0, 0, 0, 1, 7, 0) + b"k" +
                                struct.pack(">BBHBBHIIQ", 0x80, 7, 0, 0, 0, 0, 0, 8, 0))
                    answer = stream.rest()
                    self.assertEqual((answer[:2], answer[28:-24]), (b"\x81\x00", value))
                with connection(SERVER) as stream:
                    stream.send(b"mn\r\nx" + b"x" * 3000)
                    self.assertEqual(stream.rest(), b"MN\r\n")
            with server(PACKETIZED, *flags) as again, connection(SERVER) as stream:
                stream.send(b"mg k s\r\nset k 0 0 2000000\r\n" + bytes(2000000) +
                            b"\r\nmg k s\r\nquit\r\n")
                self.assertEqual(stream.rest(), b"HD s1048576\r\nSERVER_ERROR object too large "
                                                b"for cache\r\nEN\r\n")
        self.assertEqual((report["tcp"]["opened"], report["tcp"]["bad_segments"]), (4, 0))
        self.assertEqual((report["memcached"]["get_hits"], report["memcached"]["sets"]), (5, 2))
        self.assertEqual(again["memcached"]["too_large"], 1)

    @unittest.skipUnless(MEMCASLAP, "libmemcached-tools is not installed")
    @unittest.skipUnless(harness.has_tcp(KV), "this build has no TCP")
    def test_memcaslap_over_tcp(self):
        with veth(), server(PACKETIZED, "--transport=tcp") as report:
            for options in ((), ("-d", "50"), ("-B",)):
                said = PAIR.run(MEMCASLAP, "-s", SERVER + ":11211", "-t", "1s", "-T", "1", "-c",
                                "4", "-v", "1", "-X", "100", *options)
                counted = {name: int(number)
                           for name, number in re.findall(r"^(\w+): (\d+)$", said, re.MULTILINE)}
                with self.subTest(options):
                    self.assertGreater(counted["cmd_get"], 0, said)
                    for nothing in ("get_misses", "verify_misses", "verify_failed"):
                        self.assertEqual(counted[nothing], 0, said)
        self.assertEqual(report["memcached"]["errors"], 0)

    def test_our_client_verifies_every_value(self):
        with veth(), server(PACKETIZED, "--workers=2") as report:
            for protocol, port in (("mica", 1024), ("memcached-ascii", 11211),
                                   ("memcached-binary", 11211)):
                with self.subTest(protocol), tempfile.NamedTemporaryFile() as file:
                    PAIR.run(KV_CLIENT, f"--server={SERVER}:{port}", f"--protocol={protocol}",
                             f"--workers={2 if protocol == 'mica' else 1}", "--items=500",
                             "--outstanding=16", "--timeout_ms=10000", "--size=small",
                             "--verify=true", "--duration_s=0.3", f"--json={file.name}")
                    counted = json.load(file)
                    self.assertGreater(counted["hits"], 0, counted)
                    self.assertGreater(counted["stored"], 0, counted)
                    for nothing in ("misses", "refused", "lost", "corrupted", "malformed"):
                        self.assertEqual(counted[nothing], 0, counted)
        self.law(report)
        self.assertEqual(report["store"]["items"], 500)  # All three set the same keys.


if __name__ == "__main__":
    # A test runner sends SIGTERM on a timeout. Treat it as an interrupt, so that cleanup runs.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    unittest.main()
