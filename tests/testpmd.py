# SPDX-License-Identifier: BSD-3-Clause
"""The distribution's dpdk-testpmd, used at its prompt."""
import json
import os
import re
import select
import subprocess
import time

PATIENCE_S = 60


def pmd_info(plugin):
    """Returns the lines that dpdk-pmdinfo.py prints of a plugin, by the driver's name: JSON in
    .rodata."""
    text = subprocess.run(["readelf", "-W", "-p", ".rodata", plugin], check=True,
                          capture_output=True, text=True, errors="replace").stdout
    lines = [json.loads(line) for line in re.findall(r"PMD_INFO_STRING= (.*)", text)]
    return {line["name"]: line for line in lines}


class Testpmd:
    """Runs without hugepages on two lcores. Call `quit` to check its exit code."""

    def __init__(self, plugins, vdevs, arguments):
        # Output is line-buffered, so that output and prompts arrive in order.
        self.process = subprocess.Popen(
            ["stdbuf", "-oL", "dpdk-testpmd", "-l", "0,1", "--no-huge", "-m", "512", "--no-pci",
             "--no-telemetry", f"--file-prefix=testpmd_{os.getpid()}_{time.monotonic_ns()}",
             *(part for plugin in plugins for part in ("-d", plugin)),
             *(f"--vdev={vdev}" for vdev in vdevs), "--", "-i", "--total-num-mbufs=8192",
             "--no-mlockall", "--no-flush-rx", *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.output = ""
        self.wait_for("testpmd> ", 0)

    def wait_for(self, pattern, start):
        """Reads until the pattern occurs after `start`; returns the text read since then."""
        deadline = time.monotonic() + PATIENCE_S
        while not re.search(pattern, self.output[start:]):
            ready, _, _ = select.select([self.process.stdout], [], [], 1)
            data = os.read(self.process.stdout.fileno(), 65536) if ready else None
            if data == b"" or time.monotonic() > deadline:
                self.process.kill()
                raise AssertionError(f"no {pattern!r} in:\n{self.output[-4000:]}")
            self.output += (data or b"").decode(errors="replace")
        return self.output[start:]

    def run(self, command, until="testpmd> "):
        start = len(self.output)
        self.process.stdin.write((command + "\n").encode())
        self.process.stdin.flush()
        # The prompt echoes the command, then prompts again.
        return self.wait_for(re.escape(command) + r"[\s\S]*" + until, start)

    def xstats(self):
        """Returns the statistics of port 0, a model."""
        text = self.run("show port xstats 0", until=r"wire_\w+: \d+\s+testpmd> ")
        return {name: int(value) for name, value in re.findall(r"(\w+): (\d+)", text)}

    def wait_for_xstats(self, condition):
        deadline = time.monotonic() + PATIENCE_S
        while not condition(stats := self.xstats()):
            assert time.monotonic() < deadline, self.output[-4000:]
        return stats

    def stop(self):
        return self.run("stop", until=r"Done\.\s+testpmd> ")

    def restart_port(self, port):
        self.run(f"port stop {port}")
        self.run(f"port start {port}", until=r"Done\s+testpmd> ")

    def forward_at_least(self, packets):
        """Starts forwarding and stops it once that many more packets were sent."""
        target = self.xstats()["tx_good_packets"] + packets
        self.run("start")
        self.wait_for_xstats(lambda stats: stats["tx_good_packets"] >= target)
        self.stop()

    def quit(self):
        self.process.stdin.write(b"quit\n")
        self.process.stdin.flush()
        out, _ = self.process.communicate(timeout=PATIENCE_S)
        self.output += out.decode(errors="replace")
        assert self.process.returncode == 0, self.output[-4000:]
