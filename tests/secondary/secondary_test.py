#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""secondary_test.py PORTS NET_IPU NET_ENSO: several processes on the same ports, and the stock
tools that are secondary processes: dpdk-proc-info, dpdk-dumpcap, dpdk-pdump. Needs hugepages.

Port 0 is a net_ipu that two processes serve, net_ipu1 has a capture on its wire, and the primary
process uses the pipes of net_enso0."""
import collections
import glob
import os
import pathlib
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import harness
import private_folder

SKIP = 77
# All processes map the pools at this address. EAL's default address is in AddressSanitizer's shadow
# memory; the kernel would then pick an address that a second process may already use. EAL's default
# is also the default address of net_ipu's registers, so the pools must be elsewhere, and at the
# same address in all processes.
BASE = "--base-virtaddr=0x200000000000"
PATIENCE_S = 60
FRAMES = 300


class Process:
    """A program whose output is read as it arrives."""

    def __init__(self, *command, env=None):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, env=env)
        self.output = ""

    def wait_for(self, pattern):
        deadline = time.monotonic() + PATIENCE_S
        while not (found := re.search(pattern, self.output, re.M)):
            ready, _, _ = select.select([self.process.stdout], [], [], 1)
            data = os.read(self.process.stdout.fileno(), 65536) if ready else None
            if data == b"" or time.monotonic() > deadline:
                self.process.kill()
                raise AssertionError(f"no {pattern!r} in:\n{self.output[-4000:]}")
            self.output += (data or b"").decode(errors="replace")
        return found

    def say(self, line, answer):
        self.process.stdin.write((line + "\n").encode())
        self.process.stdin.flush()
        return self.wait_for(answer)

    def end(self, line=None, interrupt=False):
        """Returns the exit code; all output is in self.output."""
        if interrupt:
            self.process.send_signal(signal.SIGINT)
        out, _ = self.process.communicate((line + "\n").encode() if line else None,
                                          timeout=PATIENCE_S)
        self.output += out.decode(errors="replace")
        return self.process.returncode


class Lab:
    """Processes that share memory, and cleanup of their files."""

    def __init__(self, ports, plugins, folder):
        self.prefix = f"secondary_{os.getpid()}"
        self.ports, self.plugins, self.folder = ports, plugins, folder
        # This is how stock programs without EAL arguments find the drivers.
        preload = [os.environ.get("LD_PRELOAD", ""), *plugins]
        self.env = os.environ | {"LD_PRELOAD": ":".join(filter(None, preload))}

    def echo(self, number, lcore, *eal):
        return Process(self.ports, f"--lcores={lcore}@{lcore % os.cpu_count()}",
                       f"--file-prefix={self.prefix}", "--no-pci",
                       *(part for plugin in self.plugins for part in ("-d", plugin)), *eal, "--",
                       str(number), "2")

    def tool(self, name, *arguments):
        return Process(name, *arguments, env=self.env)

    def clean(self):
        for path in glob.glob(f"/dev/hugepages/{self.prefix}*"):
            os.unlink(path)


def frame(i):
    """Returns Ethernet, IPv4, UDP of 64 to 163 bytes, each with unique contents."""
    payload = struct.pack(">I", i) + bytes(i % 251 for _ in range(18 + i % 100))
    udp = struct.pack(">HHHH", 1000, 2000 + i, 8 + len(payload), 0) + payload
    header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), i, 0, 64, 17, 0,
                         bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    total = sum(struct.unpack(">10H", header))
    total = (total & 0xFFFF) + (total >> 16)
    header = header[:10] + struct.pack(">H", ~(total + (total >> 16)) & 0xFFFF) + header[12:]
    return bytes.fromhex("020000000002020000000001") + b"\x08\x00" + header + udp


def read_pcapng(path):
    """Returns the frames of enhanced packet blocks."""
    data, at, frames = pathlib.Path(path).read_bytes(), 0, []
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:
            captured = struct.unpack_from("<I", data, at + 20)[0]
            frames.append(data[at + 28:at + 28 + captured])
        at += length
    return frames


def read_pcap(path):
    data, at, frames = pathlib.Path(path).read_bytes(), 24, []
    while at < len(data):
        captured = struct.unpack_from("<I", data, at + 8)[0]
        frames.append(data[at + 16:at + 16 + captured])
        at += 16 + captured
    return frames


def shared_port(lab, primary):
    """Two processes echo on separate queues; the second one has no pipes."""
    second = lab.echo(1, 2, "--proc-type=secondary")
    second.wait_for("^ready 3$")
    ipu, ipu1, enso = (line for line in second.output.splitlines() if line.startswith("port "))
    for line in (ipu, ipu1, enso):
        assert re.search("info 0 .* stats 0 .* xstats many stop -95", line), line
    assert "queues 2 link 1" in ipu and "queues 1 link 0" in ipu1, second.output
    assert "link 1" in enso, enso
    assert re.search("mode (Vector|Scalar)", ipu), ipu
    assert "mode none" in enso, enso
    assert "cannot map the device's registers" not in second.output, second.output
    second.wait_for("net_enso0: only the primary process reads and writes pipes")
    second.wait_for("^echoes$")
    primary.wait_for("^echoes$")
    # The secondary process detects by itself that the port was restarted, and that it therefore
    # needs different burst functions.
    second.say("pause", "^paused$")
    assert primary.say("restart", r"restarted (-?\d+)")[1] == "0", primary.output
    second.say("go on", "^goes on with Scalar Scattered$")
    second.output = ""
    second.wait_for("^echoes$")
    assert second.end("quit") == 0, second.output


def proc_info(lab):
    common = [f"--file-prefix={lab.prefix}", "--no-pci", "--"]
    done = lab.tool("dpdk-proc-info", *common, "--xstats")
    assert done.end() == 0, done.output
    for text in ("rx_good_packets: [1-9]", "model_rx_frames: [1-9]", "nb_wakeups: ",
                 "model_rx_pipe_full: "):
        assert re.search(text, done.output), f"no {text} in {done.output}"
    # Both processes have echoed, and neither has received or sent the other's packets.
    wrong = re.findall(r"(?:wire_corrupted|wire_duplicated|model_\w+_dma_faults|rx_bad_writeback|"
                       r"model_bad_doorbell): [1-9].*", done.output)
    assert not wrong, wrong
    done = lab.tool("dpdk-proc-info", *common, "--stats")
    assert done.end() == 0 and done.output.count("NIC statistics for port") == 3, done.output


def dumpcap(lab, primary, passed):
    """Captures all of net_ipu1, and some of net_enso0. The tool ends after the burst that reaches
    the requested number."""
    path = os.path.join(lab.folder, "ipu.pcapng")
    tool = lab.tool("dpdk-dumpcap", f"--file-prefix={lab.prefix}", "-i", "net_ipu1",
                    "-c", str(2 * FRAMES), "-w", path)
    tool.wait_for("Packets captured")
    assert primary.say("up", r"up (-?\d+)")[1] == "0"
    assert tool.end() == 0, tool.output
    # Each frame is captured twice: when it is received, and when it is sent back.
    captured = collections.Counter(read_pcapng(path))
    assert captured == collections.Counter(2 * list(passed)), (sum(captured.values()), tool.output)
    path = os.path.join(lab.folder, "enso.pcapng")
    tool = lab.tool("dpdk-dumpcap", f"--file-prefix={lab.prefix}", "-i", "net_enso0", "-c", "200",
                    "-w", path)
    assert tool.end() == 0, tool.output
    captured = read_pcapng(path)
    assert len(captured) >= 200 and set(captured) <= set(passed), tool.output


def pdump(lab, primary, passed):
    """Captures the packets that net_enso0 receives, and survives a port that is added meanwhile."""
    path = os.path.join(lab.folder, "enso.pcap")
    tool = lab.tool("dpdk-pdump", f"--file-prefix={lab.prefix}", "--no-pci", "--",
                    "--pdump", f"device_id=net_enso0,queue=*,rx-dev={path}")
    harness.wait_until(lambda: os.path.exists(path) and os.path.getsize(path) > 2000,
                       lambda: tool.output, PATIENCE_S)
    for name in ("net_ipu7", "net_enso7"):
        primary.output = ""
        assert primary.say(f"attach {name} wire=loopback", r"attached (-?\d+)")[1] == "0", (
            primary.output)
    assert tool.end(interrupt=True) == 0, tool.output
    captured = read_pcap(path)
    assert len(captured) > 10 and set(captured) <= set(passed), f"{len(captured)} {tool.output}"


def main():
    ports, *plugins = (os.path.abspath(path) for path in sys.argv[1:])
    plugins = [private_folder.plugin(path) for path in plugins]
    if not os.access("/dev/hugepages", os.W_OK) or shutil.which("dpdk-dumpcap") is None:
        sys.exit(SKIP)
    with tempfile.TemporaryDirectory() as folder:
        capture = os.path.join(folder, "wire.pcap")
        passed = [frame(i) for i in range(FRAMES)]
        harness.write_capture(capture, passed)
        lab = Lab(ports, plugins, folder)
        try:
            primary = lab.echo(0, 1, "--proc-type=primary", BASE,
                               "--vdev=net_ipu0,wire=gen:size=64+flows=64,verify=full",
                               f"--vdev=net_ipu1,wire=pcap:{capture}+loop=1",
                               f"--vdev=net_enso0,wire=pcap:{capture}+rate=20k")
            primary.wait_for("^ready 3$")
            counted = collections.Counter(passed)
            shared_port(lab, primary)
            proc_info(lab)
            dumpcap(lab, primary, counted)
            pdump(lab, primary, counted)
            assert primary.end("quit") == 0, primary.output
            assert "oerrors 0 ierrors 0" in primary.output, primary.output
        finally:
            lab.clean()


if __name__ == "__main__":
    main()
