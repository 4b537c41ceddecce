#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""sharding_test.py SLUICE_KV SLUICE_KV_CLIENT: three servers that register themselves in etcd, the
etcd and a client, each on a separate host on one Ethernet. One server dies, another joins, the dead
one returns. Counts the keys that move, and compares them with consistent hashing. Root only.

  client 10.99.8.1 ──┐            ┌── server N, 10.99.8.1N: sluice-kv on net_af_packet
  etcd   10.99.8.2 ──┴── bridge ──┴── server N, 10.99.8.10N: its kernel, which talks to etcd
"""

import contextlib
import ctypes
import functools
import itertools
import json
import os
import pathlib
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
import client_ketama
import harness
import etcd_lab
from harness import sh

KV_CLIENT = sys.argv.pop()
KV = sys.argv.pop()
LIBC = ctypes.CDLL(None, use_errno=True)
PATIENCE_S = 90
wait_until = functools.partial(harness.wait_until, patience_s=PATIENCE_S)
ITEMS = 3000
KEYS = [client_ketama.workload_key(item) for item in range(ITEMS)]
ITEMS_OF_A_REQUEST = 40  # The response fits in one datagram.
UNDER_WAY = 32  # Number of requests in flight. A socket's buffer can hold their responses.
CLIENT_ADDRESS, ETCD_ADDRESS = "10.99.8.1", "10.99.8.2"
PREFIX = "sluice-kv/"
VICTIM, NEWCOMER = 3, 4
LEASE_S = 8
SEEN = 30  # A new owner is known to receive sets once this many of its keys have been set again.


def name_of(server):
    return f"{address_of(server)}:11211"


def address_of(server):
    return f"10.99.8.{10 + server}"


class Host:
    """A network namespace; it is removed when `stack` unwinds."""

    def __init__(self, stack, name):
        self.stack, self.name = stack, name
        self.netns = f"skv{os.getpid()}{name}"
        # Register the cleanup first: an interrupt may occur while the namespace is created.
        stack.callback(subprocess.run, ["ip", "netns", "del", self.netns], check=False,
                       capture_output=True)
        sh("ip", "netns", "add", self.netns)
        self.run("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1",
                 "net.ipv6.conf.default.disable_ipv6=1",
                 # By default, an interface also answers ARP requests for the addresses of other
                 # interfaces.
                 "net.ipv4.conf.all.arp_ignore=1")
        self.run("ip", "link", "set", "lo", "up")

    def run(self, *command):
        return sh("ip", "netns", "exec", self.netns, *command)

    def plug_into(self, bridge, address=None, link="eth0"):
        """Adds a link of this name; without an address the kernel sends nothing on it."""
        there = f"{self.name}-{link[-1]}"
        sh("ip", "link", "add", link, "netns", self.netns, "type", "veth",
           "peer", "name", there, "netns", bridge.netns)
        # Offloads would defer checksums to hardware that a veth lacks.
        for host, interface in ((self, link), (bridge, there)):
            host.run("ethtool", "-K", interface,
                     "tx", "off", "tso", "off", "gso", "off", "gro", "off")
        bridge.run("ip", "link", "set", there, "master", "bridge", "up")
        if address:
            self.run("ip", "addr", "add", address + "/24", "dev", link)
        self.run("ip", "link", "set", link, "up")


class Process:
    """A process in a host; its output goes to `said`, except for standard output if that is a
    `report`. It ends when `stack` unwinds, and dies with this process."""

    def __init__(self, host, *command, report=False, **options):
        self.popen = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "ip", "netns", "exec", host.netns, *command],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        self.said, self.output = [], []
        self.readers = [
            threading.Thread(target=self.read, args=(self.popen.stderr, self.said)),
            threading.Thread(target=self.read,
                             args=(self.popen.stdout, self.output if report else self.said))]
        for reader in self.readers:
            reader.start()
        host.stack.callback(self.end, signal.SIGKILL)

    @staticmethod
    def read(stream, lines):
        for line in stream:
            lines.append(line)

    def end(self, how=signal.SIGTERM):
        """Ends the process with a signal, or kills it after PATIENCE_S. Returns its exit code."""
        self.popen.send_signal(how)
        watchdog = threading.Timer(PATIENCE_S, self.popen.kill)
        watchdog.start()
        self.popen.wait()
        watchdog.cancel()
        for reader in self.readers:
            reader.join()
        self.popen.stdout.close()
        self.popen.stderr.close()
        return self.popen.returncode

    def text(self):
        return "".join(self.said)

    def wait_for_line(self, part):
        def is_there():
            assert self.popen.poll() is None, self.text()
            return any(part in line for line in self.said)
        wait_until(is_there, lambda: f"{part}: {self.text()}")
        return next(line for line in self.said if part in line)


class Lab:
    def __init__(self, stack):
        self.stack = stack
        self.folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="skv"))
        self.bridge = Host(stack, "bridge")
        self.bridge.run("ip", "link", "add", "bridge", "type", "bridge", "mcast_snooping", "0")
        self.bridge.run("ip", "link", "set", "bridge", "up")
        self.client = self.host("client", CLIENT_ADDRESS)
        self.etcd = self.host("etcd", ETCD_ADDRESS)
        self.hosts = {}
        self.servers = {}

    def host(self, name, address=None):
        host = Host(self.stack, name)
        host.plug_into(self.bridge, address)
        return host

    def start_etcd(self):
        url, peers = f"http://{ETCD_ADDRESS}:2379", f"http://{ETCD_ADDRESS}:2380"
        Process(self.etcd, etcd_lab.ETCD, "--data-dir", self.folder + "/etcd",
                "--listen-client-urls", url,
                "--advertise-client-urls", url, "--listen-peer-urls", peers,
                "--initial-advertise-peer-urls", peers, "--initial-cluster", "default=" + peers,
                *etcd_lab.ALONE).wait_for_line("ready to serve client requests")

    def start_servers(self, *servers):
        """The servers share two processors, on which all of them poll."""
        for server in servers:
            if server not in self.hosts:
                self.hosts[server] = self.host(f"server{server}")
                self.hosts[server].plug_into(self.bridge, f"10.99.8.{100 + server}", "eth1")
            cpu = server % min(2, os.cpu_count())
            self.servers[server] = Process(
                self.hosts[server], KV, *harness.MEMORY, "--no-pci",
                f"--lcores=0@{cpu},1@{cpu}", f"--file-prefix=server{server}",
                "--vdev=net_af_packet0,iface=eth0", "--", "--ip=" + address_of(server),
                # Cache mode would evict a key for another one in the same bucket with an equal tag.
                "--mode=store", "--memory_mb=16", f"--items={ITEMS}", "--stats_period_s=0.1",
                f"--register={ETCD_ADDRESS}:2379/{PREFIX}", f"--register_as={name_of(server)}",
                f"--register_lease_s={LEASE_S}", "--json=-",
                report=True, env={**os.environ, "RUNTIME_DIRECTORY": self.folder})
        for server in servers:
            self.servers[server].wait_for_line(f"register: {name_of(server)} is registered")

    def start_client(self):
        self.report = self.folder + "/client.json"
        return Process(
            self.client, KV_CLIENT, f"--servers_etcd={ETCD_ADDRESS}:2379/{PREFIX}",
            "--protocol=memcached-ascii", f"--items={ITEMS}", "--outstanding=16", "--rate=1000",
            "--mix=0.7", "--duration_s=0", "--timeout_ms=5000", f"--patience_s={PATIENCE_S}",
            "--json=" + self.report)

    def held(self, *servers):
        """Returns {key: value} of each server."""
        with open("/proc/thread-self/ns/net", "rb") as here, \
                open("/run/netns/" + self.client.netns, "rb") as there:
            try:
                if LIBC.setns(there.fileno(), 0) != 0:
                    raise OSError(ctypes.get_errno(), "setns")
                udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            finally:
                LIBC.setns(here.fileno(), 0)
        requests = {(address_of(server), first): b"get " + b" ".join(
                        KEYS[first:first + ITEMS_OF_A_REQUEST]) + b"\r\n"
                    for first in range(0, ITEMS, ITEMS_OF_A_REQUEST) for server in servers}
        found = {address_of(server): {} for server in servers}
        with udp:
            udp.settimeout(2)
            for (address, _), answer in ask(udp, requests):
                found[address].update(values_of(answer))
        return {server: found[address_of(server)] for server in servers}


def ask(udp, requests):
    """Yields responses to requests by (address, number), several at a time, in any order, in
    memcached's UDP frames (protocol.txt, "UDP protocol"). The kernel may lose either direction, so
    unanswered requests are repeated."""
    deadline = time.monotonic() + PATIENCE_S
    waiting = dict(requests)
    while waiting and time.monotonic() < deadline:
        asked = list(itertools.islice(waiting, UNDER_WAY))
        for address, number in asked:
            udp.sendto(struct.pack(">HHHH", number, 0, 1, 0) + waiting[address, number],
                       (address, 11211))
        with contextlib.suppress(TimeoutError):
            while any(one in waiting for one in asked):
                answer, sender = udp.recvfrom(65536)
                one = sender[0], struct.unpack_from(">H", answer)[0]
                if waiting.pop(one, None) is not None:
                    assert struct.unpack_from(">HHH", answer, 2) == (0, 1, 0), answer[:8]
                    yield one, answer[8:]
    if waiting:
        raise TimeoutError(next(iter(waiting)))


def values_of(answer):
    """Returns the values by key in the response to an ASCII get, which must be complete."""
    found = {}
    while not answer.startswith(b"END\r\n"):
        line, answer = answer.split(b"\r\n", 1)
        word, key, _, length = line.split(b" ")
        assert word == b"VALUE", line
        found[key], answer = answer[:int(length)], answer[int(length) + 2:]
    assert answer == b"END\r\n", answer
    return found


def versions(values):
    """Returns the number of sets of each key so far: the client's values begin with it."""
    return {key: struct.unpack_from("<I", value)[0] for key, value in values.items()}


@unittest.skipIf(os.geteuid() != 0, "namespaces need root")
@unittest.skipUnless(etcd_lab.INSTALLED, etcd_lab.MISSING)
class Sharding(unittest.TestCase):
    def place(self, *servers):
        """Returns the server of each key, according to both implementations."""
        names = {name_of(server): server for server in servers}
        placed = client_ketama.place(list(names), KEYS)
        self.assertIn(client_ketama.libmemcached_place(list(names), KEYS), (None, placed))
        return {key: names[name] for key, name in placed.items()}

    def check_line(self, servers, before, after, what):
        """Checks the client's line about moved keys. Returns the moved keys."""
        moved = client_ketama.moved(before, after)
        line = self.client.wait_for_line(f"{servers} servers: ")
        self.assertEqual(line, f"{servers} servers: {len(moved)} of {ITEMS} items moved\n")
        print(f"{what}: {len(moved)} of {ITEMS} keys moved, {len(moved) / ITEMS:.1%}")
        self.moves.append(len(moved))
        return moved

    def check_untouched(self, before, after, held_before):
        """Checks that each key that stays with its server still exists, and is not older than
        before."""
        servers = set(after.values()) & set(held_before)
        held = self.lab.held(*servers)
        untouched = 0
        for server in servers:
            old, new = versions(held_before[server]), versions(held[server])
            for key, owner in after.items():
                if owner == before[key] == server:
                    self.assertGreaterEqual(new[key], old[key], (server, key))
                    untouched += 1
        print(f"  {untouched} untouched keys answered by the {len(servers)} servers that had them")

    def wait_for_sets(self, server, owned):
        """Waits until at least SEEN keys are set on the server, all of which must be in `owned`."""
        def some():
            held = set(self.lab.held(server)[server])
            self.assertLessEqual(held, owned)
            return len(held) >= SEEN
        wait_until(some, lambda: f"sets for server {server}: {self.client.text()}")

    def check_first_placement(self, before):
        held = self.lab.held(1, 2, 3)
        for server, values in held.items():
            own = {key for key in KEYS if before[key] == server}
            self.assertEqual(set(values), own)
            print(f"server {server}: {len(own)} keys")
        return held

    def one_dies(self, before, fewer, held):
        self.assertEqual(self.lab.servers[VICTIM].end(signal.SIGKILL), -signal.SIGKILL)
        moved = self.check_line(2, before, fewer, f"server {VICTIM} killed")
        self.assertEqual(moved, set(held[VICTIM]))
        self.check_untouched(before, fewer, {s: held[s] for s in held if s != VICTIM})
        # Sets of these keys go to their new owner.
        wait_until(lambda: sum(len(moved & set(values))
                             for values in self.lab.held(1, 2).values()) >= SEEN,
                 lambda: f"sets of keys that moved: {self.client.text()}")

    def one_joins(self, server, before, after, what):
        held = self.lab.held(*set(before.values()))
        self.lab.start_servers(server)
        moved = self.check_line(len(set(after.values())), before, after, what)
        own = {key for key in KEYS if after[key] == server}
        self.assertEqual(moved, own)
        share = ITEMS / len(set(after.values()))
        self.assertTrue(share / 2 < len(own) < share * 2, f"{len(own)} of {share}")
        # Keys that were not set again after the server's death are lost.
        have = {s: {key: value for key, value in values.items() if before[key] == s}
                for s, values in held.items()}
        still = {key: s for s, values in have.items() for key in values}
        self.check_untouched({key: before[key] for key in still},
                             {key: after[key] for key in still}, have)
        self.wait_for_sets(server, own)

    def test_a_server_dies_another_joins_and_the_dead_one_returns(self):
        self.moves = []
        three, two = self.place(1, 2, 3), self.place(1, 2)
        other_three, four = self.place(1, 2, 4), self.place(1, 2, 3, 4)
        with contextlib.ExitStack() as stack:
            self.lab = Lab(stack)
            self.lab.start_etcd()
            self.lab.start_servers(1, 2, 3)
            self.client = self.lab.start_client()
            self.client.wait_for_line(f"preloaded {ITEMS} items")
            held = self.check_first_placement(three)
            self.one_dies(three, two, held)
            self.one_joins(NEWCOMER, two, other_three, f"server {NEWCOMER} added")
            self.one_joins(VICTIM, other_three, four, f"server {VICTIM} back")
            self.assertEqual(self.client.end(), 0, self.client.text())
            with open(self.lab.report, encoding="utf-8") as file:
                report = json.load(file)
            for server, process in self.lab.servers.items():
                self.assertEqual(process.end(), 0, process.text())
                served = json.loads("".join(process.output))
                self.assertEqual(served["memcached"]["errors"], 0, (server, served))
                self.assertEqual(served["store"]["evicted"], 0, (server, served))
        print("client: " + ", ".join(f"{name} {report[name]}" for name in (
            "servers", "server_changes", "items_moved", "hits", "misses", "stored", "lost",
            "corrupted")))
        self.assertEqual(report["servers"], 4)
        self.assertEqual(report["server_changes"], 3)
        self.assertEqual(report["items_moved"], sum(self.moves))
        self.assertEqual(report["preloaded"], ITEMS)
        self.assertGreater(report["hits"], 0)
        for nothing in ("corrupted", "refused", "malformed", "strangers"):
            self.assertEqual(report[nothing], 0, report)


if __name__ == "__main__":
    # A test runner sends SIGTERM on a timeout. Treat it as an interrupt, so that cleanup runs.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    unittest.main()
