#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""register_test.py SLUICE_KV: the server's entry in etcd exists while it serves, is removed at once
at a clean end and with its lease after a crash, and is restored when etcd returns. The server
serves throughout."""

import contextlib
import json
import pathlib
import re
import signal
import subprocess
import sys
import threading
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import harness
import etcd_lab
from etcd_lab import b64
from harness import PATIENCE_S, wait_until

KV = sys.argv.pop()
PREFIX = "sluice-kv/"
NAME = "10.0.0.2:1024"
KEY = PREFIX + NAME
LEASE = "7587862094014"


class Server:
    """Runs on the embedded NIC, with a client on its wire."""

    def __init__(self, test, port, *flags):
        self.process = subprocess.Popen(
            [KV, *harness.MEMORY, "--no-pci", harness.lcores(3), "--", "--ip=10.0.0.2",
             f"--register=127.0.0.1:{port}/{PREFIX}", "--register_lease_s=8", "--memory_mb=16",
             "--items=2000", "--client=items=1000+get=0.5+outstanding=16", "--stats_period_s=0.05",
             "--json=-", *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines, self.output = [], []
        self.readers = [threading.Thread(target=lambda: self.lines.extend(self.process.stderr)),
                        threading.Thread(target=lambda: self.output.extend(self.process.stdout))]
        for reader in self.readers:
            reader.start()
        test.addCleanup(self.end, signal.SIGKILL)

    def text(self):
        return "".join(self.lines)

    def said(self):
        return [line.removeprefix("register: ").strip() for line in list(self.lines)
                if line.startswith("register: ")]

    def wait_to_say(self, count):
        """Waits until exactly this many lines about the entry were printed. Returns the last
        one."""
        wait_until(lambda: len(self.said()) >= count, self.text)
        assert len(self.said()) == count, self.text()
        return self.said()[-1]

    def wait_to_serve(self):
        """Waits for further responses."""
        lines = len(self.lines)
        wait_until(lambda: any(re.match(r" +[\d.]*[1-9]\d* Mops", line)
                               for line in self.lines[lines:]), self.text)

    def end(self, how=signal.SIGTERM):
        """Stops the server. Returns its exit code and report."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(how)
        watchdog = threading.Timer(PATIENCE_S, self.process.kill)
        watchdog.start()
        code = self.process.wait()
        watchdog.cancel()
        for reader in self.readers:
            reader.join()
        self.process.stdout.close()
        self.process.stderr.close()
        return code, json.loads("".join(self.output) or "null")


@unittest.skipUnless(etcd_lab.INSTALLED, etcd_lab.MISSING)
class Etcd(unittest.TestCase):
    def setUp(self):
        self.etcd = etcd_lab.Etcd(self)

    def entries(self):
        return self.etcd.keys(PREFIX)

    def wait_for(self, entries, server):
        wait_until(lambda: self.entries() == entries, server.text)

    def check_end(self, server):
        code, report = server.end()
        self.assertEqual(code, 0, server.text())
        self.assertEqual(report["wire"].get("client_wrong", 0), 0)
        self.assertGreater(report["mica"]["requests"], 0)

    def test_it_is_there_while_it_serves(self):
        server = Server(self, self.etcd.port)
        self.wait_for({KEY: NAME}, server)
        self.assertEqual(server.wait_to_say(1), f"{NAME} is registered")
        self.check_end(server)
        # The entry is removed at once, not when the lease expires.
        self.assertEqual(self.entries(), {})
        self.assertEqual(len(server.said()), 1, server.said())

    def test_what_it_says(self):
        for flags, key, value in (
                (["--mica_port=0"], "10.0.0.2:11211", "10.0.0.2:11211"),
                (["--register_as=kv7.example/?3"], "kv7.example:1024", "kv7.example/?3"),
                (["--ip=10.0.0.2,2001:db8::7", "--register_as=[2001:db8::7]:99"],
                 "[2001:db8::7]:99", "[2001:db8::7]:99"),
        ):
            with self.subTest(flags=flags):
                client = ["--client=protocol=ascii+items=9"] if "--mica_port=0" in flags else []
                server = Server(self, self.etcd.port, *flags, *client)
                self.wait_for({PREFIX + key: value}, server)
                self.assertEqual(server.end()[0], 0, server.text())

    def test_a_crash_leaves_it_to_the_lease(self):
        # On a busy machine, a third of a short lease may pass before a thread runs again.
        server = Server(self, self.etcd.port, "--register_lease_s=12")
        self.wait_for({KEY: NAME}, server)
        # The lease is kept alive beyond its 12 seconds. They have passed when a second lease, which
        # was granted later and is never renewed, expires.
        other = self.etcd.ctl("lease", "grant", "12").split()[1]
        self.etcd.ctl("put", "--lease=" + other, "other", "x")
        wait_until(lambda: not self.etcd.keys("other"), "a lease that nobody renews")
        self.assertEqual(self.entries(), {KEY: NAME})
        server.end(signal.SIGKILL)
        self.assertEqual(self.entries(), {KEY: NAME})
        self.wait_for({}, server)

    def test_etcd_away_and_back(self):
        server = Server(self, self.etcd.port)
        server.wait_to_say(1)
        self.etcd.stop()
        self.assertTrue(server.wait_to_say(2).startswith(NAME + ": "), server.said())
        server.wait_to_serve()
        # Starts another etcd, which does not know the lease.
        self.etcd.start("other")
        self.wait_for({KEY: NAME}, server)
        self.assertEqual(server.wait_to_say(3), f"{NAME} is registered in etcd again")
        server.wait_to_serve()
        self.check_end(server)
        self.assertEqual(self.entries(), {})

    def test_etcd_away_from_the_start_to_the_end(self):
        self.etcd.stop()
        server = Server(self, self.etcd.port)
        self.assertTrue(server.wait_to_say(1).startswith(NAME + ": "), server.said())
        server.wait_to_serve()
        self.check_end(server)
        self.assertEqual(len(server.said()), 1, server.said())


GRANTED = json.dumps({"header": {}, "ID": LEASE, "TTL": "2"})
DONE = json.dumps({"header": {"revision": "9"}})
ALIVE = json.dumps({"result": {"header": {}, "ID": LEASE, "TTL": "2"}})
GONE = json.dumps({"result": {"header": {}, "ID": LEASE}})


class Answers(unittest.TestCase):
    def gateway(self, grants=(GRANTED,), puts=(DONE,), alive=(ALIVE,), revokes=(DONE,)):
        return etcd_lab.Gateway(self, {"/v3/lease/grant": grants, "/v3/kv/put": puts,
                                       "/v3/lease/keepalive": alive, "/v3/lease/revoke": revokes})

    def test_what_it_asks(self):
        gateway = self.gateway()
        server = Server(self, gateway.port)
        wait_until(lambda: len(gateway.asked("/v3/lease/keepalive")) >= 3, server.text)
        self.assertEqual(server.end()[0], 0, server.text())
        self.assertEqual(gateway.asked("/v3/lease/grant"), [{"TTL": "8"}])
        self.assertEqual(gateway.asked("/v3/kv/put"),
                         [{"key": b64(KEY), "value": b64(NAME), "lease": LEASE}])
        self.assertEqual(gateway.asked("/v3/lease/keepalive")[0], {"ID": LEASE})
        self.assertEqual(gateway.asked("/v3/lease/revoke"), [{"ID": LEASE}])
        self.assertEqual(gateway.requests[-1][0], "/v3/lease/revoke")

    def test_answers_that_are_none(self):
        # Test all replies in one run: an invalid reply counts as an etcd outage, which is logged
        # once. tests/etcd covers other invalid replies.
        wrong = ["", "[" * 100000, b"\xff\xfe", "y" * (1 << 17)]
        gateway = self.gateway(grants=[*wrong, GRANTED], puts=['{"header":3}', DONE])
        server = Server(self, gateway.port)
        self.assertIn("not from etcd", server.wait_to_say(1))
        wait_until(lambda: len(server.said()) == 2, server.text)
        self.assertEqual(server.said()[1], f"{NAME} is registered")
        self.assertEqual(len(gateway.asked("/v3/lease/grant")), len(wrong) + 2)
        server.wait_to_serve()
        self.assertEqual(server.end()[0], 0, server.text())

    def test_a_lease_that_is_gone_is_replaced(self):
        gateway = self.gateway(alive=[ALIVE, GONE, ALIVE, "{}", ALIVE])
        server = Server(self, gateway.port)
        wait_until(lambda: len(gateway.asked("/v3/lease/keepalive")) >= 6, server.text)
        self.assertEqual(server.end()[0], 0, server.text())
        self.assertEqual(len(gateway.asked("/v3/lease/grant")), 2)
        self.assertEqual([said.split(":")[0] if "not from etcd" in said else said
                          for said in server.said()],
                         [f"{NAME} is registered", f"{NAME} is registered in etcd again",
                          NAME.split(":", maxsplit=1)[0], f"{NAME} is registered in etcd again"])

    def test_an_etcd_that_hangs_does_not_keep_it_from_ending(self):
        for silent, said in (({"grants": [None]}, 0), ({"puts": [None]}, 1),
                             ({"revokes": [None]}, 2)):
            with self.subTest(silent=silent):
                gateway = self.gateway(**silent)
                server = Server(self, gateway.port)
                wait_until(lambda g=gateway: len(g.requests) >= said + 1, server.text)
                server.wait_to_serve()
                self.assertEqual(server.end()[0], 0, server.text())
                about = [line for line in server.said() if "could not be revoked" in line]
                self.assertEqual(len(about), "revokes" in silent, server.said())


if __name__ == "__main__":
    unittest.main()
