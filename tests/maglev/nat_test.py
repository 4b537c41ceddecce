#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""nat_test.py SLUICE_MAGLEV: encapsulation "nat" between unmodified kernels. A kernel's reaction to
an ICMP error or a fragment shows whether it was translated: it ignores errors that quote none of
its sockets, or whose checksums are wrong. Root only.

  client 10.0.0.2 ── router ── 10.0.11.2 balancer
                            └── 10.0.21.2 backend, whose packets the router sends to the balancer

and the same in IPv6."""

import contextlib
import errno
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

import lab
from harness import MEMORY, wait_until

BALANCER = sys.argv.pop()
TOOLS = ("ip", "ethtool", "sysctl", "setpriv")
VIPS = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}
BACKENDS = {socket.AF_INET: "10.0.21.2", socket.AF_INET6: "fd00:0:0:21::2"}
OPEN, CLOSED, WEB = 5353, 5354, 8080  # The backend's ports; the VIPs' ports are 53, 54 and 80.
NARROW_MTU = 1300                      # The MTU of the router's link to the client.

SERVER = f"""
import socket, threading
def udp(family):
    with socket.socket(family, socket.SOCK_DGRAM) as server:
        if family == socket.AF_INET6:
            server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        server.bind(("", {OPEN}))
        ready.wait()
        while True:
            data, client = server.recvfrom(100)
            server.sendto(bytes(i % 251 for i in range(int(data))), client)
def tcp(family):
    with socket.create_server(("", {WEB}), family=family) as server:
        ready.wait()
        while True:
            with server.accept()[0] as connection:
                connection.sendall(b"x" * int(connection.recv(100)))
ready = threading.Barrier(5)
for family in (socket.AF_INET, socket.AF_INET6):
    for server in (udp, tcp):
        threading.Thread(target=server, args=(family,)).start()
ready.wait()
print("ready", flush=True)
"""

CLIENT = """
import errno, json, socket, sys
for line in sys.stdin:
    kind, address, port, size = json.loads(line)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    got = b""
    with socket.socket(family, socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM) as s:
        s.settimeout(20)
        try:
            s.connect((address, port))
            s.send(str(size).encode())
            if kind == "tcp":
                while len(got) < size:
                    got += s.recv(1 << 16)
            else:
                got = s.recv(1 << 16)
            print(json.dumps([0, got.hex()]), flush=True)
        except TimeoutError:
            print(json.dumps([errno.ETIMEDOUT, ""]), flush=True)
        except OSError as error:
            print(json.dumps([error.errno, ""]), flush=True)
"""


class Nat(unittest.TestCase):
    def start(self, stack):
        self.folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="slm"))
        names = ("router", "client", "balancer", "backend")
        self.router, self.client, self.balancer, self.backend = (
            lab.Host(stack, self.folder, name) for name in names)
        self.router.sysctl("net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1",
                           "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0",
                           # The router's own errors pass through it again on the way to the
                           # backend.
                           "net.ipv4.conf.all.accept_local=1",
                           "net.ipv4.conf.all.send_redirects=0",
                           "net.ipv4.conf.default.send_redirects=0")
        lab.join(self.router, self.client, 0, 1500)
        lab.join(self.router, self.balancer, 11, 1500)
        lab.join(self.router, self.backend, 21, 1500)
        self.router.ip(f"link set client mtu {NARROW_MTU}",
                       f"route add {VIPS[socket.AF_INET]}/32 via 10.0.11.2",
                       f"route add {VIPS[socket.AF_INET6]}/128 via fd00:0:0:11::2",
                       "route add default via 10.0.11.2 table 100",
                       "route add default via fd00:0:0:11::2 table 100")
        for family in ("-4", "-6"):
            self.router.run("ip", family, "rule", "add", "iif", "backend", "lookup", "100")
        server = self.backend.start("server", sys.executable, "-c", SERVER, stdout=subprocess.PIPE)
        self.assertEqual(server.stdout.readline(), "ready\n", self.backend.log("server"))
        self.asker = self.client.start("asker", sys.executable, "-c", CLIENT,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.start_balancer()

    def start_balancer(self):
        vips = [{"name": f"{address} {port} {protocol}", "address": address, "port": port,
                 "protocol": protocol, "encapsulation": "nat",
                 "backends": [{"name": "b", "address": BACKENDS[family], "port": target}]}
                for family, address in VIPS.items()
                for port, target, protocol in ((53, OPEN, "udp"), (54, CLOSED, "udp"),
                                               (80, WEB, "tcp"))]
        config = pathlib.Path(self.folder, "maglev.json")
        config.write_text(json.dumps({"next_hop": lab.ROUTER_MAC, "vips": vips}), encoding="utf-8")
        self.process = self.balancer.start(
            "maglev", BALANCER, *MEMORY, "--no-pci", "--lcores=0@0,1@0",
            f"--file-prefix={self.balancer.netns}",
            "--vdev=net_pcap0,rx_iface_in=eth0,tx_iface=eth0", "--",
            "--promiscuous",  # The port's address is generated by net_pcap, not that of eth0.
            f"--config={config}",
            "--json=-", "--stats_period_s=0.2", stdout=subprocess.PIPE,
            env={**os.environ, "RUNTIME_DIRECTORY": self.folder})
        log = self.balancer.log("maglev")
        wait_until(lambda: self.process.poll() is not None or "Mpps" in log.read_text("utf-8"),
                   "traffic figures")
        self.assertIsNone(self.process.poll(), log.read_text("utf-8"))

    def ask(self, kind, address, port, size):
        self.asker.stdin.write(json.dumps([kind, address, port, size]) + "\n")
        self.asker.stdin.flush()
        number, answer = json.loads(self.asker.stdout.readline())
        return errno.errorcode.get(number, number), bytes.fromhex(answer)

    def check(self, address):
        # The backend's segments are too long for the link to the client, so the router sends an
        # error to the VIP, which is their source address at that point.
        self.assertEqual(self.ask("tcp", address, 80, 300_000), (0, b"x" * 300_000))
        # Responses in one frame, and in three.
        for size in (100, 3000):
            self.assertEqual(self.ask("udp", address, 53, size),
                             (0, bytes(i % 251 for i in range(size))))
        # The backend's "port unreachable" reaches the client's socket.
        self.assertEqual(self.ask("udp", address, 54, 1), ("ECONNREFUSED", b""))

    def test_errors_and_fragments_find_their_way(self):
        with contextlib.ExitStack() as stack:  # An interrupt skips unittest's cleanup.
            self.start(stack)
            for address in VIPS.values():
                with self.subTest(address):
                    self.check(address)
            self.check_report()

    def check_report(self):
        self.process.terminate()
        report = json.loads(self.process.communicate(timeout=lab.PATIENCE_S)[0])
        self.assertGreaterEqual(report["events"]["icmp_error"], 4)
        self.assertGreaterEqual(report["events"]["fragment_later"], 4)
        self.assertEqual(report["drops"]["fragment"], 0)


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: needs root")
        sys.exit(77)
    if missing := [tool for tool in TOOLS if shutil.which(tool) is None]:
        print("skipped: no " + ", ".join(missing))
        sys.exit(77)
    # A test runner sends SIGTERM on a timeout. Treat it as an interrupt, so that cleanup runs.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    unittest.main()
