#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the distribution's dpdk-testpmd over the plugin as a user would: forwarding
modes, queues, restarts, flow rules at its prompt. Arguments: the plugin's path."""

import os
import pathlib
import re
import select
import shutil
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import harness

MODES = ["io", "mac", "macswap", "csum"]
TIMEOUT_S = 30


class Testpmd:
    """A testpmd at its prompt."""

    def __init__(self, plugins, vdev, arguments):
        self.prefix = f"enso_testpmd_{os.getpid()}_{time.monotonic_ns()}"
        # Line-buffered, so that output and prompts come in their order.
        command = ["stdbuf", "-oL", "dpdk-testpmd", "-l", "0,1", "--no-huge", "-m", "512", "--no-pci",
                   "--no-telemetry", f"--file-prefix={self.prefix}"]
        for plugin in plugins:
            command += ["-d", plugin]
        command += [f"--vdev={vdev}", "--", "-i", "--total-num-mbufs=8192", "--no-mlockall",
                    "--no-flush-rx"] + arguments
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT)
        self.output = ""
        self.wait_for("testpmd> ", 0)

    def wait_for(self, pattern, start):
        """Reads until the pattern occurs behind `start`; returns what was read since then."""
        deadline = time.monotonic() + TIMEOUT_S
        while not re.search(pattern, self.output[start:]):
            ready, _, _ = select.select([self.process.stdout], [], [], 1)
            data = os.read(self.process.stdout.fileno(), 65536) if ready else None
            if data == b"" or time.monotonic() > deadline:
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
        text = self.run("show port xstats 0", until=r"wire_\w+: \d+\s+testpmd> ")
        return {name: int(value) for name, value in re.findall(r"(\w+): (\d+)", text)}

    def forward_at_least(self, packets):
        """Starts forwarding and stops it once that many more packets were sent."""
        target = self.xstats()["tx_good_packets"] + packets
        self.run("start")
        deadline = time.monotonic() + TIMEOUT_S
        while self.xstats()["tx_good_packets"] < target:
            assert time.monotonic() < deadline, self.output[-4000:]
        self.run("stop", until=r"Done\.\s+testpmd> ")

    def quit(self):
        self.process.stdin.write(b"quit\n")
        self.process.stdin.flush()
        out, _ = self.process.communicate(timeout=TIMEOUT_S)
        self.output += out.decode(errors="replace")
        assert self.process.returncode == 0, self.output[-4000:]


def expect_sound(stats):
    """Nothing was lost, altered or misunderstood on the way."""
    for name in ["wire_corrupted", "wire_duplicated", "wire_reordered", "rx_desync",
                 "nb_bad_notifications", "nb_bad_completions", "model_wedged", "model_dma_faults",
                 "model_rx_notifications_lost", "tx_unframeable", "device_stuck_rings"]:
        assert stats[name] == 0, f"{name} = {stats[name]}"
    assert stats["model_tx_frames"] <= stats["tx_good_packets"]


def test_modes(plugin):
    for mode, queues in harness.each(MODES, (4, 1)):
        pmd = Testpmd([plugin], "net_enso0,wire=gen:size=64+flows=64",
                      [f"--forward-mode={mode}", f"--rxq={queues}", f"--txq={queues}"])
        pmd.forward_at_least(100_000)
        stats = pmd.xstats()
        expect_sound(stats)
        for queue in range(queues):
            assert stats[f"rx_q{queue}_packets"] > 0, f"{mode}: queue {queue} is idle"
        pmd.quit()


def test_restarts(plugin):
    pmd = Testpmd([plugin], "net_enso0,wire=gen:size=64+flows=64,pipes=2",
                  ["--forward-mode=macswap", "--rxq=2", "--txq=2"])
    for _ in range(10):
        pmd.forward_at_least(5_000)
        pmd.run("port stop all")
        pmd.run("port start all", until=r"Done\s+testpmd> ")
    pmd.forward_at_least(5_000)
    expect_sound(pmd.xstats())
    pmd.quit()


def test_flow_rules(plugin):
    pmd = Testpmd([plugin], "net_enso0,wire=gen:size=64+flows=64",
                  ["--forward-mode=macswap", "--rxq=4", "--txq=4"])
    udp = "pattern eth / ipv4 dst is 192.168.0.1 / udp dst is 80 / end actions queue index 1"
    tcp = ("pattern eth / ipv4 dst is 192.168.0.1 src is 10.0.0.1 / tcp dst is 80 src is 99 / end "
           "actions queue index 2")
    pmd.run(f"flow validate 0 ingress {udp} / end", until="Flow rule validated")
    pmd.run(f"flow create 0 ingress {udp} / count / end", until="Flow rule #0 created")
    pmd.run(f"flow create 0 ingress {tcp} / end", until="Flow rule #1 created")
    pmd.run(f"flow create 0 ingress {udp} / end", until="steers this flow already")
    pmd.run("flow create 0 ingress pattern eth / ipv6 / udp dst is 80 / end actions queue index 1 / end",
            until="the NIC matches only eth / ipv4")
    pmd.run("flow query 0 0 count", until="hits_set: 1")
    pmd.forward_at_least(5_000)
    pmd.run("flow destroy 0 rule 0", until="Flow rule #0 destroyed")
    pmd.run(f"flow create 0 ingress {udp} / end", until=r"Flow rule #\d created")
    pmd.run("flow flush 0")
    assert "UDP" not in pmd.run("flow list 0")
    expect_sound(pmd.xstats())
    pmd.quit()


def test_two_copies_make_one_port(plugin):
    """An installed plugin and `-d` of another copy: the first one serves."""
    # EAL loads no plugin from below a world-writable directory.
    folder = plugin + ".copy"
    os.makedirs(folder, exist_ok=True)
    try:
        copy = shutil.copy(plugin, os.path.join(folder, "librte_net_enso.so"))
        pmd = Testpmd([plugin, copy], "net_enso0,wire=gen:size=64", [])
        pmd.forward_at_least(1_000)
        with open(f"/proc/{pmd.process.pid}/maps", encoding="ascii") as maps:
            text = maps.read()
        assert copy in text and os.path.realpath(plugin) in text, "both copies are loaded"
        pmd.quit()
        assert pmd.output.count("Port 0: ") == 1, pmd.output
    finally:
        shutil.rmtree(folder)


def main():
    plugin = sys.argv[1]
    for test in [test_modes, test_restarts, test_flow_rules, test_two_copies_make_one_port]:
        begin = time.monotonic()
        test(plugin)
        print(f"{test.__name__}: passed in {time.monotonic() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main()
