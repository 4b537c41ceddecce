#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A real client: sluice-echo on one end of a veth pair, Linux in a network namespace on the other.
Linux resolves --ip by ARP, pings it, and receives its UDP datagrams or the bytes of its TCP connections
back. Root only."""

import contextlib
import json
import pathlib
import signal
import subprocess
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "bench"))
import harness  # pylint: disable=wrong-import-position
import private_folder  # pylint: disable=wrong-import-position,unused-import
from veth import Veth  # pylint: disable=wrong-import-position

ECHO = sys.argv.pop()
PAIR = Veth("sl")
CLIENT, SERVER = "10.99.0.1", "10.99.0.2"

# Sends datagrams of many sizes and prints how many came back with one byte changed by 1. Arguments:
# the address, and the timeout in seconds.
UDP_CLIENT = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(float(sys.argv[2]))
back = 0
for size in range(1, 1400, 50):
    data = bytes((size + i) % 251 for i in range(size))
    s.sendto(data, (sys.argv[1], 7))
    reply, sender = s.recvfrom(2048)
    changed = [(a, b) for a, b in zip(data, reply) if a != b]
    if sender == (sys.argv[1], 7) and len(reply) == size and len(changed) == 1:
        back += (changed[0][1] - changed[0][0]) % 256 == 1
print(back)
"""

# Pings through a raw socket (RFC 792: type 8 code 0) and prints how many replies were correct.
PING_CLIENT = """
import socket, struct, sys
def checksum(data):
    total = sum(struct.unpack('!%dH' % (len(data) // 2), data))
    total = (total & 0xffff) + (total >> 16)
    return ~((total & 0xffff) + (total >> 16)) & 0xffff
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
s.settimeout(5)
right = 0
for sequence in range(3):
    body = bytes(range(56))
    echo = struct.pack('!BBHHH', 8, 0, 0, 77, sequence) + body
    echo = echo[:2] + struct.pack('!H', checksum(echo)) + echo[4:]
    s.sendto(echo, (sys.argv[1], 0))
    reply = s.recv(2048)[20:]
    right += (reply[0] == 0 and reply[4:] == echo[4:] and checksum(reply) == 0)
print(right)
"""

# Sends bytes over several connections at once, closes the sending direction, and prints how many
# connections returned all bytes before they closed. Argument: the address.
TCP_CLIENT = """
import random, socket, sys, threading
def talk(number, good):
    data = random.Random(number).randbytes(number * 20000 + 1)
    with socket.create_connection((sys.argv[1], 7), timeout=60) as s:
        def send():
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
        sender = threading.Thread(target=send)
        sender.start()
        back = b''.join(iter(lambda: s.recv(65536), b''))
        sender.join()
    if back == data:
        good.append(number)
good = []
threads = [threading.Thread(target=talk, args=(number, good)) for number in range(20)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(good))
"""


def veth(**options):
    # Linux sends partial checksums by default. A checksum that is updated before it is complete
    # remains wrong.
    return PAIR.up(CLIENT + "/24", **{"partial_checksums": True, **options})


@contextlib.contextmanager
def echo(*arguments):
    process = subprocess.Popen(
        [ECHO, "--no-huge", "-m", "512", "--no-pci", "--lcores=0@0,1@0", *arguments,
         f"--ip={SERVER}", "--json=-", "--stats_period_s=0.05"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    report = {}
    try:
        for line in process.stderr:
            if "Mpps" in line:
                break
        yield report
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            stdout, stderr = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
    assert process.returncode == 0, stderr
    report.update(json.loads(stdout))


class Veth(unittest.TestCase):
    def talk(self, *arguments):
        with veth(), echo(*arguments) as report:
            self.assertEqual(PAIR.run("python3", "-c", UDP_CLIENT, SERVER, "5").strip(), "28")
            self.assertEqual(PAIR.run("python3", "-c", PING_CLIENT, SERVER).strip(), "3")
            self.assertIn("lladdr", PAIR.run("ip", "neigh", "show", SERVER))
        self.assertEqual(report["rx_pkts"], report["tx_pkts"] + report["consumed_pkts"]
                         + sum(report["drops"].values()))
        self.assertGreaterEqual(report["tx_pkts"], 28 + 3 + 1)
        return report

    def test_packetized(self):
        self.talk(f"--vdev=net_af_packet0,iface={PAIR.here}",
                  "--vdev=net_ipu0,wire=port:net_af_packet0", "--")

    def test_bilateral(self):
        report = self.talk(f"--vdev=net_af_packet0,iface={PAIR.here}",
                           "--vdev=net_ipu0,wire=port:net_af_packet0", "--", "--iface=bilateral")
        self.assertGreater(report["links"]["swaps"], 0)

    def test_packetized_without_a_model(self):
        self.talk(f"--vdev=net_af_packet0,iface={PAIR.here}", "--")

    def test_streaming(self):
        # An Ensō NIC cannot send ARP, so ARP frames leave through the exception port. (A second
        # net_af_packet is impossible, because all instances in one process share the frames of an
        # interface.)
        report = self.talk(f"--vdev=net_af_packet0,iface={PAIR.here}",
                           f"--vdev=net_pcap0,iface={PAIR.here}",
                           "--vdev=net_enso0,wire=port:net_af_packet0", "--", "--iface=streaming",
                           "--exception_port=net_pcap0")
        self.assertEqual(report["drops"]["tx_unframeable"], 0)

    def test_streaming_without_a_model(self):
        self.talk(f"--vdev=net_af_packet0,iface={PAIR.here}", "--", "--iface=streaming")

    @unittest.skipUnless(harness.has_tcp(ECHO), "this build has no TCP")
    def test_tcp(self):
        ipu = f"--vdev=net_af_packet0,iface={PAIR.here}", "--vdev=net_ipu0,wire=port:net_af_packet0"
        enso = (f"--vdev=net_af_packet0,iface={PAIR.here}", f"--vdev=net_pcap0,iface={PAIR.here}",
                "--vdev=net_enso0,wire=port:net_af_packet0")
        streaming = ("streaming", enso, ("--exception_port=net_pcap0",))
        nic = ("--tcp_on=nic",)
        for iface, devices, more in (("packetized", ipu, ()), ("bilateral", ipu, ()),
                                     ("coherent", ipu, ()), streaming, ("bilateral", ipu, nic),
                                     (*streaming[:2], streaming[2] + nic)):
            with self.subTest(iface=iface, more=more), veth(partial_checksums=False), \
                    echo(*devices, "--", f"--iface={iface}", "--transport=tcp", *more) as report:
                self.assertEqual(PAIR.run("python3", "-c", TCP_CLIENT, SERVER).strip(), "20")
            sent = sum(number * 20000 + 1 for number in range(20))
            tcp = report["tcp"]
            self.assertEqual((tcp["opened"], tcp["rx_bytes"], tcp["tx_bytes"]), (20, sent, sent))
            self.assertEqual((tcp["finished"], tcp["bad_segments"], tcp["discarded_bytes"]),
                             (20, 0, 0))

    def test_streaming_without_an_exception_port_counts_what_cannot_leave(self):
        with veth(), echo(f"--vdev=net_af_packet0,iface={PAIR.here}",
                          "--vdev=net_enso0,wire=port:net_af_packet0", "--",
                          "--iface=streaming") as report:
            # The client's ARP request is answered, but the reply cannot be sent.
            client = subprocess.run(PAIR.command("python3", "-c", UDP_CLIENT, SERVER, "0.5"), check=False,
                                    capture_output=True, timeout=30)
            self.assertNotEqual(client.returncode, 0)
        self.assertGreater(report["drops"]["tx_unframeable"], 0)


if __name__ == "__main__":
    # A test runner sends SIGTERM on a timeout. Treat it as an interrupt, so that cleanup runs.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    unittest.main()
