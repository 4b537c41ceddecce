#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""client_end_to_end_test.py SLUICE_KV_CLIENT: the client over kernel sockets, against Debian's
memcached, a MICA server in Python, and servers that send invalid responses, lose requests, and join
and leave."""
import collections
import json
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from client_ketama import ring, server_of
from harness import PATIENCE_S, each, for_each, free_port, wait_until

CLIENT = sys.argv.pop()
MEMCACHED = shutil.which("memcached") or "/usr/bin/memcached"


class Memcached:
    """Debian's memcached on a free port: UDP for the client and TCP for queries."""

    def __init__(self, test):
        self.port = free_port()
        self.process = subprocess.Popen(
            [MEMCACHED, "-l", "127.0.0.1", "-p", str(self.port), "-U", str(self.port), "-t", "1",
             "-m", "256", *(["-u", "nobody"] if os.geteuid() == 0 else [])])
        test.addCleanup(self.stop)
        wait_until(self.answers, "memcached")

    def stop(self):
        self.process.kill()
        self.process.wait()

    def answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port)).close()
            return True
        except ConnectionRefusedError:
            return False

    def keys(self):
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S) as connection:
            text = b"BUSY"
            while text.startswith(b"BUSY"):  # Another run of the crawler is in progress.
                connection.sendall(b"lru_crawler metadump all\r\n")
                text = b""
                while not text.endswith(b"END\r\n") and not re.match(rb"BUSY.*\r\n", text):
                    part = connection.recv(65536)
                    if not part:
                        raise ConnectionError(text[-100:])
                    text += part
        return [urllib.parse.unquote_to_bytes(key) for key in re.findall(rb"key=(\S+) ", text)]

    @property
    def name(self):
        return f"127.0.0.1:{self.port}"


class UdpServer:
    """Calls `answer(datagram, socket's number)` for each datagram on its ports."""

    def __init__(self, test, ports, answer):
        while True:
            first = free_port()
            self.sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(ports)]
            try:
                for i, sock in enumerate(self.sockets):
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
                    sock.settimeout(0.05)
                    sock.bind(("127.0.0.1", first + i))
                break
            except OSError:
                continue
        self.name = f"127.0.0.1:{first}"
        self.stopped = False
        self.threads = [threading.Thread(target=self.serve, args=(i, answer))
                        for i in range(ports)]
        for thread in self.threads:
            thread.start()
        test.addCleanup(self.stop)

    def serve(self, number, answer):
        sock = self.sockets[number]
        while not self.stopped:
            try:
                datagram, sender = sock.recvfrom(65536)
            except TimeoutError:
                continue
            reply = answer(datagram, number)
            if reply is not None:
                sock.sendto(reply, sender)

    def stop(self):
        self.stopped = True
        for thread in self.threads:
            thread.join()
        for sock in self.sockets:
            sock.close()


def padded(length):
    return (length + 7) // 8 * 8


class Mica:
    """MICA's get and set, from the description of the format."""

    def __init__(self, partitions):
        self.stores = [{} for _ in range(partitions)]
        self.batches = collections.Counter()
        self.hashes = {}
        self.errors = []

    def answer(self, datagram, number):
        magic, count = datagram[0], datagram[1]
        self.batches[count] += 1
        reply, at = struct.pack("<BBI", 0x79, count, 0), 6
        for _ in range(count):
            operation, _, _, lengths, hashed, opaque, _ = struct.unpack_from("<BBHIQII", datagram,
                                                                             at)
            key_at, value_at = at + 24, at + 24 + padded(lengths >> 24)
            key = datagram[key_at:key_at + (lengths >> 24)]
            value = datagram[value_at:value_at + (lengths & 0xffffff)]
            at = value_at + padded(lengths & 0xffffff)
            if (hashed >> 48) % len(self.stores) != number:
                self.errors.append(("wrong port", hashed, number))
            if self.hashes.setdefault(key, hashed) != hashed:
                self.errors.append(("another hash", key))
            result, out = 0, b""
            if operation == 4:
                self.stores[number][key] = value
            elif operation == 5:
                out = self.stores[number].get(key)
                result, out = (0, out) if out is not None else (4, b"")
            else:
                self.errors.append(("operation", operation))
            reply += struct.pack("<BBHIQII", operation, result, 0, len(out), hashed, opaque, 0)
            reply += out.ljust(padded(len(out)), b"\0")
        if magic != 0x78 or at != len(datagram):
            self.errors.append(("datagram", datagram))
        return reply


class Client(unittest.TestCase):
    def run_client(self, *flags, code=0):
        """Runs the client to completion; returns the report."""
        with tempfile.NamedTemporaryFile(suffix=".json") as report:
            done = subprocess.run([CLIENT, "--json=" + report.name, "--timeout_ms=5000",
                                   "--patience_s=60", *flags], capture_output=True, text=True,
                                  timeout=300, check=False)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            self.output = done.stdout
            return json.load(report)

    def check_sums(self, report):
        self.assertEqual(report["requests"], sum(report[name] for name in (
            "hits", "misses", "stored", "refused", "corrupted", "lost")))
        self.assertEqual(report["hits"] + report["misses"] + report["corrupted"],
                         report["get_latency_us"]["count"])
        self.assertEqual(report["stored"], report["set_latency_us"]["count"])

    def test_memcached_in_both_protocols(self):
        server = Memcached(self)
        for protocol, (size, load) in each(("memcached-ascii", "memcached-binary"),
                                           (("tiny", "--rate=500"), ("large", "--outstanding=4"))):
            with self.subTest(protocol=protocol, size=size):
                report = self.run_client(
                    f"--protocol={protocol}", f"--server={server.name}", f"--size={size}", load,
                    "--items=2000", "--duration_s=2", "--distribution=zipf:0.99", "--mix=0.8")
                self.check_sums(report)
                self.assertEqual(report["preloaded"], 2000)
                self.assertEqual(report["misses"] + report["lost"], 0)
                self.assertGreater(report["hits"], 3 * report["stored"])
                self.assertLess(report["hits"], 5.5 * report["stored"])

    def test_an_open_loop_asks_as_often_as_told(self):
        server = Memcached(self)
        report = self.run_client("--protocol=memcached-binary", f"--server={server.name}",
                                 "--items=100", "--rate=1000", "--arrivals=constant",
                                 "--duration_s=1")
        self.assertAlmostEqual(report["requests"] + report["unsent"], 1000 * report["duration_s"],
                               delta=2)

    def test_mica_with_a_port_for_each_worker(self):
        mica = Mica(3)
        server = UdpServer(self, 3, mica.answer)
        report = self.run_client(f"--server={server.name}", "--workers=3", "--items=1000",
                                 "--key_bytes=13", "--value_bytes=21", "--batch=8",
                                 "--outstanding=256", "--batch_wait_us=50000", "--duration_s=0.5")
        self.check_sums(report)
        self.assertEqual(mica.errors, [])
        self.assertEqual(sum(len(store) for store in mica.stores), 1000)
        self.assertEqual(report["misses"] + report["lost"] + report["malformed"], 0)
        self.assertGreater(mica.batches[8], sum(mica.batches.values()) / 2, mica.batches)
        for key, value in mica.stores[0].items():
            self.assertEqual((len(key), len(value)), (13, 21))

    def test_values_that_are_wrong_are_counted_and_fail_the_run(self):
        mica, bent = Mica(1), 0

        def answer(datagram, number):
            nonlocal bent
            reply = bytearray(mica.answer(datagram, number))
            if len(reply) == 6 + 24 + 8:  # A value.
                bent += 1
                if bent % 5 == 0:
                    reply[-1 - bent % 8] ^= 1
            return bytes(reply)

        server = UdpServer(self, 1, answer)
        report = self.run_client(f"--server={server.name}", "--items=100", "--duration_s=0.5",
                                 code=1)
        self.check_sums(report)
        self.assertEqual(report["corrupted"], bent // 5)
        self.assertGreater(report["corrupted"], 0)
        report = self.run_client(f"--server={server.name}", "--items=100", "--duration_s=0.5",
                                 "--verify=false")
        self.assertEqual(report["corrupted"], 0)

    def test_losses_are_counted_and_not_sent_again(self):
        mica, seen, dropped = Mica(1), 0, 0

        def answer(datagram, number):
            nonlocal seen, dropped
            seen += 1
            if seen > 100 and seen % 7 == 0:  # The first 100 requests are the preload.
                dropped += 1
                return None
            return mica.answer(datagram, number)

        server = UdpServer(self, 1, answer)
        # At this rate, the buffer of a Linux socket holds the datagrams of half a second.
        report = self.run_client(f"--server={server.name}", "--items=100", "--rate=250",
                                 "--duration_s=2", "--timeout_ms=2000")
        self.check_sums(report)
        self.assertEqual(report["preload_lost"], 0)
        self.assertEqual(seen, 100 + report["requests"])
        self.assertEqual(report["lost"], dropped)
        self.assertGreater(dropped, 10)

    def test_a_report_on_standard_output_is_alone_there(self):
        server = Memcached(self)
        done = subprocess.run(
            [CLIENT, f"--server={server.name}", "--protocol=memcached-ascii", "--items=100",
             "--duration_s=0.5", "--stats_period_s=0.1", "--timeout_ms=5000", "--json=-"],
            capture_output=True, text=True, timeout=60, check=True)
        self.assertEqual(json.loads(done.stdout)["preloaded"], 100)
        self.assertIn("preloaded 100 items", done.stderr)
        self.assertIn("Mops", done.stderr)

    def test_a_server_that_is_not_there(self):
        started = time.monotonic()
        done = subprocess.run([CLIENT, f"--server=127.0.0.1:{free_port()}", "--patience_s=0.3"],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no answer", done.stderr)
        self.assertGreater(time.monotonic() - started, 0.3)

    def test_servers_that_come_and_go(self):
        servers = [Memcached(self) for _ in range(5)]
        names = [server.name for server in servers]
        before, fewer, after = ring(names[:4]), ring(names[1:4]), ring(names[1:])
        with tempfile.TemporaryDirectory() as folder:
            path, report = os.path.join(folder, "servers"), os.path.join(folder, "report.json")

            def write(members):  # Replaces the file atomically, as editors do.
                with open(path + ".new", "w", encoding="utf-8") as file:
                    file.write("# servers\n\n" + "".join(f"{name}\n" for name in members))
                os.rename(path + ".new", path)

            write(names[:4])
            client = subprocess.Popen(
                [CLIENT, f"--servers_file={path}", "--protocol=memcached-ascii", "--items=3000",
                 "--rate=2000", "--duration_s=0", "--timeout_ms=300", f"--json={report}"],
                stdout=subprocess.PIPE, text=True)
            lines = []
            reader = threading.Thread(target=lambda: lines.extend(client.stdout))
            reader.start()
            self.addCleanup(client.stdout.close)
            for cleanup in (reader.join, client.wait, client.kill):  # The last cleanup runs first.
                self.addCleanup(cleanup)
            wait_until(lambda: any("preloaded" in line for line in lines), lines.copy)
            placed = {}

            def all_placed():  # One dump may lack items that are being set.
                placed.update((key, server.name) for server in servers for key in server.keys())
                return len(placed) == 3000

            wait_until(all_placed, lambda: f"{len(placed)} placed")
            self.assertEqual(placed, {key: server_of(before, key) for key in placed})

            servers[0].stop()
            write(names[1:4])
            wait_until(lambda: any("3 servers" in line for line in lines), lines.copy)
            write(names[1:])
            wait_until(lambda: any("4 servers" in line for line in lines), lines.copy)
            # Sets are routed by the new ring.
            wait_until(lambda: len(servers[4].keys()) > 100, "sets for the newcomer")
            for key in servers[4].keys():
                self.assertEqual(server_of(after, key), names[4])
            client.terminate()
            self.assertEqual(client.wait(timeout=60), 0, "".join(lines))
            reader.join()
            with open(report, encoding="utf-8") as file:
                figures = json.load(file)
        lost_home = sum(server_of(before, key) != server_of(fewer, key) for key in placed)
        gone_on = sum(server_of(fewer, key) != server_of(after, key) for key in placed)
        self.assertEqual(figures["items_moved"], lost_home + gone_on)
        self.assertEqual(lost_home, sum(name == names[0] for name in placed.values()))
        self.assertEqual(figures["server_changes"], 2)
        self.assertGreater(figures["misses"], 0)
        self.assertEqual(figures["corrupted"], 0)

    # Arguments, and the text that the line must contain.
    BAD = [
        (["--no_such_flag=1"], "--no_such_flag"), (["server=1"], "server=1"),
        (["--server"], "--server"), (["--server="], "--server"),
        (["--server=a:b"], "--server"), (["--server=a:0"], "--server"),
        (["--server=a:65536"], "--server"), (["--server=a,a"], "--server"),
        (["--server=a,,b"], "--server"), (["--server=[::1"], "--server"),
        (["--server=a:1/?0"], "--server"), (["--server=no-such-host.invalid"], "--server"),
        (["--servers_file=/nonexistent"], "--servers_file"),
        (["--servers_file=/dev/null"], "--servers_file"),
        (["--servers_file=/dev/zero"], "not a regular file"),
        (["--servers_etcd=localhost:2379"], "--servers_etcd"),
        (["--servers_etcd=localhost:2379/"], "--servers_etcd"),
        (["--servers_etcd=localhost/kv/"], "--servers_etcd"),
        (["--servers_etcd=:2379/kv/"], "--servers_etcd"),
        (["--servers_etcd=localhost:0/kv/"], "--servers_etcd"),
        (["--servers_etcd=localhost:65536/kv/"], "--servers_etcd"),
        (["--servers_etcd=a@localhost:2379/kv/"], "--servers_etcd"),
        (["--servers_etcd=localhost:1/kv/", "--servers_file=/dev/null"], "--servers_etcd"),
        (["--protocol=http"], "--protocol"), (["--sharding=modulo"], "--sharding"),
        (["--workers=0"], "--workers"), (["--server=a:65535", "--workers=2"], "--workers"),
        (["--workers=2", "--protocol=memcached-ascii"], "--workers"),
        (["--workers=4", "--partitions=2"], "--partitions"),
        (["--items=0"], "--items"), (["--items=-1"], "--items"), (["--items=5e"], "--items"),
        (["--items=65", "--key_bytes=1"], "--items"),
        (["--first_item=281474976710656"], "--first_item"),
        (["--size=huge"], "--size"), (["--key_bytes=251"], "--key_bytes"),
        (["--value_bytes=7"], "--value_bytes"), (["--value_bytes=1441"], "--value_bytes"),
        (["--value_bytes=1400", "--protocol=memcached-ascii"], "--value_bytes"),
        (["--mix=1.1"], "--mix"), (["--mix=nan"], "--mix"), (["--mix="], "--mix"),
        (["--distribution=zipf"], "--distribution"), (["--distribution=zipf:0"], "--distribution"),
        (["--distribution=zipf:x"], "--distribution"), (["--rate=-1"], "--rate"),
        (["--rate=inf"], "--rate"), (["--arrivals=late"], "--arrivals"),
        (["--outstanding=0"], "--outstanding"), (["--outstanding=32769"], "--outstanding"),
        (["--batch=0"], "--batch"), (["--batch=256"], "--batch"),
        (["--batch=2", "--protocol=memcached-binary"], "--batch"),
        (["--batch_wait_us=-1"], "--batch_wait_us"), (["--timeout_ms=0"], "--timeout_ms"),
        (["--max_datagram_bytes=63"], "--max_datagram_bytes"),
        (["--duration_s=-1"], "--duration_s"), (["--stats_period_s=nan"], "--stats_period_s"),
        (["--patience_s=0"], "--patience_s"), (["--verify=maybe"], "--verify"),
        (["--json=/nonexistent/report.json"], "--json"),
    ]

    def test_bad_arguments(self):
        for (arguments, flag), done in for_each(self.BAD, lambda case: subprocess.run(
                [CLIENT, *case[0]], capture_output=True, text=True, timeout=60, check=False)):
            with self.subTest(arguments):
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertIn(flag, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_help_and_version(self):
        done = subprocess.run([CLIENT, "--help"], capture_output=True, text=True, timeout=60,
                              check=True)
        self.assertIn("--distribution", done.stdout)
        self.assertNotIn("tab_completion", done.stdout)
        done = subprocess.run([CLIENT, "--version"], capture_output=True, text=True, timeout=60,
                              check=True)
        self.assertRegex(done.stdout, r"^sluice-kv-client \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    unittest.main()
