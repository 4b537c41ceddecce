#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""client_membership_test.py SLUICE_KV_CLIENT: servers that join and leave according to a file or
etcd, and the client's output about them. The addresses have no servers: only the lists count.
Expected numbers of items come from ketama in Python."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import client_ketama
import etcd_lab
from etcd_lab import b64
from harness import PATIENCE_S, free_port, wait_until

CLIENT = sys.argv.pop()
ITEMS = 2000
KEYS = [client_ketama.workload_key(item) for item in range(ITEMS)]
SERVERS = [f"127.0.0.{i}:9" for i in range(1, 7)]
PREFIX = "sluice/kv/"


def moved(before, after):
    return len(client_ketama.moved(client_ketama.place(before, KEYS),
                                   client_ketama.place(after, KEYS)))


class Client:
    """A client that has read its first list and runs until it is stopped."""

    def __init__(self, test, source):
        self.test = test
        self.report = tempfile.NamedTemporaryFile(suffix=".json")
        test.addCleanup(self.report.close)
        self.process = subprocess.Popen(
            [CLIENT, source, "--preload=false", f"--items={ITEMS}", "--rate=1", "--duration_s=0",
             "--timeout_ms=1", "--stats_period_s=0.1", "--json=" + self.report.name],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines, self.errors = [], []
        self.running = threading.Event()
        self.readers = [threading.Thread(target=self.read_lines),
                        threading.Thread(target=lambda: self.errors.extend(self.process.stderr))]
        for reader in self.readers:
            reader.start()
        test.addCleanup(self.kill)
        test.assertTrue(self.running.wait(PATIENCE_S), self.said())

    def read_lines(self):
        for line in self.process.stdout:
            if "Mops" in line:
                self.running.set()
            else:
                self.lines.append(line)

    def kill(self):
        self.process.kill()
        self.process.wait()
        for reader in self.readers:
            reader.join()
        self.process.stdout.close()
        self.process.stderr.close()

    def said(self):
        return f"{self.lines} {self.errors}"

    def wait_for_lines(self, *lines):
        """Waits for these lines of the client. Checks that it has printed no other lines."""
        lines = [line + "\n" for line in lines]
        wait_until(lambda: len(self.lines) >= len(lines), self.said)
        self.test.assertEqual(self.lines, lines)

    def wait_for_errors(self, *parts):
        """Waits for one error line per part. Checks that each line contains its part, and that
        there are no other lines."""
        wait_until(lambda: len(self.errors) >= len(parts), self.said)
        self.test.assertEqual(len(self.errors), len(parts), self.errors)
        for part, line in zip(parts, self.errors):
            self.test.assertIn(part, line)
            self.test.assertIn("; the servers stay the same", line)

    def end(self):
        """Stops the client, which must exit with 1, because no server has responded. Returns its
        report."""
        self.process.terminate()
        self.test.assertEqual(self.process.wait(timeout=PATIENCE_S), 1, self.said())
        with open(self.report.name, encoding="utf-8") as file:
            return json.load(file)


class Sources:
    """Tests for every source of a list."""

    def test_each_change_moves_the_items_of_ketama(self):
        lists = [SERVERS[:4], SERVERS[1:4], SERVERS[1:5], SERVERS[:5], [SERVERS[5]]]
        self.write(lists[0])
        client = Client(self, self.source)
        expected = []
        for before, after in zip(lists, lists[1:]):
            self.write(after)
            expected.append((len(after), moved(before, after)))
            client.wait_for_lines(*(f"{count} servers: {items} of {ITEMS} items moved"
                                    for count, items in expected))
        report = client.end()
        self.assertEqual(report["servers"], 1)
        self.assertEqual(report["server_changes"], len(expected))
        self.assertEqual(report["items_moved"], sum(items for _, items in expected))
        self.assertEqual(client.errors, [])

    def test_a_list_that_is_wrong_changes_nothing(self):
        self.write(SERVERS[:2])
        client = Client(self, self.source)
        errors = []
        for bad, what in (([*SERVERS[:2], "a:b"], "a:b: not a server"),
                          ([*SERVERS[:2], "127.0.0.9:65536"], "not a server"),
                          ([*SERVERS[:2], SERVERS[0]], "listed twice"),
                          ([*SERVERS[:2], "x" * 300], "x" * 60 + ": not a server"),
                          ([*SERVERS[:2], "\x01\x7f"], r"\x01\x7f: not a server"),
                          ([], "0 servers")):
            self.write(bad)
            errors.append(what)
            client.wait_for_errors(*errors)
        self.write(SERVERS[:3])
        client.wait_for_lines(
            f"3 servers: {moved(SERVERS[:2], SERVERS[:3])} of {ITEMS} items moved")
        self.assertEqual(client.end()["server_changes"], 1)


class File(Sources, unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "servers")
        self.source = "--servers_file=" + self.path

    def write(self, servers):  # Replaces the file atomically, as editors do.
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            file.write("# servers\n" + "".join(server + "\n" for server in servers))
        os.rename(self.path + ".new", self.path)


@unittest.skipUnless(etcd_lab.INSTALLED, etcd_lab.MISSING)
class Etcd(Sources, unittest.TestCase):
    def setUp(self):
        self.etcd = etcd_lab.Etcd(self)
        self.source = f"--servers_etcd=127.0.0.1:{self.etcd.port}/{PREFIX}"
        self.keys = {}

    def write(self, servers):
        """Writes one key per server, named by its place in the list."""
        keys = {f"{PREFIX}{i:04}": server for i, server in enumerate(servers)}
        self.etcd.in_one_step(*(f"put {key} {json.dumps(value)}" for key, value in keys.items()
                                if self.keys.get(key) != value),
                              *(f"del {key}" for key in self.keys if key not in keys))
        self.keys = keys

    def test_a_server_leaves_with_its_lease(self):
        self.write(SERVERS[:3])
        client = Client(self, self.source)
        # The lease must last until it has been granted and used, and the client has polled.
        lease = self.etcd.ctl("lease", "grant", "8").split()[1]
        self.etcd.ctl("put", "--lease=" + lease, f"{PREFIX}leased", SERVERS[3])
        four = moved(SERVERS[:3], SERVERS[:4])
        client.wait_for_lines(f"4 servers: {four} of {ITEMS} items moved",
                              f"3 servers: {four} of {ITEMS} items moved")
        client.end()

    def test_the_list_stays_while_etcd_is_away(self):
        self.write(SERVERS[:4])
        client = Client(self, self.source)
        self.write(SERVERS[:3])
        first = f"3 servers: {moved(SERVERS[:4], SERVERS[:3])} of {ITEMS} items moved"
        client.wait_for_lines(first)
        self.etcd.stop()
        client.wait_for_errors("--servers_etcd")
        time.sleep(0.5)  # The client retries several times without further output.
        self.etcd.start()
        self.write(SERVERS[:4])
        second = f"4 servers: {moved(SERVERS[:3], SERVERS[:4])} of {ITEMS} items moved"
        client.wait_for_lines(first, second)
        client.wait_for_errors("--servers_etcd")
        # The first etcd is replaced by another one, which has earlier revisions.
        self.etcd.stop()
        self.etcd.start("other")
        self.keys = {}
        self.write(SERVERS[:2])
        client.wait_for_lines(
            first, second, f"2 servers: {moved(SERVERS[:4], SERVERS[:2])} of {ITEMS} items moved")
        client.end()

    def test_keys_of_others_do_not_count(self):
        self.write(SERVERS[:2])
        self.etcd.ctl("put", "sluice/kv0", "nonsense")
        self.etcd.ctl("put", "sluice/kv", "nonsense")
        client = Client(self, self.source)
        self.etcd.ctl("put", "sluice/kv.", "nonsense")
        self.write(SERVERS[:3])
        client.wait_for_lines(
            f"3 servers: {moved(SERVERS[:2], SERVERS[:3])} of {ITEMS} items moved")
        client.end()
        self.assertEqual(client.errors, [])

    def test_more_servers_than_there_may_be(self):
        self.write(SERVERS[:2])
        client = Client(self, self.source)
        for i in range(11):  # etcd limits the size of a transaction.
            self.etcd.in_one_step(*(f"put {PREFIX}more{i}.{j} 127.1.{i}.{j}:9" for j in range(100)))
        client.wait_for_errors("more than 1000")
        self.etcd.ctl("del", "--prefix", f"{PREFIX}more")
        wait_until(lambda: any(line.startswith("2 servers") for line in client.lines), client.said)
        client.end()


def pair(key, value):
    return etcd_lab.pair(PREFIX + key, value)


def range_answer(revision, *servers):
    return json.dumps({"header": {"revision": str(revision)},
                       "kvs": [pair(str(i), server) for i, server in enumerate(servers)]})


def watch_line(**result):
    return json.dumps({"result": {"header": {"revision": "9"}, **result}}) + "\n"


CREATED = watch_line(created=True)


class Gateway(etcd_lab.Gateway):
    """Serves reads and watches."""

    def __init__(self, test, reads, watches=(CREATED,)):
        super().__init__(test, {"/v3/kv/range": reads, "/v3/watch": watches})
        self.source = f"--servers_etcd=127.0.0.1:{self.port}/{PREFIX}"

    def watched_from(self):
        return [int(request["create_request"]["start_revision"])
                for request in self.asked("/v3/watch")]


class Answers(unittest.TestCase):
    """Tests a gateway that is invalid, or that sends unusual but valid replies of etcd."""

    def start_and_fail(self, source):
        done = subprocess.run([CLIENT, source, "--preload=false", "--duration_s=0.1"],
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("--servers_etcd: "), done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_nobody_is_there(self):
        self.start_and_fail(f"--servers_etcd=127.0.0.1:{free_port()}/{PREFIX}")
        self.start_and_fail(f"--servers_etcd=no-such-host.invalid:2379/{PREFIX}")

    def test_answers_that_are_none(self):
        good = json.loads(range_answer(5, SERVERS[0]))
        for answer in ("", "x", "[]", "{}", "[" * 100000, '"' + "x" * 5000, b"\xff\xfe",
                       '{"header":{"revision":"0"}}', '{"header":{"revision":"-4"}}',
                       '{"header":{"revision":"9223372036854775807"}}',
                       '{"header":{"revision":"99999999999999999999"}}',
                       '{"header":{"revision":5}}', '{"header":"revision"}',
                       json.dumps({**good, "kvs": 7}), json.dumps({**good, "kvs": [7]}),
                       json.dumps({**good, "kvs": [{"key": 7}]}),
                       json.dumps({**good, "kvs": [{"key": "!!", "value": "!!"}]}),
                       json.dumps({**good, "kvs": [{"key": b64("other/1"), "value": b64("a")}]}),
                       json.dumps({**good, "kvs": 2 * good["kvs"]}),
                       json.dumps({**good, "kvs": [{**good["kvs"][0], "value": "a"}]})):
            with self.subTest(answer[:60]):
                self.assertIn("not from etcd",
                              self.start_and_fail(Gateway(self, [answer]).source))

    def test_answers_that_are_too_long_or_name_no_server(self):
        for answer, what in ((range_answer(5, *["x" * 1000] * 1100), "too long"),
                             (range_answer(5), "0 servers"),
                             (range_answer(5, "a b"), "a b: not a server"),
                             (range_answer(5, *(f"h{i}" for i in range(1001))), "more than 1000")):
            with self.subTest(what):
                self.assertIn(what, self.start_and_fail(Gateway(self, [answer]).source))

    def test_it_asks_for_the_prefix_and_watches_from_the_next_revision(self):
        gateway = Gateway(self, [range_answer(41, *SERVERS[:2])])
        client = Client(self, gateway.source)
        wait_until(lambda: len(gateway.requests) == 2, client.said)
        client.end()
        # range_end is the first key after all keys with this prefix (etcd's API, "Key ranges").
        keys = {"key": b64("sluice/kv/"), "range_end": b64("sluice/kv0")}
        (path, read), (watch_path, watch) = gateway.requests
        self.assertEqual((path, watch_path), ("/v3/kv/range", "/v3/watch"))
        self.assertEqual({name: read[name] for name in keys}, keys)
        self.assertEqual(watch, {"create_request": {**keys, "start_revision": "42"}})

    def test_after_a_compaction_it_reads_again(self):
        gateway = Gateway(self, [range_answer(5, *SERVERS[:2]), range_answer(80, *SERVERS[:3])],
                          [CREATED + watch_line(canceled=True, compact_revision="70"), CREATED])
        client = Client(self, gateway.source)
        client.wait_for_lines(
            f"3 servers: {moved(SERVERS[:2], SERVERS[:3])} of {ITEMS} items moved")
        wait_until(lambda: len(gateway.watched_from()) == 2, client.said)
        self.assertEqual(gateway.watched_from(), [6, 81])
        client.end()
        self.assertEqual(client.errors, [])

    def test_events_that_are_none_change_nothing(self):
        put = {"kv": pair("1", SERVERS[2])}
        lines = ["x\n", "\n", "{}\n", '{"error":{"message":"no"}}\n', '{"result":[]}\n',
                 watch_line(canceled=True), watch_line(created=1), watch_line(compact_revision=4),
                 watch_line(events=3), watch_line(events=[3]), watch_line(events=[{}]),
                 watch_line(events=[{**put, "type": "OTHER"}]),
                 watch_line(events=[{**put, "type": 1}]),
                 watch_line(events=[{"kv": {"key": b64("other"), "value": b64("x")}}]),
                 watch_line(events=[put, {"kv": {"key": "!"}}]), "y" * (1 << 20) + "yy", ""]
        for line in lines:
            with self.subTest(line[:60]):
                gateway = Gateway(self, [range_answer(5, *SERVERS[:2])], [CREATED + line, CREATED])
                client = Client(self, gateway.source)
                wait_until(lambda g=gateway: len(g.watched_from()) == 2, client.said)
                client.wait_for_errors("--servers_etcd: ")
                self.assertEqual(client.end()["server_changes"], 0)

    def test_a_watch_that_ends_again_and_again_is_not_asked_for_more_and_more_often(self):
        gateway = Gateway(self, [range_answer(5, *SERVERS[:2])], [CREATED] * 100)
        client = Client(self, gateway.source)
        wait_until(lambda: len(gateway.times) >= 10, client.said)
        # Five reads and watches, with pauses of at least 0.1, 0.2, 0.4 and 0.8 s.
        self.assertGreater(gateway.times[9] - gateway.times[0], 1.4)
        client.wait_for_errors("--servers_etcd: etcd ended the connection")
        client.end()


if __name__ == "__main__":
    unittest.main()
