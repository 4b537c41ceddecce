#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scale_out_test.py SLUICE_MAGLEV: two balancers and a router that spreads flows over them by ECMP.
Clients observe a balancer that leaves, dies or comes back, and a backend that is drained. Root
only; docs/maglev-scale-out.md describes the results."""

import collections
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import unittest

import lab

BALANCER = sys.argv.pop()
HELD_IPV4, HELD_IPV6 = 72, 40
FIRST_PORT_IPV4, FIRST_PORT_IPV6 = 20000, 21000
PROBES = 100
NEW_CONNECTIONS = 40
FRAGMENTED_BYTES = 4000
DRAINED = "backend4"


class Load:
    """http_client.py in the client's namespace."""

    def __init__(self, data_centre):
        client = data_centre.client
        self.process = client.start(
            "client", sys.executable, str(lab.HERE / "http_client.py"), str(lab.PORT), lab.VIP4,
            lab.VIP6, *lab.CLIENT_ADDRESSES, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.log = client.log("client")

    def do(self, *command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, self.log.read_text(encoding="utf-8")
        return json.loads(answer)

    def held(self):
        return self.do("state")["held"]

    def wait_for_answers(self):
        """Waits until every live held connection has had a complete request and reply from now on.
        (The next reply may belong to a request that was in flight.)"""
        before = [connection["served"] for connection in self.held()]
        lab.wait_until(lambda: all(now["error"] or now["served"] >= then + 2
                                   for now, then in zip(self.held(), before)),
                       "answers on all connections", patience_s=60)


class Document(unittest.TestCase):
    def test_it_quotes_the_files_that_are_tested(self):
        document = lab.HERE.parents[1] / "docs" / "maglev-scale-out.md"
        for name in ("balancer1.bird.conf", "router.bird.conf"):
            quoted = (lab.CONFIGS / name).read_text(encoding="utf-8")
            self.assertIn(f"```\n{quoted}```\n", document.read_text(encoding="utf-8"))


class ScaleOut(unittest.TestCase):
    def start(self, stack):
        self.began = time.monotonic()
        self.results = []
        self.lab = lab.Lab(stack)
        self.balancers = {n: self.lab.start_balancer(BALANCER, n) for n in lab.BALANCERS}
        self.speakers = {n: self.lab.start_announcing(n) for n in lab.BALANCERS}
        self.lab.wait_for_paths(1, 2)
        self.load = Load(self.lab)

    def note(self, what, value):
        self.results.append((time.monotonic() - self.began, what, value))

    def check_nothing_broke(self, event):
        """Checks that no connection broke, neither held nor short ones."""
        self.load.wait_for_answers()
        state = self.load.do("state")
        self.assertEqual([c for c in state["held"] if c["error"]], [])
        self.assertEqual(state["errors"], [])
        self.check_answers()
        self.note(event, f"0 of {len(state['held'])} connections broke, "
                         f"{state['opened']} short ones came and went")

    def check_answers(self):
        self.assertEqual([c for c in self.load.held() if c["wrong"]], [])

    def start_again(self, n):
        self.balancers[n] = self.lab.start_balancer(BALANCER, n)
        self.speakers[n] = self.lab.start_announcing(n)
        self.lab.wait_for_paths(1, 2)

    def start_load(self):
        self.load.do("hold", 4, HELD_IPV4, FIRST_PORT_IPV4)
        self.load.do("hold", 6, HELD_IPV6, FIRST_PORT_IPV6)
        self.check_nothing_broke("load started")
        self.load.do("churn", True)
        shares = collections.Counter(c["backend"] for c in self.load.held())
        self.assertEqual(set(shares), {f"backend{n}" for n in lab.BACKENDS})
        self.note("connections of backends 1 … 4", " ".join(str(shares[b]) for b in sorted(shares)))

    def announce(self, n, on):
        for protocol in ("vips4", "vips6"):
            self.lab.balancers[n].birdc("enable" if on else "disable", protocol)

    def each_balancer_alone_decides_the_same(self):
        """Either balancer alone makes the same decisions. The other one leaves cleanly: its routes
        are withdrawn, but it keeps forwarding."""
        together = self.load.do("probe", PROBES)
        self.assertNotIn(None, together)
        for alone in lab.BALANCERS:
            other = 3 - alone
            self.announce(other, False)
            self.lab.wait_for_paths(alone)
            self.assertEqual(self.load.do("probe", PROBES), together)
            self.announce(other, True)
            self.lab.wait_for_paths(1, 2)
        self.note("flows that either balancer sends to the same backend", f"{PROBES} of {PROBES}")
        self.check_nothing_broke("each balancer withdrew once")

    def a_machine_falls_silent(self):
        """Nothing closes its BGP session: the router must detect the timeout."""
        self.speakers[1].send_signal(signal.SIGSTOP)
        lab.end(self.balancers[1])
        self.lab.wait_for_paths(2)
        lab.end(self.speakers[1])
        self.check_nothing_broke("balancer 1 died silently")

    def it_comes_back(self):
        self.start_again(1)
        self.check_nothing_broke("balancer 1 came back")

    def fragments_meet_at_one_backend(self):
        flows = self.load.do("fragments", FRAGMENTED_BYTES)
        for source, small, large, whole in flows:
            self.assertIsNotNone(large, f"{source}: no answer to a fragmented datagram")
            self.assertTrue(whole, f"{source}: not what was sent")
            self.assertEqual(large, small, f"{source}: not where its flow goes")
        self.note(f"datagrams of {FRAGMENTED_BYTES} bytes whole at their flow's backend",
                  f"{len(flows)} of {len(flows)}")

    def drain(self):
        """Drains a backend of each VIP: one balancer reloads its file, and the other one executes
        commands of telemetry."""
        self.lab.balancer_config(1, drained=[DRAINED])
        self.balancers[1].send_signal(signal.SIGHUP)
        vips = json.loads(self.lab.balancer_config(2).read_text(encoding="utf-8"))["vips"]
        for vip in vips:
            self.lab.ask_balancer(2, f"/sluice/maglev/drain,{vip['name']}/{DRAINED}")
        for n, epoch in ((1, 2), (2, 1 + len(vips))):
            lab.wait_until(lambda n=n, epoch=epoch: f"epoch {epoch} " in self.lab.said(n),
                           f"epoch {epoch} of balancer {n}")
        names = collections.Counter(self.load.do("connect", NEW_CONNECTIONS))
        self.assertEqual(set(names), {f"backend{n}" for n in lab.BACKENDS} - {DRAINED})
        self.note("new connections, after backend 4 was drained",
                  " ".join(f"{b}:{names[b]}" for b in sorted(names)))
        self.check_nothing_broke("backend 4 drained")

    def a_balancer_dies_during_the_drain(self):
        """The flows of balancer 2 reach balancer 1, which started after them and has no state for
        them."""
        self.load.do("churn", False)
        lab.end(self.balancers[2])
        lab.end(self.speakers[2])
        self.lab.wait_for_paths(1)
        self.load.wait_for_answers()
        self.check_answers()
        held = self.load.held()
        drained = [c for c in held if c["backend"] == DRAINED]
        broken = [c for c in held if c["error"]]
        self.assertEqual([c for c in broken if c not in drained], [])
        self.note("balancer 2 died while backend 4 was drained",
                  f"{len(broken)} of its {len(drained)} connections broke, "
                  f"0 of the other {len(held) - len(drained)}")

    def balancer_1_reports(self):
        self.balancers[1].send_signal(signal.SIGTERM)
        report = json.loads(self.balancers[1].communicate(timeout=lab.PATIENCE_S)[0])
        self.assertEqual(self.balancers[1].returncode, 0)
        self.assertEqual(report["rx_pkts"], report["tx_pkts"] + report["consumed_pkts"]
                         + report["passed_pkts"] + sum(report["drops"].values()))
        events = report["events"]
        # Each of the sixteen addresses reaches the wrong balancer with probability 1/2.
        self.assertGreater(events["redirected"] + events["redirected_here"], 0)
        self.note("fragments that balancer 1 redirected, and got from balancer 2",
                  f"{events['redirected']}, {events['redirected_here']}")
        lost = {reason: n for reason, n in report["drops"].items() if n}
        self.assertLessEqual(set(lost), {"no_exception_port"})  # BGP and ND, for the kernel.

    def test_connections_survive_what_happens_to_balancers_and_backends(self):
        with contextlib.ExitStack() as stack:  # An interrupt skips unittest's cleanup.
            self.start(stack)
            self.start_load()
            self.each_balancer_alone_decides_the_same()
            self.a_machine_falls_silent()
            self.it_comes_back()
            self.fragments_meet_at_one_backend()
            self.drain()
            self.a_balancer_dies_during_the_drain()
            self.balancer_1_reports()
        for second, what, value in self.results:
            print(f"{second:5.1f} s  {what}: {value}")


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: needs root")
        sys.exit(77)
    if missing := lab.missing_tools():
        print("skipped: no " + ", ".join(missing))
        sys.exit(77)
    # A test runner sends SIGTERM on a timeout. Treat it as an interrupt, so that cleanup runs.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    unittest.main()
