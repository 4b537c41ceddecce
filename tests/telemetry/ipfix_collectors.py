# SPDX-License-Identifier: BSD-3-Clause
"""IPFIX as others read it: Wireshark's dissector, and nfdump's collector."""

import json
import os
import re
import socket
import struct
import subprocess
import time
import xml.etree.ElementTree

PATIENCE_S = 60
# Times are printed in UTC, numbers without separators.
ENVIRONMENT = {**os.environ, "TZ": "UTC", "LC_ALL": "C"}


def write_capture(path, frames):
    """pcap: magic, version 2.4, zone, accuracy, snapshot length, link type 1; records: time,
    lengths, bytes."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for i, frame in enumerate(frames):
            file.write(struct.pack("<IIII", i // 1_000_000, i % 1_000_000, len(frame), len(frame)))
            file.write(frame)


def udp_frame(message, port=4739):
    """UDP over IPv4 over Ethernet (RFC 768: no checksum; RFC 791)."""
    udp = struct.pack(">HHHH", 40000, port, 8 + len(message), 0) + message
    ip = struct.pack(">BBHIBBH4s4s", 0x45, 0, 20 + len(udp), 0, 64, 17, 0, bytes((10, 0, 0, 1)),
                     bytes((10, 0, 0, 2)))
    return bytes.fromhex("0200000000020200000000010800") + ip + udp


def tshark_records(messages, folder):
    """Every data record as Wireshark reads it: {"set", "domain", field: value as it is shown}.
    Fails if the dissector finds anything to complain about."""
    path = os.path.join(folder, "messages.pcap")
    write_capture(path, [udp_frame(message) for message in messages])
    result = subprocess.run(
        ["tshark", "-r", path, "-o", "ip.check_checksum:FALSE", "-d", "udp.port==4739,cflow",
         "-T", "pdml"], capture_output=True, env=ENVIRONMENT, timeout=PATIENCE_S, check=True)
    records = []
    for packet in xml.etree.ElementTree.fromstring(result.stdout):
        assert packet.find("proto[@name='_ws.malformed']") is None, "malformed"
        cflow = packet.find("proto[@name='cflow']")
        assert cflow is not None, "no IPFIX"
        complaint = cflow.find(".//field[@name='_ws.expert']")
        assert complaint is None, xml.etree.ElementTree.tostring(complaint)
        domain = int(cflow.find("field[@name='cflow.od_id']").get("show"))
        for data_set in cflow.findall("field"):
            number = re.match(r"Set \d+ \[id=(\d+)\] \(\d+ flows\)", data_set.get("show") or "")
            for record in data_set.findall("field") if number else ():
                if re.match(r"Flow \d+", record.get("show")):
                    fields = {field.get("name").removeprefix("cflow."): field.get("show")
                              for field in record.iter("field") if field.get("name")}
                    records.append({"set": int(number[1]), "domain": domain, **fields})
    return records


class Nfcapd:
    """A collector on a port of its own."""

    def __init__(self, folder):
        self.folder = os.path.join(folder, "nfcapd")
        os.mkdir(self.folder)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process = subprocess.Popen(
            ["nfcapd", "-b", "127.0.0.1", "-p", str(self.port), "-w", self.folder, "-t", "3600"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT)
        self.wait(lambda: self.queued() is not None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def wait(self, condition):
        end = time.monotonic() + PATIENCE_S
        while not condition():
            assert self.process.poll() is None, self.process.stdout.read()
            assert time.monotonic() < end, "nfcapd does not do it"
            time.sleep(0.02)

    def queued(self):
        """Bytes that it has not read yet; nothing if it does not listen."""
        with open("/proc/net/udp", encoding="ascii") as table:
            for line in list(table)[1:]:
                fields = line.split()
                if fields[1] == f"0100007F:{self.port:04X}":
                    return int(fields[4].split(":")[1], 16)
        return None

    def flows(self):
        """Ends it. Returns its flows and what it said."""
        self.wait(lambda: self.queued() == 0)
        self.process.terminate()
        said, _ = self.process.communicate(timeout=PATIENCE_S)
        flows = []
        for name in sorted(os.listdir(self.folder)):
            result = subprocess.run(["nfdump", "-r", os.path.join(self.folder, name), "-o", "json"],
                                    capture_output=True, text=True, env=ENVIRONMENT,
                                    timeout=PATIENCE_S, check=True)
            if result.stdout.strip().startswith("["):
                flows += json.loads(result.stdout)
        return flows, said
