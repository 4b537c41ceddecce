# SPDX-License-Identifier: BSD-3-Clause
"""Third-party readers of IPFIX: Wireshark's dissector, and nfdump's collector."""

import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import xml.etree.ElementTree

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import harness

README = pathlib.Path(__file__).resolve().parents[2] / "apps" / "telemetry" / "README.md"
PATIENCE_S = 60
# Print times in UTC, and numbers without separators.
ENVIRONMENT = {**os.environ, "TZ": "UTC", "LC_ALL": "C"}


def udp_frame(message, port=4739):
    """Returns UDP over IPv4 over Ethernet (RFC 768: no checksum; RFC 791)."""
    udp = struct.pack(">HHHH", 40000, port, 8 + len(message), 0) + message
    ip = struct.pack(">BBHIBBH4s4s", 0x45, 0, 20 + len(udp), 0, 64, 17, 0, bytes((10, 0, 0, 1)),
                     bytes((10, 0, 0, 2)))
    return bytes.fromhex("0200000000020200000000010800") + ip + udp


def tshark_records(messages, folder):
    """Returns every data record as parsed by Wireshark: {"set", "domain", field: displayed value}.
    Fails if the dissector reports a problem."""
    path = os.path.join(folder, "messages.pcap")
    harness.write_capture(path, [udp_frame(message) for message in messages])
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
    """A collector on a free port."""

    def __init__(self, folder):
        self.folder = os.path.join(folder, "nfcapd")
        os.mkdir(self.folder)
        self.port = harness.free_port()
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
        def done():
            assert self.process.poll() is None, self.process.stdout.read()
            return condition()
        harness.wait_until(done, "nfcapd", PATIENCE_S)

    def queued(self):
        """Returns the number of unread bytes in the collector's socket; None if it does not
        listen."""
        with open("/proc/net/udp", encoding="ascii") as table:
            for line in list(table)[1:]:
                fields = line.split()
                if fields[1] == f"0100007F:{self.port:04X}":
                    return int(fields[4].split(":")[1], 16)
        return None

    def flows(self):
        """Stops the collector once it has read all datagrams. Returns its flows and its output."""
        self.wait(lambda: self.queued() == 0)
        said = self.end()
        flows = []
        for name in sorted(os.listdir(self.folder)):
            result = subprocess.run(["nfdump", "-r", os.path.join(self.folder, name), "-o", "json"],
                                    capture_output=True, text=True, env=ENVIRONMENT,
                                    timeout=PATIENCE_S, check=True)
            if result.stdout.strip().startswith("["):
                flows += json.loads(result.stdout)
        return flows, said

    def end(self):
        """Stops the collector and returns its output. The signal is repeated, since nfcapd loses
        one that arrives just before nfcapd waits for datagrams."""
        for _ in range(PATIENCE_S):
            self.process.terminate()
            try:
                return self.process.communicate(timeout=1)[0]
            except subprocess.TimeoutExpired:
                pass
        raise AssertionError("nfcapd does not end")

    def table(self):
        """Returns the output of the README's command for the collected flows."""
        options = re.search(r"nfdump -r flows (.*)", README.read_text("utf-8"))[1].split()
        return subprocess.run(["nfdump", "-r", self.folder, *options], capture_output=True,
                              text=True, env=ENVIRONMENT, timeout=PATIENCE_S, check=True).stdout
