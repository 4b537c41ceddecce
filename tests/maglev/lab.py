# SPDX-License-Identifier: BSD-3-Clause
"""A small data centre in network namespaces: a client, a router with BIRD that spreads flows by
ECMP, balancers that announce VIPs to it by BGP, and backends that reply directly to the client.

  client 10.0.0.2 … 10.0.0.9 ── router ── 10.0.1N.2 balancer N     (router's end: .1)
                                       ├── 10.0.2N.2 backend N

and the same in IPv6, fd00:0:0:0::/64, fd00:0:0:1N::/64, fd00:0:0:2N::/64. Internal links carry
packets of 1600 bytes, so that the client's packets of 1500 fit after encapsulation."""

import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import MEMORY, sh, wait_until

HERE = pathlib.Path(__file__).resolve().parent
CONFIGS = HERE.parents[1] / "configs" / "scale_out"
BALANCERS, BACKENDS = (1, 2), (1, 2, 3, 4)
VIP4, VIP6, PORT = "192.0.2.1", "2001:db8::1", 80
CLIENT_HOSTS = range(2, 10)
CLIENT_ADDRESSES = [f"10.0.0.{i}" for i in CLIENT_HOSTS] + [f"fd00::{i}" for i in CLIENT_HOSTS]
ROUTER_MAC = "02:00:00:00:00:01"  # The router's address on every link, as in balancer.json.
INSIDE_MTU = 1600
PATIENCE_S = 30
TOOLS = ("ip", "tc", "ethtool", "sysctl", "setpriv", "bird", "birdc", "clang-14")


def missing_tools():
    return [tool for tool in TOOLS if shutil.which(tool) is None]


class Host:
    """A namespace and its processes. Both are removed when `stack` unwinds."""

    def __init__(self, stack, folder, name):
        self.stack, self.folder, self.name = stack, folder, name
        self.netns = f"slm{os.getpid()}{name}"
        # Register the cleanup first: an interrupt may occur while the namespace is created.
        stack.callback(subprocess.run, ["ip", "netns", "del", self.netns], check=False,
                       capture_output=True)
        sh("ip", "netns", "add", self.netns)
        self.sysctl("net.ipv6.conf.all.accept_dad=0", "net.ipv6.conf.default.accept_dad=0")
        self.ip("link set lo up")

    def ip(self, *lines):
        return sh("ip", "-n", self.netns, "-batch", "-", text="\n".join(lines) + "\n")

    def run(self, *command):
        return sh("ip", "netns", "exec", self.netns, *command)

    def sysctl(self, *settings):
        self.run("sysctl", "-qw", *settings)

    def log(self, program):
        return pathlib.Path(self.folder, f"{self.name}.{program}.log")

    def start(self, program, *command, **streams):
        """Starts a process in here that dies with this one, and returns it. Its errors go to
        log(program)."""
        with open(self.log(program), "w", encoding="utf-8") as log:
            process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "ip", "netns", "exec", self.netns, *command],
                stderr=log, text=True, **{"stdout": log, **streams})
        self.stack.callback(end, process)
        return process

    def start_bird(self, config):
        path = pathlib.Path(self.folder, self.name + ".bird.conf")
        path.write_text(config, encoding="utf-8")
        self.control = str(path.with_suffix(".ctl"))
        return self.start("bird", "bird", "-f", "-c", str(path), "-s", self.control)

    def birdc(self, *command):
        return sh("birdc", "-s", self.control, *command)


def end(process):
    """Kills the process and waits for its end."""
    process.kill()
    process.wait(timeout=PATIENCE_S)
    for stream in (process.stdin, process.stdout):
        if stream:
            with contextlib.suppress(BrokenPipeError):
                stream.close()


def join(router, host, network, mtu, hosts=(2,)):
    """Creates a link: `eth0` of the host and its peer in the router."""
    twin = host.name
    sh("ip", "link", "add", "eth0", "netns", host.netns, "mtu", str(mtu), "type", "veth",
       "peer", "name", twin, "netns", router.netns, "mtu", str(mtu), "address", ROUTER_MAC)
    # Offloads would defer checksums to hardware that a veth lacks.
    for end_of, interface in ((host, "eth0"), (router, twin)):
        end_of.run("ethtool", "-K", interface,
                   "tx", "off", "tso", "off", "gso", "off", "gro", "off")
    router.ip(f"addr add 10.0.{network}.1/24 dev {twin}",
              f"addr add fd00:0:0:{network}::1/64 dev {twin} nodad", f"link set {twin} up")
    host.ip(*(f"addr add 10.0.{network}.{i}/24 dev eth0" for i in hosts),
            *(f"addr add fd00:0:0:{network}::{i}/64 dev eth0 nodad" for i in hosts),
            "link set eth0 up",
            f"route add default via 10.0.{network}.1",
            f"route add default via fd00:0:0:{network}::1")


class Lab:
    def __init__(self, stack):
        self.folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="slm"))
        self.stack = stack
        self.router = self.host("router")
        self.router.sysctl("net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1",
                           "net.ipv4.fib_multipath_hash_policy=1",
                           "net.ipv6.fib_multipath_hash_policy=1",
                           # Outer source addresses are derived from flows, so no route leads to
                           # them.
                           "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0")
        self.client = self.host("client")
        join(self.router, self.client, 0, 1500, CLIENT_HOSTS)
        self.router.run("tc", "qdisc", "add", "dev", "client", "clsact")
        self.router.run("tc", "filter", "add", "dev", "client", "ingress", "bpf", "direct-action",
                        "obj", self.compile("wire"), "sec", "tc")
        self.balancers = {n: self.balancer(n) for n in BALANCERS}
        program = self.compile("decapsulate")
        self.backends = {n: self.backend(n, program) for n in BACKENDS}
        self.router.start_bird((CONFIGS / "router.bird.conf").read_text(encoding="utf-8"))

    def host(self, name):
        return Host(self.stack, self.folder, name)

    def balancer(self, n):
        host = self.host(f"balancer{n}")
        join(self.router, host, 10 + n, INSIDE_MTU)
        return host

    def start_announcing(self, n):
        """Starts BIRD of balancer n, with the file for number 1 except for the number."""
        config = (CONFIGS / "balancer1.bird.conf").read_text(encoding="utf-8")
        for old, new in (("10.0.255.1", f"10.0.255.{n}"), ("10.0.11.", f"10.0.1{n}."),
                         ("fd00:0:0:11:", f"fd00:0:0:1{n}:"),
                         ("fd00:0:0:ff::1", f"fd00:0:0:ff::{n}")):
            config = config.replace(old, new)
        return self.balancers[n].start_bird(config)

    def compile(self, name):
        program = str(pathlib.Path(self.folder, name + ".o"))
        sh("clang-14", "-O2", "-Wall", "-Werror", "-target", "bpf",
           f"-I/usr/include/{os.uname().machine}-linux-gnu", "-c", str(HERE / f"{name}.bpf.c"),
           "-o", program)
        return program

    def backend(self, n, program):
        host = self.host(f"backend{n}")
        join(self.router, host, 20 + n, INSIDE_MTU)
        host.ip(f"addr add {VIP4}/32 dev lo", f"addr add {VIP6}/128 dev lo nodad",
                f"link set dev eth0 xdp obj {program} sec xdp")
        server = host.start("web", sys.executable, str(HERE / "http_backend.py"), host.name,
                            str(PORT), VIP4, VIP6, stdout=subprocess.PIPE)
        assert server.stdout.readline() == "ready\n", host.log("web").read_text(encoding="utf-8")
        return host

    def paths(self):
        """Returns the balancers that the router's kernel spreads VIP traffic over, for IPv4 and
        IPv6."""
        return tuple({n for n in BALANCERS if gateway(n) in self.route(family, vip)}
                     for family, vip, gateway in (
                         ("-4", VIP4 + "/32", lambda n: f"via 10.0.1{n}.2 "),
                         ("-6", VIP6 + "/128", lambda n: f"via fd00:0:0:1{n}::2 ")))

    def route(self, family, prefix):
        return sh("ip", "-n", self.router.netns, family, "route", "show", prefix)

    def wait_for_paths(self, *balancers):
        wait_until(lambda: self.paths() == (set(balancers),) * 2,
                   f"routes through balancers {balancers}: {self.paths()}")

    def balancer_config(self, n, drained=()):
        """Returns the configuration of balancer 1 except for the number."""
        config = json.loads((CONFIGS / "balancer1.json").read_text(encoding="utf-8"))
        config["own_address"] = f"fd00:0:0:ff::{n}"
        for vip in config["vips"]:
            for backend in vip["backends"]:
                backend["state"] = "draining" if backend["name"] in drained else "up"
        path = pathlib.Path(self.folder, f"balancer{n}.json")
        path.write_text(json.dumps(config), encoding="utf-8")
        return path

    def start_balancer(self, binary, n):
        """Starts sluice-maglev on the link of balancer n, waits for its traffic figures, and
        returns the process. It reports on standard output. (It uses net_pcap, because net_af_packet
        makes the kernel reassemble IPv4 fragments first.)"""
        host = self.balancers[n]
        process = host.start(
            "maglev", binary, *MEMORY, "--no-pci", f"--lcores=0@{n - 1},1@{n - 1}",
            f"--file-prefix={host.name}", "--vdev=net_pcap0,rx_iface_in=eth0,tx_iface=eth0", "--",
            "--promiscuous",  # The port's address is net_pcap's, not eth0's.
            f"--config={self.balancer_config(n)}", "--json=-", "--stats_period_s=0.5",
            stdout=subprocess.PIPE, env={**os.environ, "RUNTIME_DIRECTORY": self.folder})
        wait_until(lambda: process.poll() is not None or "Mpps" in self.said(n), "traffic figures")
        assert process.poll() is None, self.said(n)
        return process

    def ask_balancer(self, n, command):
        """Returns the reply of DPDK's telemetry."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as telemetry:
            telemetry.settimeout(PATIENCE_S)
            telemetry.connect(f"{self.folder}/dpdk/{self.balancers[n].name}/dpdk_telemetry.v2")
            telemetry.recv(1 << 14)
            telemetry.send(command.encode())
            return json.loads(telemetry.recv(1 << 14))

    def said(self, n):
        return self.balancers[n].log("maglev").read_text(encoding="utf-8")
