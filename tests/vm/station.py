# SPDX-License-Identifier: BSD-3-Clause
"""A station on the wire of a guest's emulated NICs: a process of the host that sends and receives
frames."""
import os
import pathlib
import socket
import tempfile
import threading
import time

from scapy.layers.l2 import ARP, Ether

MAC, IP = "02:00:00:00:aa:01", "10.0.0.9"
LONGEST = 65536


class Station:
    """Use it as a context. `connect` is required before `send`."""

    def __init__(self):
        folder = tempfile.mkdtemp(prefix=f"sluice-vm-{os.getpid()}-station-")
        self.path = pathlib.Path(folder, "station.sock")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.path))
        self.frames = []
        self.changed = threading.Condition()
        self.thread = threading.Thread(target=self._receive, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RD)  # This makes the thread end.
        self.thread.join()
        self.socket.close()
        self.path.unlink()
        self.path.parent.rmdir()

    def _receive(self):
        while data := self.socket.recv(LONGEST):
            with self.changed:
                self.frames.append(data)
                self.changed.notify()

    def connect(self, running):
        """Sends to this guest from now on."""
        self.socket.connect(str(running.folder / "station.sock"))

    def send(self, *frames):
        for frame in frames:
            self.socket.send(bytes(frame))

    def forget(self):
        with self.changed:
            self.frames.clear()

    def received(self, wanted):
        """Returns the received frames, as scapy's packets, for which `wanted` is true."""
        with self.changed:
            return [packet for packet in map(Ether, self.frames) if wanted(packet)]

    def wait_for(self, wanted, count, patience_s):
        """Returns these frames once `count` of them have arrived, or when the time is over."""
        end = time.monotonic() + patience_s
        while len(found := self.received(wanted)) < count and time.monotonic() < end:
            with self.changed:
                self.changed.wait(0.5)
        return found

    def resolve(self, address, patience_s):
        """Returns the MAC address that answers ARP for this address, or None. Requests are
        repeated: a port may start later than its program."""
        end = time.monotonic() + patience_s
        request = (Ether(src=MAC, dst="ff:ff:ff:ff:ff:ff")
                   / ARP(op="who-has", hwsrc=MAC, psrc=IP, pdst=address))
        while time.monotonic() < end:
            self.send(request)
            if found := self.wait_for(lambda packet: ARP in packet and packet[ARP].op == 2
                                      and packet[ARP].psrc == address, 1, 2):
                return found[0][ARP].hwsrc
        return None
