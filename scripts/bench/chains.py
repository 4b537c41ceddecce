# SPDX-License-Identifier: BSD-3-Clause
"""Compares chains that stages push with chains that the CPU mediates, in real time.

A chain has one to eight stages, all streaming or every second one legacy, and small or large
messages. The CPU's instructions per message are counted under callgrind, too. The switch, NIC,
stages and PCIe are models that share this host's CPUs, so compare the host's work."""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHAIN = "build/release/apps/chain/sluice-chain"
BENCH = "build/release/tests/chain_app/mediator_bench"
SIZES = (64, 4096)
COLUMNS = ("stages", "faces", "bytes", "through", "messages/s", "p50 us", "p99 us",
           "host cycles", "doorbells", "descriptors", "needed", "polls", "TLPs at the CPU's port", "at devices")


def graph(stages, legacy, message):
    """Returns the graph NIC -> copying stages -> NIC; with `legacy`, every second stage is
    legacy."""
    devices = [{"name": "nic", "kind": "nic", "port": 1}]
    nodes = []
    for i in range(stages + 1):
        after = "out" if i == stages else f"n{i + 1}"
        nodes.append({"name": f"n{i}", "device": f"s{i}" if i else "nic", "window": 1024,
                      "to": [{"nodes": [after]}]})
        if i:
            kind = "legacy" if legacy and i % 2 else "streaming"
            devices.append({"name": f"s{i}", "kind": kind, "port": i + 1, "executor": "copy"})
    nodes.append({"name": "out", "device": "nic"})
    return {"devices": devices, "chains": [{"name": "c", "flows": ["udp:1"], "message": message,
                                            "nodes": nodes}]}


def run(path, size, through, seconds):
    done = subprocess.run([CHAIN, f"--graph={path}", f"--traffic=pattern:bytes={size}",
                           f"--through={through}", f"--duration_s={seconds}", "--json=-",
                           "--stats_period_s=0", "--timeout_ms=30000"],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"chains: {done.stderr}")
    return json.loads(done.stdout)


def row(stages, faces, size, report):
    host = report["host"]["per_message"]
    latency = report["latency_us"]
    tlps = report["tlps"]
    return (stages, faces, size, report["through"], f"{report['mpps'] * 1e6:.0f}",
            f"{latency['p50']:.0f}", f"{latency['p99']:.0f}", f"{host['cycles']:.0f}",
            f"{host['doorbells']:.2f}", f"{host['descriptors']:.2f}",
            # The CPU must write at least once for the NIC's buffer, once for each stage, and once
            # more for the NIC.
            stages + 2 if report["through"] == "cpu" else 0, f"{host['polls']:.2f}",
            f"{tlps['cpu']['per_message']:.1f}", f"{tlps['devices']['per_message']:.1f}")


def instructions(stages, outstanding, messages=5000):
    """Returns the CPU's instructions for a message of 64 bytes."""
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                           "--toggle-collect=sluice::chain_app::CpuControl::Step*", BENCH,
                           str(stages), "64", str(outstanding), str(messages)],
                          capture_output=True, text=True, check=False)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not collected:
        sys.exit(f"chains: {BENCH} failed\n{(done.stdout + done.stderr)[-2000:]}")
    return int(collected[1]) / messages


def main():
    parser = argparse.ArgumentParser(prog="chains", description=__doc__.splitlines()[0])
    parser.add_argument("--stages", default="1,2,3,4,5,6,7,8", help="default: 1 to 8")
    parser.add_argument("--seconds", type=float, default=1, help="of each run; default: 1")
    options = parser.parse_args()
    counts = [int(count) for count in options.stages.split(",")]
    os.chdir(ROOT)
    subprocess.run(["scripts/build", "release", CHAIN.removeprefix("build/release/"),
                    BENCH.removeprefix("build/release/")], check=True, stdout=subprocess.DEVNULL)
    print("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "graph.json"
        for stages in counts:
            for legacy in (False, True):
                for size in SIZES:
                    path.write_text(json.dumps(graph(stages, legacy, size)), encoding="utf-8")
                    # All stages are legacy if the CPU mediates, so `legacy` makes no difference.
                    for through in ("switch",) if legacy else ("switch", "cpu"):
                        faces = ("legacy" if through == "cpu" else
                                 "mixed" if legacy else "streaming")
                        print("| " + " | ".join(map(str, row(
                            stages, faces, size, run(path, size, through, options.seconds)))) + " |",
                            flush=True)
    print("\n| stages | instructions of the CPU for a message: one at a time | 64 under way | "
          "pushed |\n|---|---|---|---|")
    for stages in counts:
        print(f"| {stages} | {instructions(stages, 1):.0f} | {instructions(stages, 64):.0f} | 0 |")


if __name__ == "__main__":
    main()
