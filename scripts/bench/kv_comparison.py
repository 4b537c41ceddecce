# SPDX-License-Identifier: BSD-3-Clause
"""Compares sluice-kv with memcached: the same protocol, items and mix of requests. Measures the
server's cost of a request on each receive path, and both servers end to end over one veth pair."""
import os
import shutil

import kv_servers
import run
from veth import Veth

CLIENT, SERVER = "10.99.8.1", "10.99.8.2"
ITEMS, KEY_BYTES, VALUE_BYTES, GET, ZIPF = 1000000, 16, 64, 0.95, 0.99
WORK = (f"memcached's ASCII protocol over UDP, one request a datagram, {ITEMS} items of "
        f"{KEY_BYTES}/{VALUE_BYTES} B, {100 * GET:.0f} % gets, Zipf {ZIPF}")
EMBEDDED = (f"--client=protocol=ascii+items={ITEMS}+key={KEY_BYTES}+value={VALUE_BYTES}+get={GET}+"
            f"zipf={ZIPF}+outstanding=4096")
# The requests in flight fit in a socket's receive buffer.
GENERATOR = ["--protocol=memcached-ascii", f"--items={ITEMS}", f"--key_bytes={KEY_BYTES}",
             f"--value_bytes={VALUE_BYTES}", f"--mix={GET}", f"--distribution=zipf:{ZIPF}",
             "--outstanding=64"]
TOOLS = ("ip", "ethtool", "sysctl")


def row(server, link, found, report=None):
    return {"server": server.name, "flags": server.flags, "path": server.path, "link": link,
            "windows": found, "client": report}


def model_nic(iface, count, duration_s):
    with kv_servers.SluiceKv(f"sluice-kv {iface}", "model NIC", f"--iface={iface}",
                             f"--items={2 * ITEMS}", "--stats_period_s=0", EMBEDDED) as server:
        server.wait_for("no responses to its client", lambda counters: counters["get_hits"] > 0)
        return row(server, "", kv_servers.windows(server, count, duration_s))


def memcached(address, link, count, duration_s, inside=()):
    with kv_servers.Memcached(address) as server:
        server.wait_for_start()
        with kv_servers.client(server.server, *GENERATOR, inside=inside) as report:
            found = kv_servers.windows(server, count, duration_s)
        return row(server, link, found, report)


def memcached_over_veth(count, duration_s):
    pair = Veth("kvb")
    with pair.up(CLIENT + "/24", here=[SERVER + "/24"]):
        return memcached(SERVER, "veth", count, duration_s, inside=pair.command())


def af_packet(count, duration_s):
    """The kernel copies each frame to a ring that it shares with the server."""
    pair, (client_cpu, server_cpu) = Veth("kvb"), kv_servers.cpus()
    with pair.up(CLIENT + "/24"), \
            kv_servers.SluiceKv("sluice-kv packetized", "af_packet",
                                f"--lcores=0@{client_cpu},1@{server_cpu}", "--no-pci",
                                f"--vdev=net_af_packet0,iface={pair.here},qdisc_bypass=1", "--",
                                f"--ip={SERVER}", f"--items={2 * ITEMS}",
                                "--stats_period_s=0") as server:
        server.wait_for("it does not start", lambda counters: True)
        with kv_servers.client((SERVER, 11211), *GENERATOR, inside=pair.command()) as report:
            found = kv_servers.windows(server, count, duration_s)
        return row(server, "veth", found, report)


def why_no_veth():
    if os.geteuid() != 0:
        return "only root can make a veth pair"
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    return f"{missing[0]} is not installed" if missing else ""


def count(ifaces):
    """Returns the number of servers that are measured or reported missing."""
    return len(ifaces) + 3


def empty():
    """Returns a comparison without measurements."""
    return {"work": WORK, "rows": [], "missing": []}


def measure(comparison, ifaces, windows, duration_s, step):
    """Fills in the rows, and a line for each missing server. Each server is sampled for the given
    number of windows of `duration_s`; `step` is called with each sample."""

    def attempt(what, why_not, one, *arguments):
        if why_not:
            comparison["missing"].append(f"{what}: not measured, {why_not}")
        else:
            try:
                comparison["rows"].append(one(*arguments, windows, duration_s))
            except (run.RunError, OSError) as error:
                comparison["missing"].append(f"{what}: FAILED: {error}")
        step(what)

    no_memcached = "" if shutil.which(kv_servers.MEMCACHED) else "it is not installed"
    no_veth = why_no_veth()
    for iface in ifaces:
        attempt(f"sluice-kv {iface}, model NIC", "", model_nic, iface)
    attempt("memcached, kernel UDP", no_memcached, memcached, "127.0.0.1", "loopback")
    attempt("sluice-kv over veth, af_packet", no_veth, af_packet)
    attempt("memcached over veth, kernel UDP", no_memcached or no_veth, memcached_over_veth)
