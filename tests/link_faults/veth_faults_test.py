#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Either process of a bilateral NIC dies, freezes or is reset while frames pass, observed from the
other end of the cable: this process sends numbered frames through a veth pair and checks every
returned one. No frame is duplicated or truncated; frames lost to an event were in flight at that
time; all later frames return. Root only."""

import contextlib
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
import zlib

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import processes
from harness import wait_until

ECHO = sys.argv.pop()
DEVICE = sys.argv.pop()
ID = str(os.getpid())
NETNS, HERE, THERE = "sluicef" + ID, "slf" + ID, "slg" + ID
# IEEE 802 local experimental EtherType, which no stack answers.
HEADER = bytes.fromhex("02536c000001" "02536c000002" "88b5")
RATE_PPS = 1000
SO_RCVBUFFORCE = 33  # From asm-generic/socket.h; Python does not define it.
SETTLED = 400  # Traffic is considered settled when this many consecutive frames have all returned.


def frame(number):
    body = struct.pack("!Q", number) + bytes((number + i) % 251 for i in range(60 + number % 900))
    return HEADER + b"\0" + body + struct.pack("!I", zlib.crc32(body))


def number_of(data):
    """Returns the frame's number if all of its bytes are correct, else None. The echo exchanged the
    addresses and added 1 to the first byte after them."""
    body, check = data[15:-4], data[-4:]
    if data[:15] != HEADER[6:12] + HEADER[:6] + HEADER[12:] + b"\1" or len(body) < 8:
        return None
    if struct.unpack("!I", check)[0] != zlib.crc32(body):
        return None
    return struct.unpack("!Q", body[:8])[0]


class Cable:
    """The far end: sends at a constant rate and stores the returned frames by number."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88B5))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)
        self.socket.bind((THERE, 0))
        self.socket.settimeout(0.1)
        self.sent, self.returned, self.duplicates, self.damaged = 0, set(), 0, 0
        self.latest = -1
        self.running, self.sending = True, False
        self.threads = [threading.Thread(target=self.send), threading.Thread(target=self.receive)]
        for thread in self.threads:
            thread.start()

    def send(self):
        while self.running:
            if self.sending:
                for _ in range(RATE_PPS // 500):
                    with contextlib.suppress(OSError):
                        self.socket.send(frame(self.sent))
                    self.sent += 1
            time.sleep(0.002)

    def receive(self):
        while self.running:
            try:
                data, origin = self.socket.recvfrom(4096)
            except TimeoutError:
                continue
            if origin[2] == socket.PACKET_OUTGOING:
                continue
            number = number_of(data)
            if number is None:
                self.damaged += 1
            elif number in self.returned:
                self.duplicates += 1
            else:
                self.returned.add(number)
                self.latest = max(self.latest, number)

    def wait_for_return(self, number, patience_s=processes.PATIENCE_S):
        """Waits for a frame with this number or a later one."""
        wait_until(lambda: self.latest >= number,
                   lambda: f"nothing from {number} on came back; {self.sent} sent", patience_s)

    def missing(self, begin, end):
        return sum(n not in self.returned for n in range(begin, end))

    def close(self):
        self.running = False
        for thread in self.threads:
            thread.join()
        self.socket.close()


@contextlib.contextmanager
def veth():
    """Creates the pair, with the NIC's end in a separate namespace: net_af_packet's socket receives
    from every interface of its namespace until it is bound, and would receive frames twice, leaving
    one end and arriving at the other."""
    run = lambda *command: subprocess.run(command, check=True, capture_output=True, timeout=60)
    run("ip", "netns", "add", NETNS)
    try:
        run("ip", "link", "add", THERE, "type", "veth", "peer", "name", HERE, "netns", NETNS)
        for inside, name in (([], THERE), (["ip", "netns", "exec", NETNS], HERE)):
            run(*inside, "sysctl", "-qw", f"net.ipv6.conf.{name}.disable_ipv6=1")
            run(*inside, "ip", "link", "set", name, "up")
        yield
    finally:
        # Delete the pair first: it would disappear only some time after its namespace, and the next
        # test needs its name.
        subprocess.run(["ip", "link", "del", THERE], check=False, capture_output=True, timeout=60)
        run("ip", "netns", "del", NETNS)


class Faults(unittest.TestCase):
    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        folder = self.stack.enter_context(tempfile.TemporaryDirectory())
        self.nic_socket = processes.own_socket(folder)
        self.stack.enter_context(veth())
        self.cable = Cable()
        self.stack.callback(self.cable.close)
        self.starts = 0
        self.nic = self.start_nic()
        self.host = self.start_host()
        self.cable.sending = True
        self.cable.wait_for_return(0)

    def start_nic(self):
        nic = processes.device(DEVICE, self.nic_socket, "--wire=port:net_af_packet0",
                               eal=[f"--vdev=net_af_packet0,iface={HERE},framecnt=4096",
                                    f"--file-prefix=slfd{ID}_{self.starts}"],
                               prefix=["ip", "netns", "exec", NETNS])
        self.starts += 1
        self.stack.callback(nic.end)
        return nic

    def start_host(self):
        host = processes.echo(ECHO, self.nic_socket, f"slfh{ID}_{self.starts}")
        self.starts += 1
        self.stack.callback(host.end)
        return host

    def settle(self):
        """Waits until traffic passes again: all frames sent from now on return."""
        # Frames pass in order, so the first wait covers the frames that were queued before this
        # call, and the second those that were queued during it.
        for _ in range(2):
            self.cable.wait_for_return(self.cable.sent)
        begin = self.cable.sent
        end = begin + SETTLED
        self.cable.wait_for_return(end)
        wait_until(lambda: self.cable.missing(begin, end) == 0,
                   lambda: f"{self.cable.missing(begin, end)} of {SETTLED} frames are missing")
        self.assertEqual((self.cable.duplicates, self.cable.damaged), (0, 0))

    def finish(self):
        """Stops the traffic, then both ends; returns the host's and the NIC's report."""
        self.settle()
        self.cable.sending = False
        wait_until(lambda: self.cable.latest == self.cable.sent - 1, "the last frame")
        host = self.host.stop()
        nic = self.nic.stop()
        self.assertEqual((self.cable.duplicates, self.cable.damaged), (0, 0))
        self.assertEqual(host["links"]["faults"], 0)
        sent, returned = self.cable.sent, len(self.cable.returned)
        print(f"{self._testMethodName}: {sent} sent, {returned} came back, "
              f"{self.cable.duplicates} twice, {self.cable.damaged} damaged; links {host['links']}")
        return host, nic

    def test_host_killed_and_started_again(self):
        for _ in range(2):
            self.host.kill()
            self.host = self.start_host()
            self.settle()
        host, _ = self.finish()
        self.assertLessEqual(host["links"]["in_doubt"], 1)

    def test_nic_killed_and_started_again(self):
        for _ in range(2):
            self.nic.kill()
            self.nic = self.start_nic()
            self.settle()
        host, _ = self.finish()
        # The host survived both deaths of the NIC.
        self.assertEqual(host["links"]["resets"], 2)
        self.assertLessEqual(host["links"]["in_doubt"], 2)
        self.assertGreater(host["rx_pkts"], 0)

    def test_both_killed(self):
        self.host.kill()
        self.nic.kill()
        self.nic = self.start_nic()
        self.host = self.start_host()
        self.finish()

    def test_freeze_and_thaw_and_link_reset(self):
        for process in (self.host, self.nic):
            process.signal(signal.SIGSTOP)
            time.sleep(0.5)
            process.signal(signal.SIGCONT)
            self.settle()
        for _ in range(3):
            self.nic.signal(signal.SIGHUP)
            self.host.wait_for("the device is back")
            self.settle()
        host, _ = self.finish()
        self.assertEqual(host["links"]["resets"], 3)


if __name__ == "__main__":
    # A test runner sends SIGTERM on a timeout. Treat it as an interrupt, so that cleanup runs.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    unittest.main()
