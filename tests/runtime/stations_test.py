#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""stations_test.py MAGLEV KV SCHED RPC CHAIN: applications that serve a station accept only frames
for its address. The NIC drops other frames if it can filter (net_ipu), otherwise the application
drops them (net_enso, net_pcap); ARP and neighbour discovery still work."""
import json
import os
import pathlib
import sys
import tempfile
import unittest

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6ND_NS, ICMPv6NDOptSrcLLAddr, IPv6
from scapy.layers.l2 import ARP, Ether

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import harness  # pylint: disable=wrong-import-position

PROGRAMS = dict(zip(("maglev", "kv", "sched", "rpc", "chain"), sys.argv[1:]))
del sys.argv[1:]
CLIENT_MAC, OURS, OURS6, VIP = "02:00:00:00:00:c1", "10.0.0.2", "fe80::2", "192.0.2.10"
PCAP_MAC = bytes.fromhex("027063617000")  # The address that DPDK's driver gives to net_pcap0.
BROADCAST, MULTICAST = b"\xff" * 6, bytes.fromhex("01005e000001")


def model_mac(name):
    """Returns the MAC address of a model NIC of this name: FNV-1a
    (lib/emulator/running_model.cc)."""
    value = 0x811c9dc5
    for byte in name.encode():
        value = (value ^ byte) * 0x01000193 & 0xffffffff
    return bytes((2, 0x53, 0x6c)) + value.to_bytes(4, "big")[1:]


# Interface, vdev, its MAC address, and whether the port itself filters.
WAYS = {
    "packetized": ("net_ipu0,wire=pcap:{}+loop=1", model_mac("net_ipu0"), True),
    "streaming": ("net_enso0,wire=pcap:{}+loop=1", model_mac("net_enso0"), False),
    "bilateral": ("net_ipu0,wire=pcap:{}+loop=1", model_mac("net_ipu0"), True),
    "coherent": ("net_ipu0,wire=pcap:{}+loop=1", model_mac("net_ipu0"), True),
    "packetized, net_pcap": ("net_pcap0,rx_pcap={0},tx_pcap={0}.out", PCAP_MAC, False),
}


def stations(mac):
    """Returns addresses of possible other stations: each differs from `mac` in one byte."""
    return [mac[:i] + bytes((mac[i] ^ 2,)) + mac[i + 1:] for i in range(6)]


def to(mac, packet):
    return (mac + bytes(Ether(src=CLIENT_MAC, dst=CLIENT_MAC) / packet)[6:]).ljust(60, b"\0")


def read_capture(path):
    data, at, frames = pathlib.Path(path).read_bytes(), 24, []
    while at < len(data):
        size = int.from_bytes(data[at + 8:at + 12], "little")
        frames.append(data[at + 16:at + 16 + size])
        at += 16 + size
    return frames


class Stations(unittest.TestCase):
    def run_frames(self, app, way, frames, expected, *flags):
        """`frames` returns frames for a MAC address. `expected` is (sent, passed on, for other
        stations)."""
        vdev, mac, filters = WAYS[way]
        sent, passed, others = expected
        drops, nic_drops = (passed, others) if filters else (passed + others, 0)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "in.pcap")
            harness.write_capture(path, frames(mac))
            report, _ = harness.run(
                PROGRAMS[app], *harness.MEMORY, "--no-pci", harness.lcores(2),
                "--vdev=" + vdev.format(path), f"--file-prefix=stations-{os.getpid()}", "--",
                f"--iface={way.split(',')[0]}", "--json=-", "--stats_period_s=0.05", *flags,
                until=[rf" drops {drops}  nic drops {nic_drops} "])
            out = read_capture(path + ".out") if "net_pcap" in way else None
        self.assertEqual(report["tx_pkts"], sent, report)
        self.assertEqual(report["drops"]["no_exception_port"], passed, report["drops"])
        self.assertEqual(report["drops"]["rx_otherhost"], 0 if filters else others)
        self.assertEqual(report["nic_drops"].get("rx_filtered", 0), others if filters else 0)
        if out is not None:
            self.assertEqual([frame[6:12] for frame in out], [mac] * sent)

    def test_a_balancer_forwards_what_is_for_it(self):
        config = {"next_hop": "02:00:00:00:00:a1", "vips": [
            {"name": "web", "address": VIP, "port": 80, "protocol": "tcp", "encapsulation": "ip",
             "backends": [{"name": "one", "address": "10.0.0.7"}]}]}

        def frames(mac):
            call = [IP(src="10.1.0.1", dst=VIP) / TCP(sport=1000 + i, dport=80, flags="S")
                    for i in range(3)]
            return [*(to(mac, c) for c in call), *(to(m, call[0]) for m in stations(mac)),
                    to(BROADCAST, call[1]), to(MULTICAST, call[2]),
                    to(BROADCAST, ARP(psrc="10.1.0.1", pdst=VIP)), to(mac, call[1])]

        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(config, file)
            file.flush()
            for way in WAYS:
                with self.subTest(way):
                    self.run_frames("maglev", way, frames, (4, 3, 6), f"--config={file.name}")

    def test_a_host_is_asked_and_answers(self):
        def frames(mac):
            udp = IP(src="10.0.0.1", dst=OURS) / UDP(sport=40000, dport=9) / b"nobody's"
            return [to(BROADCAST, ARP(hwsrc=CLIENT_MAC, psrc="10.0.0.1", pdst=OURS)),
                    to(bytes.fromhex("3333ff000002"),
                       IPv6(src="fe80::1", dst="ff02::1:ff00:2", hlim=255) / ICMPv6ND_NS(tgt=OURS6)
                       / ICMPv6NDOptSrcLLAddr(lladdr=CLIENT_MAC)),
                    to(mac, IP(src="10.0.0.1", dst=OURS) / ICMP()),
                    *(to(m, IP(src="10.0.0.1", dst=OURS) / ICMP()) for m in stations(mac)),
                    to(BROADCAST, udp)]

        for app, way in zip(("kv", "sched", "rpc", "chain"),
                            ("packetized", "packetized, net_pcap", "bilateral",
                             "packetized, net_pcap")):
            with self.subTest(app=app, way=way):
                self.run_frames(app, way, frames, (3, 1, 6), f"--ip={OURS},{OURS6}")

    def test_a_host_on_an_enso_nic_answers_its_own_alone(self):
        def frames(mac):
            ping = IP(src="10.0.0.1", dst=OURS) / ICMP()
            return [to(mac, ping), *(to(m, ping) for m in stations(mac))]

        self.run_frames("kv", "streaming", frames, (1, 0, 6), f"--ip={OURS}")

    def test_who_asks_for_them_gets_them_all(self):
        def frames(mac):
            return [to(m, IP(src="10.0.0.1", dst=OURS) / UDP(sport=40000, dport=9))
                    for m in (mac, *stations(mac))]

        self.run_frames("kv", "packetized", frames, (0, 7, 0), "--promiscuous")
        self.run_frames("kv", "packetized", frames, (0, 7, 0), "--any_destination")


if __name__ == "__main__":
    unittest.main()
