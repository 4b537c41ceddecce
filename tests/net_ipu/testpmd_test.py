#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""testpmd_test.py PLUGIN: Debian's dpdk-testpmd forwards over the net_ipu plugin: every mode, 1 and
4 queues, start and stop, flow rules from its prompt. No root, no hugepages."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import harness
import private_folder
from testpmd import PATIENCE_S, Testpmd, pmd_info

SKIP = 77


def forward(plugin, mode, queues):
    """Forwards, stops and starts; the NIC must not lose or change any packet."""
    pmd = Testpmd([plugin], ["net_ipu0,wire=gen:size=64+flows=64,verify=sampled"],
                  [f"--forward-mode={mode}", f"--rxq={queues}", f"--txq={queues}"])
    for _ in range(10 if mode == "io" else 3):
        pmd.forward_at_least(1000)
        pmd.restart_port(0)
    stats = pmd.xstats()
    pmd.quit()
    assert stats["model_tx_frames"] > 1000, f"{mode}: no frame left the device"
    for nothing in ("rx_bad_writeback", "model_rx_dma_faults", "model_tx_dma_faults",
                    "model_tx_bad_descriptor", "model_bad_doorbell", "model_rx_oversize",
                    "wire_duplicated", *(["wire_corrupted"] if mode == "io" else [])):
        assert stats[nothing] == 0, f"{mode}, {queues} queues: {nothing} {stats[nothing]}"
    print(f"{mode} {queues} queues: {stats['model_tx_frames']} frames")


def flow_rules(plugin):
    pmd = Testpmd([plugin], ["net_ipu0,wire=gen:size=64+flows=8"], ["--rxq=2", "--txq=2"])
    pmd.run("flow create 0 ingress pattern eth / ipv4 / udp / end actions drop / count / end",
            until="Flow rule #0 created")
    pmd.run("start")
    dropped = pmd.wait_for_xstats(lambda stats: stats["model_rx_flow_drop"] > 0)
    pmd.run("flow query 0 0 count", until=r"hits: [1-9]")
    pmd.run("flow destroy 0 rule 0", until="Flow rule #0 destroyed")
    pmd.run("clear port xstats 0")
    after = pmd.wait_for_xstats(lambda stats: stats["model_tx_frames"] > 0)
    assert after["model_rx_flow_drop"] == 0, f"dropped without the rule: {after}"
    pmd.stop()
    pmd.run("flow create 0 ingress pattern eth / ipv4 / udp dst is 80 / end "
            "actions queue index 1 / end", until="Flow rule #0 created")
    pmd.run("flow flush 0")
    pmd.run("flow create 0 ingress pattern eth / ipv4 src spec 10.0.0.0 src prefix 8 / end "
            "actions queue index 0 / end", until="can only be matched completely")
    pmd.quit()
    print(f"flow rules: {dropped['model_rx_flow_drop']} frames dropped while the rule stood")


def wrapped(plugin):
    """Forwards over a port that wraps net_null; testpmd sees only that port."""
    pmd = Testpmd([plugin], ["net_null0", "net_ipu0,port=net_null0"],
                  ["--forward-mode=io", "--rxq=2", "--txq=2"])
    assert re.search("Driver name: net_ipu", pmd.run("show port info 1")), "not the wrapper"
    for _ in range(3):
        assert "- ports=1 -" in pmd.run("start"), "the wrapped port is used, too"
        harness.wait_until(lambda: int(re.search(
            r"TX-packets: (\d+)", pmd.run("show port stats 1", until=r"Tx-bps:.*\s+#+\s+testpmd> "))[1])
            > 1000, lambda: pmd.output[-4000:], PATIENCE_S)
        pmd.stop()
        pmd.restart_port(1)
    pmd.quit()


def anonymous_memory(plugin):
    """Mbufs in memory outside EAL's, which testpmd maps for each device."""
    pmd = Testpmd([plugin], ["net_ipu0,wire=gen:size=64+flows=64,verify=sampled"],
                  ["--forward-mode=io", "--mp-alloc=anon"])
    pmd.forward_at_least(1000)
    stats = pmd.xstats()
    pmd.quit()
    assert stats["model_rx_dma_faults"] == stats["model_tx_dma_faults"] == 0, stats
    assert stats["wire_verified"] > 0 and stats["wire_corrupted"] == 0, stats


def pmdinfo(plugin):
    """Every key that the driver accepts is listed, and only valid values."""
    info = pmd_info(plugin)["net_ipu"]
    keys = dict(part.split("=", 1) for part in info["params"].split())
    assert set(keys) == {"port", "queues", "ring", "device", "device_uid", "wire", "on", "device_cpu",
                         "seed", "faults", "verify", "pause"}, keys
    assert keys["pause"] == "<on|off>" and info["pci_ids"] == [], info


def bad_arguments(plugin):
    result = subprocess.run(
        ["dpdk-testpmd", "--no-huge", "-m", "64", "--no-pci", "--no-telemetry",
         f"--file-prefix=net_ipu_testpmd_{os.getpid()}", "-l", "0,1", "-d", plugin,
         "--vdev=net_ipu0,quees=4", "--", "--total-num-mbufs=2048"],
        capture_output=True, text=True, timeout=PATIENCE_S, input="\n", check=False)
    output = result.stdout + result.stderr
    assert "net_ipu0: unknown argument 'quees': use queues" in output, output


def main():
    plugin = private_folder.plugin(sys.argv[1])
    if shutil.which("dpdk-testpmd") is None or (os.cpu_count() or 1) < 2:
        sys.exit(SKIP)
    for mode, queues in harness.each(("io", "mac", "macswap", "csum"), (4, 1)):
        forward(plugin, mode, queues)
    flow_rules(plugin)
    wrapped(plugin)
    anonymous_memory(plugin)
    pmdinfo(plugin)
    bad_arguments(plugin)


if __name__ == "__main__":
    main()
