# SPDX-License-Identifier: BSD-3-Clause
"""Counts a worker's instructions per packet under callgrind.

Each bench steps device and worker in turn in one thread, so that the count is the same on every
run; only functions whose name begins with Worker are counted, and what they call.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BENCHES = {  # interface: bench, called with <frame size> <burst> <packets>; prints "<n> packets"
    "packetized": "tests/net_ipu/net_ipu_burst_bench",
    "streaming": "tests/net_enso/net_enso_burst_bench",
    "bilateral": "tests/nic/nic_bilateral_bench",
    "coherent": "tests/nic/nic_coherent_bench",
}
TARGETS = {"packetized": 80, "streaming": 15}  # Of the last burst; the others have none.
FRAME_BYTES = 60  # 64 on the wire: the FCS is not in memory.
PACKETS = 100_000
BURST = 32


def count(bench, burst):
    """Instructions per packet."""
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                           "--toggle-collect=Worker*", f"build/release/{bench}", str(FRAME_BYTES),
                           str(burst), str(PACKETS)], capture_output=True, text=True, check=False)
    packets = re.search(r"(\d+) packets", done.stdout)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not packets or not collected:
        sys.exit(f"instructions: {bench} failed\n{(done.stdout + done.stderr)[-2000:]}")
    return int(collected[1]) / int(packets[1])


def main():
    parser = argparse.ArgumentParser(prog="instructions", description=__doc__.splitlines()[0])
    parser.add_argument("--bursts", default="1,8,32,64", help="default: 1,8,32,64")
    bursts = [int(burst) for burst in parser.parse_args().bursts.split(",")]
    os.chdir(ROOT)
    subprocess.run(["scripts/build", "release", *BENCHES.values()], check=True,
                   stdout=subprocess.DEVNULL)
    print("instructions per 64-byte packet, by burst (streaming: a batch of one pipe; bilateral: a "
          "region; coherent: a line)")
    print(f"{'interface':<12}" + "".join(f"{f'burst {burst}':>10}" for burst in bursts)
          + f"{'target':>10}")
    for iface, bench in BENCHES.items():
        found = [count(bench, burst) for burst in bursts]
        line = f"{iface:<12}" + "".join(f"{value:>10.1f}" for value in found)
        if target := TARGETS.get(iface):
            met = "met" if found[-1] <= target else "NOT MET"
            line += f"{target:>10}  {met} at burst {bursts[-1]}"
        print(line)


if __name__ == "__main__":
    main()
