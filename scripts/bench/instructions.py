# SPDX-License-Identifier: BSD-3-Clause
"""Counts a worker's instructions per packet under callgrind.

Each bench runs device and worker alternately in one thread, so that the count is the same on every
run. Only functions whose name begins with Worker, and their callees, are counted.

With --caches, callgrind simulates the caches of the processor in Ensō's paper, too. Before every
burst they are filled with other lines, because a NIC does not write into a core's cache.
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
TARGETS = {"packetized": 80, "streaming": 15}  # For the last burst of the interface.
# (name, bench, frame size, arguments after the packets). The last two use the mean size of a trace,
# as in Ensō's paper: frames sent as copies, and packets that are not copied.
CACHED = (("packetized", "packetized", 60, ("cold",)),
          ("streaming", "streaming", 60, ("1", "cold")),
          ("packetized, 462 bytes", "packetized", 462, ("cold",)),
          ("streaming, 462 bytes, copied", "streaming", 462, ("1", "copy", "cold")))
# One core of an i9-9960X; callgrind simulates two levels.
CACHES = ("--cache-sim=yes", "--D1=32768,8,64", "--LL=1048576,16,64")
CACHED_PACKETS = 6400
FRAME_BYTES = 60  # 64 on the wire, including the FCS, which is not in memory.
PACKETS = 100_000
BURST = 32


def collect(bench, size, burst, packets, arguments=(), options=()):
    """Returns the count per packet of each event of callgrind."""
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                           "--toggle-collect=Worker*", *options, bench,
                           str(size), str(burst), str(packets), *arguments],
                          capture_output=True, text=True, check=False)
    echoed = re.search(r"(\d+) packets", done.stdout)
    events = re.search(r"Events +: (.+)", done.stderr)
    collected = re.search(r"Collected : (.+)", done.stderr)
    if done.returncode != 0 or not echoed or not events or not collected:
        sys.exit(f"instructions: {bench} failed\n{(done.stdout + done.stderr)[-2000:]}")
    return {event: int(number) / int(echoed[1])
            for event, number in zip(events[1].split(), collected[1].split())}


def count(bench, burst):
    """Returns the instructions per packet."""
    return collect(f"build/release/{bench}", FRAME_BYTES, burst, PACKETS)["Ir"]


def print_caches():
    print("misses per packet in bursts of 32, L1d 32 KiB and L2 1 MiB, by callgrind: without, with "
          "its prefetcher")
    print("| echo | instructions | accesses | L1d misses | of accesses | L2 misses | of L1d's |")
    print("|---|---|---|---|---|---|---|")
    for name, iface, size, arguments in CACHED:
        found = [collect(f"build/release/{BENCHES[iface]}", size, BURST, CACHED_PACKETS, arguments,
                         (*CACHES, f"--simulate-hwpref={prefetcher}"))
                 for prefetcher in ("no", "yes")]
        accesses, first, last = ([sum(each[event] for event in events) for each in found]
                                 for events in (("Dr", "Dw"), ("D1mr", "D1mw"), ("DLmr", "DLmw")))
        share = [[f"{part / whole:.1%}" for part, whole in zip(parts, wholes)]
                 for parts, wholes in ((first, accesses), (last, first))]
        print(f"| {name} | {found[0]['Ir']:.1f} | {accesses[0]:.1f} | {first[0]:.2f}, "
              f"{first[1]:.2f} | {', '.join(share[0])} | {last[0]:.2f}, {last[1]:.2f} | "
              f"{', '.join(share[1])} |")


def main():
    parser = argparse.ArgumentParser(prog="instructions", description=__doc__.splitlines()[0])
    parser.add_argument("--bursts", default="1,8,32,64", help="default: 1,8,32,64")
    parser.add_argument("--caches", action="store_true",
                        help="count misses of simulated caches instead")
    args = parser.parse_args()
    bursts = [int(burst) for burst in args.bursts.split(",")]
    os.chdir(ROOT)
    benches = {iface: bench for iface, bench in BENCHES.items()
               if not args.caches or iface in {row[1] for row in CACHED}}
    subprocess.run(["scripts/build", "release", *benches.values()], check=True,
                   stdout=subprocess.DEVNULL)
    if args.caches:
        print_caches()
        return
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
