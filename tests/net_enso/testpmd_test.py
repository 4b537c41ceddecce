#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the distribution's dpdk-testpmd over the plugin as a user would: forwarding
modes, queues, restarts, flow rules at its prompt. Arguments: the plugin's path."""

import os
import pathlib
import shutil
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import harness
import private_folder
from testpmd import Testpmd, pmd_info

MODES = ["io", "mac", "macswap", "csum"]


def expect_sound(stats):
    """Checks that no packet was lost, changed or misparsed."""
    for name in ["wire_corrupted", "wire_duplicated", "wire_reordered", "rx_desync",
                 "nb_bad_notifications", "nb_bad_completions", "model_wedged", "model_dma_faults",
                 "model_rx_notifications_lost", "tx_unframeable", "device_stuck_rings"]:
        assert stats[name] == 0, f"{name} = {stats[name]}"
    assert stats["model_tx_frames"] <= stats["tx_good_packets"]


def test_modes(plugin):
    for mode, queues in harness.each(MODES, (4, 1)):
        pmd = Testpmd([plugin], ["net_enso0,wire=gen:size=64+flows=64"],
                      [f"--forward-mode={mode}", f"--rxq={queues}", f"--txq={queues}"])
        pmd.forward_at_least(100_000)
        stats = pmd.xstats()
        expect_sound(stats)
        for queue in range(queues):
            assert stats[f"rx_q{queue}_packets"] > 0, f"{mode}: queue {queue} is idle"
        pmd.quit()


def test_restarts(plugin):
    pmd = Testpmd([plugin], ["net_enso0,wire=gen:size=64+flows=64,pipes=2"],
                  ["--forward-mode=macswap", "--rxq=2", "--txq=2"])
    for _ in range(10):
        pmd.forward_at_least(5_000)
        pmd.restart_port("all")
    pmd.forward_at_least(5_000)
    expect_sound(pmd.xstats())
    pmd.quit()


def test_flow_rules(plugin):
    pmd = Testpmd([plugin], ["net_enso0,wire=gen:size=64+flows=64"],
                  ["--forward-mode=macswap", "--rxq=4", "--txq=4"])
    udp = "pattern eth / ipv4 dst is 192.168.0.1 / udp dst is 80 / end actions queue index 1"
    tcp = ("pattern eth / ipv4 dst is 192.168.0.1 src is 10.0.0.1 / tcp dst is 80 src is 99 / end "
           "actions queue index 2")
    pmd.run(f"flow validate 0 ingress {udp} / end", until="Flow rule validated")
    pmd.run(f"flow create 0 ingress {udp} / count / end", until="Flow rule #0 created")
    pmd.run(f"flow create 0 ingress {tcp} / end", until="Flow rule #1 created")
    pmd.run(f"flow create 0 ingress {udp} / end", until="another rule steers this flow")
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
    # The copy is in the plugin's folder, from which EAL loads all plugins.
    folder = plugin + ".copy"
    os.makedirs(folder, exist_ok=True)
    try:
        copy = shutil.copy(plugin, os.path.join(folder, "librte_net_enso.so"))
        pmd = Testpmd([plugin, copy], ["net_enso0,wire=gen:size=64"], [])
        pmd.forward_at_least(1_000)
        with open(f"/proc/{pmd.process.pid}/maps", encoding="ascii") as maps:
            text = maps.read()
        assert copy in text and os.path.realpath(plugin) in text, "both copies are loaded"
        pmd.quit()
        assert pmd.output.count("Port 0: ") == 1, pmd.output
    finally:
        shutil.rmtree(folder)


def test_pmdinfo(plugin):
    """The FPGA's PCI id for tools that search for its driver, and the keys that the driver
    accepts."""
    info = pmd_info(plugin)
    assert info["net_enso_pci"]["pci_ids"] == [[0x1172, 0, 0xFFFF, 0xFFFF]], info
    keys = {part.split("=", 1)[0] for part in info["net_enso"]["params"].split()}
    assert keys == {"pipes", "notify", "pipe_flits", "exception", "wire", "on", "device_cpu",
                    "seed", "faults", "verify", "pause", "device", "device_uid"}, keys


def main():
    plugin = private_folder.plugin(sys.argv[1])
    for test in [test_modes, test_restarts, test_flow_rules, test_two_copies_make_one_port,
                 test_pmdinfo]:
        begin = time.monotonic()
        test(plugin)
        print(f"{test.__name__}: passed in {time.monotonic() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main()
