#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sends the same requests to Debian's memcached and to our protocols: responses must agree byte by
byte, except for the DIFFERENCES in memcached_requests.py. The values of "cas unique" are compared
by identity: the n-th distinct one of a server must correspond to the n-th of the other. The
servers' seconds begin at different times, so remaining times may differ by the duration of the
test. Single requests go to memcached over UDP; several requests or keys go to the same server over
TCP, because memcached 1.6.18 sends each hit of a multi-get on UDP as a separate message, and loses
responses to later requests. Our server for byte streams is compared over TCP only."""

import os
import pathlib
import re
import socket
import struct
import subprocess
import sys
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import free_port
from memcached_random import RandomRequests
from memcached_requests import (BINARY, CONVERSATIONS, COUNTED, DATAGRAM_DIFFERENCES, DIFFERENCES,
                                NUMBERS, REQUESTS, STREAM_DIFFERENCES, STREAMS, TTL, binary)

ANSWERS = sys.argv.pop()
MEMCACHED = "/usr/bin/memcached"
VERSION = subprocess.run([MEMCACHED, "-V"], capture_output=True, text=True,
                         check=True).stdout.split()[1]
PATIENCE_S = 30
MARK = 0x6d61726b  # Opaque of the request that ends a conversation.
TIME_LEFT = re.compile(rb"(?m)(^(?:HD|VA) [^\r\n]*?\bt)(\d+)")


def is_binary(request):
    return request[:1] == b"\x80"


def mark(request):
    """Returns a request that ends a conversation of the protocol of `request`, and its answer."""
    if is_binary(request):
        return (binary(0x0a, opaque=MARK),
                struct.pack(">BBHIII", 0x81, 0x0a, 0, 0, 0, MARK) + bytes(8))
    return b"md mark O%d\r\n" % MARK, b"NF O%d\r\n" % MARK


class Memcached:
    """When memcached 1.6.18 parses a number of 2^63 or more in an item, it searches for a minus
    sign up to the next NUL byte (safe_strtoull, util.c), beyond the item, in uninitialized memory.
    Its memory comes zeroed from the kernel here, so that it finds the NUL first.

    The threads that maintain its lists are off: while one of them holds a reference to an item,
    "incr" stores a new item, which counts in total_items, instead of changing it (do_add_delta)."""

    def __init__(self, *options):
        self.port = free_port()
        user = ["-u", "nobody"] if os.geteuid() == 0 else []
        self.process = subprocess.Popen(
            [MEMCACHED, *user, "-l", "127.0.0.1", "-p", str(self.port), "-U", str(self.port),
             "-t", "1", "-o", "no_lru_maintainer,no_lru_crawler", *options],
            stderr=subprocess.DEVNULL,
            env={**os.environ, "MALLOC_PERTURB_": "0"})
        self.connections = {}
        self.udp = socket.socket(type=socket.SOCK_DGRAM)
        self.udp.connect(("127.0.0.1", self.port))
        self.udp.settimeout(PATIENCE_S)
        self.udp_id = 0
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                self.ask(b"version\r\n")
                return
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def close(self):
        self.udp.close()
        for connection in self.connections.values():
            connection.close()
        self.process.kill()
        self.process.wait()

    def ask(self, request, udp=False):
        return self.ask_udp(request) if udp else self.ask_tcp(request)

    def ask_udp(self, request):
        """Returns the responses that arrive before the response to a second datagram."""
        self.udp_id = (self.udp_id + 2) % 0x10000
        for request_id, text in ((self.udp_id, request), (self.udp_id + 1, b"mn\r\n")):
            self.udp.send(struct.pack(">HHHH", request_id, 0, 1, 0) + text)
        answer = b""
        while True:
            datagram = self.udp.recv(65536)
            if struct.unpack(">H", datagram[:2])[0] != self.udp_id:
                return answer
            answer += datagram[8:]

    def ask_tcp(self, request):
        """Returns the data before the response to a mark, or before the end of the connection."""
        kind = is_binary(request)
        last, end = mark(request)
        if kind not in self.connections:
            self.connections[kind] = socket.create_connection(("127.0.0.1", self.port),
                                                              timeout=PATIENCE_S)
        connection = self.connections[kind]
        answer = b""
        try:
            connection.sendall(request + last)
            while not answer.endswith(end):
                more = connection.recv(1 << 20)
                if not more:
                    break
                answer += more
        except ConnectionError:
            more = b""
        if answer.endswith(end):
            return answer[:-len(end)]
        self.connections.pop(kind).close()
        return answer


class Ours:
    def __init__(self, *options):
        self.process = subprocess.Popen([ANSWERS, *options], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def ask(self, request):
        self.process.stdin.write(request.hex() + "\n")
        self.process.stdin.flush()
        return bytes.fromhex(self.process.stdout.readline())


class OurStreams(Ours):
    def ask(self, request):
        """Returns the data before the response to a mark, or before the end of the connection."""
        last, end = mark(request)
        self.process.stdin.write((request + last).hex() + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline().strip()
        answer = bytes.fromhex(line.removesuffix("closed"))
        if line.endswith("closed"):
            return answer
        assert answer.endswith(end), (request, answer)
        return answer[:-len(end)]


class Uniques:
    """Numbers the uniques of a server's responses in the order of their first appearance. If
    different items may have equal uniques, the number is 1 for all of them. Also inserts the unique
    of a key into requests."""

    NO_ITEM = 10**9

    def __init__(self, are_distinct):
        self.are_distinct = are_distinct
        self.order = {0: 0}
        self.of_key = {}

    def number(self, unique):
        return self.order.setdefault(unique, len(self.order)) if self.are_distinct else \
            min(unique, 1)

    def fill_in(self, request):
        """Returns the request with each {key} replaced by the last unique that was reported for the
        key of its line, or by NO_ITEM."""
        def unique_of(match):
            known = match[2] == match[4] and self.of_key.get(match[4])
            return match[1] + match[2] + match[3] + b"%d" % (known or self.NO_ITEM)
        replaced = 1
        while replaced:
            request, replaced = re.subn(
                rb"(?m)^((?:cas|m[sda]) )(\S+)([^\r\n]*)\{(\w+)\}", unique_of, request)
        return request

    def learn(self, request, answer):
        """Records the unique in a response for a key."""
        words = request.split()
        value = re.search(rb"^VALUE (\S+) \d+ \d+ (\d+)\r\n", answer)
        meta = re.match(rb"(?:HD|VA)[^\r\n]* c(\d+)", answer)
        if value:
            self.of_key[value[1]] = int(value[2])
        elif meta and words[0] in (b"mg", b"ms", b"ma"):
            self.of_key[words[1]] = int(meta[1])

    def normalize(self, answer):
        if answer[:1] == b"\x81":
            return self.normalize_binary(answer)
        # Whether memcached pads a shortened number depends on other references to the item.
        answer = re.sub(rb"(?m)(^VALUE \S+ \d+ |^VA )\d+([^\r\n]*\r\n\d+) +\r\n",
                        rb"\1-\2\r\n", answer)
        answer = re.sub(rb"(?m)(^VALUE \S+ \d+ |^VA )\d+([^\r\n]*\r\n\d+)\r\n",
                        rb"\1-\2\r\n", answer)
        answer = re.sub(rb"(?m)(^(?:HD|VA) [^\r\n]*\bs)\d+", rb"\1-", answer)
        return re.sub(rb"(?m)(^VALUE \S+ \d+ \S+ |^(?:HD|VA|EX|NF|NS|EN)[^\r\n]* c)(\d+)",
                      lambda m: m[1] + b"#%d" % self.number(int(m[2])), answer)

    def normalize_binary(self, answer):
        parts = []
        while len(answer) >= 24:
            end = 24 + struct.unpack(">I", answer[8:12])[0]
            unique = self.number(struct.unpack(">Q", answer[16:24])[0])
            value = re.sub(rb"(?<=\d) +$", b"", answer[24:end])  # Removes padding.
            parts.append(answer[:8] + struct.pack(">I", len(value)) + answer[12:16] +
                         struct.pack(">Q", unique) + value)
            answer = answer[end:]
        return b"".join(parts) + answer


class Answers(unittest.TestCase):
    """Our server with one worker; subclasses use others."""

    MODE, WORKERS, OURS = "cache", "1", Ours

    def setUp(self):
        self.memcached = self.ours = None
        self.began = time.monotonic()

    def start(self, *options):
        self.memcached = Memcached(*options)
        self.addCleanup(self.memcached.close)
        self.ours = self.OURS(self.MODE, self.WORKERS, VERSION,
                              *([] if "-F" in options else ["flush"]))
        self.addCleanup(self.ours.close)
        self.names = [Uniques(self.WORKERS != "4") for _ in range(2)]

    def compare(self, request, udp):
        answers = []
        for names, ask in zip(self.names, (lambda r: self.memcached.ask(r, udp), self.ours.ask)):
            filled_in = names.fill_in(request)
            answer = ask(filled_in)
            names.learn(filled_in, answer)
            answers.append(names.normalize(answer))
        self.assert_same(answers[1], answers[0], request)

    def assert_same(self, ours, theirs, request):
        """Compares everything except remaining times."""
        lefts = [[int(left) for _, left in TIME_LEFT.findall(text)] for text in (ours, theirs)]
        taken_s = time.monotonic() - self.began
        for our_left, their_left in zip(*lefts):
            self.assertAlmostEqual(our_left, their_left, delta=taken_s + 1,
                                   msg=f"after {request[:300]}")
        ours, theirs = (TIME_LEFT.sub(rb"\1-", text) for text in (ours, theirs))
        self.assertEqual(ours, theirs, f"ours, memcached's, after {request[:300]}")

    def test_single_requests(self):
        self.start()
        for request in REQUESTS:
            self.compare(request, udp=True)

    def test_several_requests_and_keys(self):
        self.start()
        for request in CONVERSATIONS:
            if self.MODE == "store" and b"2000000" in request:
                continue
            self.compare(request, udp=False)

    def test_the_binary_protocol(self):
        self.start()
        for request in BINARY:
            if self.MODE == "store" and len(request) > 1000000:
                continue
            self.compare(request, udp=False)

    def test_random_requests(self):
        for seed in (1, 2):
            with self.subTest(seed=seed):
                self.start()
                make = RandomRequests(seed)
                for _ in range(1500):
                    self.compare(make(), udp=False)

    def test_random_conversations(self):
        self.start()
        make = RandomRequests(3)
        for _ in range(200):
            self.compare(b"".join(make() for _ in range(8)), udp=False)

    def test_that_a_flush_is_refused(self):
        self.start("-F")
        for request in (b"flush_all\r\n", b"flush_all 0\r\n", b"flush_all x\r\n",
                        b"flush_all noreply\r\n", b"flush_all 0 0\r\n", b"flush_all 1 2 3\r\n",
                        binary(0x08), binary(0x18), binary(0x08, b"", TTL),
                        binary(0x08) + binary(0x0a)):
            self.compare(request, udp=False)

    def test_time_left(self):
        """Checks the remaining time, for relative and absolute expiry, to within the duration of
        the test."""
        self.start()
        for expiry, left in ((5000, 5000), (2592000, 2592000), (int(time.time()) + 9000, 9000)):
            for server in (self.memcached, self.ours):
                for store in (b"ms a 1 T%d\r\nx\r\n", b"set a 0 %d 1\r\nx\r\n",
                              b"set a 0 0 1\r\nx\r\ntouch a %d\r\n", b"gat %d a\r\n"):
                    server.ask(store % expiry)
                    answer = server.ask(b"mg a t\r\n")
                    told = int(re.fullmatch(rb"HD t(\d+)\r\n", answer)[1])
                    self.assertLessEqual(told, left + 1)
                    self.assertGreater(told, left - PATIENCE_S)

    def test_numbers_and_times(self):
        self.start()
        for request in NUMBERS:
            with self.subTest(request=request):
                self.assert_same(self.ours.ask(request), self.memcached.ask(request), request)


class Statistics(unittest.TestCase):
    # Statistics that are not counts, or that depend on how items are laid out in memory.
    OURS = {"pid", "uptime", "time", "limit_maxbytes", "bytes", "udp_requests"}
    # memcached counts expired or flushed items until it visits them.
    LAZY = {"curr_items"}
    # memcached's values for these describe its slabs.
    OURS_OF_CLASSES = {"mem_requested"}

    def setUp(self):
        self.memcached = Memcached("-m", "64")
        self.addCleanup(self.memcached.close)
        self.ours = Ours("cache", "1", VERSION, "flush")
        self.addCleanup(self.ours.close)

    @staticmethod
    def figures(server, words=b"stats"):
        lines = server.ask(words + b"\r\n").decode().split("\r\n")
        assert lines[-2:] == ["END", ""], lines
        return dict(line.split(" ", 2)[1:] for line in lines[:-2])

    def grown(self, server, request):
        before = self.figures(server)
        server.ask(request)
        after = self.figures(server)
        names = set(self.figures(self.ours)) - self.OURS - self.LAZY - {"version"}
        grown = {name: int(after[name]) - int(before[name]) for name in names}
        # memcached's texts are sent over TCP, each followed by a mark, which is a delete that
        # misses.
        if server is self.memcached:
            grown["delete_misses"] -= 1 if is_binary(request) else 2
        if b"reset" in request:
            del grown["delete_misses"]
        return grown

    def test_that_they_count_the_same(self):
        for request in COUNTED:
            with self.subTest(request=request[:60]):
                self.assertEqual(self.grown(self.ours, request),
                                 self.grown(self.memcached, request))

    def test_items_that_live(self):
        for server in (self.ours, self.memcached):
            for key in (b"a", b"b", b"c", b"a"):
                server.ask(b"set %b 0 0 1\r\nx\r\n" % key)
            server.ask(b"delete b\r\n")
            self.assertEqual(self.figures(server)["curr_items"], "2")

    def test_that_their_names_are_memcacheds(self):
        for server in (self.ours, self.memcached):
            server.ask(b"set a 0 0 1\r\nx\r\n")
        general = self.figures(self.ours)
        self.assertLessEqual(set(general) - {"udp_requests"}, set(self.figures(self.memcached)))
        for name in ("version", "pointer_size", "threads"):
            self.assertEqual(general[name], self.figures(self.memcached)[name])
        self.assertLess(abs(int(general["time"]) - time.time()), PATIENCE_S)
        self.assertLess(int(general["uptime"]), PATIENCE_S)
        settings = self.figures(self.ours, b"stats settings")
        theirs = self.figures(self.memcached, b"stats settings")
        self.assertLessEqual(set(settings), set(theirs))
        for name in ("verbosity", "evictions", "domain_socket", "num_threads", "cas_enabled",
                     "binding_protocol", "auth_enabled_sasl", "auth_enabled_ascii",
                     "flush_enabled", "shutdown_command", "detail_enabled", "track_sizes"):
            self.assertEqual(settings[name], theirs[name], name)
        self.assertEqual(set(self.figures(self.ours, b"stats items")),
                         {f"items:1:{name}" for name in ("number", "mem_requested", "evicted",
                                                         "outofmemory")})
        self.assertLessEqual(set(self.figures(self.ours, b"stats items")),
                             set(self.figures(self.memcached, b"stats items")))
        self.assertLessEqual(
            {name for name in self.figures(self.ours, b"stats slabs")
             if name.split(":")[-1] not in self.OURS_OF_CLASSES},
            set(self.figures(self.memcached, b"stats slabs")))


class AnswersOfFourWorkers(Answers):
    """Only the owner of a key reads it, so that requests travel between partitions. Each partition
    counts its uniques."""

    WORKERS = "4"


class AnswersInStoreMode(Answers):
    """Excludes items that are too large: a set that fails keeps the existing item."""

    MODE = "store"


class AnswersOfStreams(Answers):
    WORKERS, OURS = "stream", OurStreams

    def compare(self, request, udp):
        super().compare(request, udp=False)

    def test_streams(self):
        self.start()
        for request in STREAMS:
            self.compare(request, udp=False)


class Differences(unittest.TestCase):
    WORKERS, OURS, DIFFERENCES = "1", Ours, DIFFERENCES + DATAGRAM_DIFFERENCES

    def test_that_they_are_as_documented(self):
        memcached = Memcached()
        self.addCleanup(memcached.close)
        ours = self.OURS("cache", self.WORKERS, VERSION, "flush")
        self.addCleanup(ours.close)
        for request, theirs, answer, why in self.DIFFERENCES:
            with self.subTest(request=request[:80], why=why):
                if theirs is not None:
                    self.assertEqual(memcached.ask(request), theirs)
                answer = answer.replace(b"{version}", VERSION.encode())
                self.assertEqual(ours.ask(request), answer)


class DifferencesOfStreams(Differences):
    WORKERS, OURS, DIFFERENCES = "stream", OurStreams, DIFFERENCES + STREAM_DIFFERENCES


if __name__ == "__main__":
    unittest.main()
