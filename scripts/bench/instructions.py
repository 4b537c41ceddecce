# SPDX-License-Identifier: BSD-3-Clause
"""Counts a worker's instructions per packet under callgrind.

Each bench runs device and worker alternately in one thread, so that the count is the same on every
run. Only functions whose name begins with Worker, and their callees, are counted.

With --caches, callgrind simulates the caches of the processor in Ensō's paper, too. Before every
burst the caches are filled with other lines, because a NIC does not write into a core's cache.
"""
import argparse
import os
import pathlib
import subprocess

from instruction_rows import BENCHES, ENGINE_ROWS, ROWS, Row, collect, count, count_engine

ROOT = pathlib.Path(__file__).resolve().parents[2]
# (name, bench, frame size, arguments after the packets). The last two use the mean size of a trace,
# as Ensō's paper does: packetized does not copy the packets; streaming sends copies of the frames.
CACHED = (("packetized", "packetized", 60, ("cold",)),
          ("streaming", "streaming", 60, ("1", "cold")),
          ("packetized, 462 bytes", "packetized", 462, ("cold",)),
          ("streaming, 462 bytes, copied", "streaming", 462, ("1", "copy", "cold")))
# One core of an i9-9960X; callgrind simulates two levels.
CACHES = ("--cache-sim=yes", "--D1=32768,8,64", "--LL=1048576,16,64")
CACHED_PACKETS = 6400
BURST = 32


def print_caches():
    print("misses per packet in bursts of 32, L1d 32 KiB and L2 1 MiB, by callgrind: without, with "
          "its prefetcher")
    print("| echo | instructions | accesses | L1d misses | of accesses | L2 misses | of L1d's |")
    print("|---|---|---|---|---|---|---|")
    for name, iface, size, arguments in CACHED:
        found = [collect(f"build/release/{BENCHES[iface]}",
                         (size, BURST, CACHED_PACKETS, *arguments),
                         (*CACHES, f"--simulate-hwpref={prefetcher}"))
                 for prefetcher in ("no", "yes")]
        accesses, first, last = ([sum(each[event] for event in events) for each in found]
                                 for events in (("Dr", "Dw"), ("D1mr", "D1mw"), ("DLmr", "DLmw")))
        share = [[f"{part / whole:.1%}" for part, whole in zip(parts, wholes)]
                 for parts, wholes in ((first, accesses), (last, first))]
        print(f"| {name} | {found[0]['Ir']:.1f} | {accesses[0]:.1f} | {first[0]:.2f}, "
              f"{first[1]:.2f} | {', '.join(share[0])} | {last[0]:.2f}, {last[1]:.2f} | "
              f"{', '.join(share[1])} |")


def print_count(name, found, row):
    line = f"{name}{found:>9.1f}"
    line += f"{row.recorded:>10.1f}" if row.recorded else ""
    if row.target:
        line += f"{row.target:>8.0f}  {'met' if found <= row.target else 'NOT MET'}"
    print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(prog="instructions", description=__doc__.splitlines()[0])
    parser.add_argument("--bursts", help="bursts of every interface, such as 1,8,32, in place of "
                        "the rows with targets")
    parser.add_argument("--caches", action="store_true",
                        help="count misses of simulated caches instead")
    args = parser.parse_args()
    os.chdir(ROOT)
    benches = {iface: bench for iface, bench in BENCHES.items()
               if not args.caches or iface in {row[1] for row in CACHED}}
    targets = {*benches.values(), *(row.bench for row in ENGINE_ROWS if not args.caches and not args.bursts)}
    subprocess.run(["scripts/build", "release", *sorted(targets)], check=True,
                   stdout=subprocess.DEVNULL)
    if args.caches:
        print_caches()
        return
    print("instructions per packet (streaming: a batch of one pipe; bilateral: a region; coherent: a "
          "line)")
    print(f"{'interface':<12}{'size':>8}{'burst':>7}{'count':>9}{'recorded':>10}{'target':>8}")
    rows = ROWS
    if args.bursts:
        rows = [Row(iface, int(burst)) for iface in BENCHES for burst in args.bursts.split(",")]
    for row in rows:
        found = count("build/release", row.iface, row.burst, row.size)
        print_count(f"{row.iface:<12}{row.size:>8}{row.burst:>7}", found, row)
    if not args.bursts:
        print("instructions per request of an engine alone")
        for row in ENGINE_ROWS:
            print_count(f"{row.name:<27}", count_engine("build/release", row), row)


if __name__ == "__main__":
    main()
