# SPDX-License-Identifier: BSD-3-Clause
"""Measures the round trip of a null RPC on every interface, on a server of libtirpc over the
kernel's UDP, and on a cache line between two cores: the same service and the same clients, in
turn."""
import os
import re
import subprocess
import sys

import ending
import output
import rpc_report
import run

RPC = "apps/rpc/sluice-rpc"
KERNEL = "tools/rpc_kernel/sluice-rpc-kernel"
BENCH = "tests/rpc_app/rpc_app_bench"
LINE, LIBTIRPC = "line ping-pong", "kernel UDP"
INTERFACES = ("coherent", "packetized", "streaming", "bilateral")
PATHS = (LINE, *INTERFACES, LIBTIRPC)
# The programs besides sluice-rpc: the service process, the program for frame interfaces, the wire
# library with the clients, and the service.
PARTS = ("apps/rpc/sluice-rpc-service", "apps/rpc/sluice-rpc-frames",
         "apps/rpc/libsluice_rpc_wire.so", "apps/rpc/services/libsluice_rpc_nothing.so")
TARGETS = (RPC, KERNEL, BENCH, run.CONTROL, *PARTS)
SECONDS = 1.0  # Duration of a sample.
CALLS = 20_000  # Number of calls in an instruction count.
CALL_BYTES = 82  # Ethernet, IPv4, UDP, and a call without credentials or arguments.


def command(path, seconds):
    if path == LIBTIRPC:
        return [f"{run.RELEASE}/{KERNEL}", f"{seconds:g}"]
    return [f"{run.RELEASE}/{RPC}", f"--iface={path}", "--services=nothing", "--outstanding=1",
            f"--duration_s={seconds:g}", "--stats_period_s=0", "--json=-"]


def read(path, report):
    """Returns a sample from a program's report."""
    latency = report["latency_us"]
    return {"path": path, "p50": latency["p50"], "p99": latency["p99"],
            "answered": report["answered"],
            "failed": report["refused"] + report["lost"] + report["corrupted"]}


def sample(path, seconds):
    if path == LINE:
        times = run.control()["ping_pong_us"]
        return {"path": path, "p50": times["p50"], "p99": times["p99"], "answered": 1, "failed": 0}
    done = run.execute(command(path, seconds), seconds + 60)
    if done.returncode != 0:
        raise run.RunError(f"null RPC, {path}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return read(path, run.last_json("\n" + done.stdout))


def instructions(path):
    """Returns the host's instructions per call: the worker's where one runs, else those of the
    server's process."""
    program = [f"{run.RELEASE}/{KERNEL}", "calls", str(CALLS)] if path == LIBTIRPC else \
        [f"{run.RELEASE}/{BENCH}", path, str(CALL_BYTES), "1", str(CALLS)]
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                           "--toggle-collect=Worker*",
                           "--toggle-collect=*WorkerPoll*", *program], capture_output=True, text=True,
                          check=False)
    calls = re.search(r"(\d+) packets", done.stdout)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not calls or not collected:
        raise run.RunError(f"instructions, {path}\n{(done.stdout + done.stderr)[-2000:]}")
    return int(collected[1]) / int(calls[1])


def measure(rounds, seconds, step):
    """Returns samples of every path, round by round; calls `step` after each."""
    if len(os.sched_getaffinity(0)) < 2:
        raise run.RunError("a polling NIC and a polling core need two CPUs")
    found = []
    for number in range(rounds):
        for path in PATHS:
            found.append(sample(path, seconds) | {"round": number})
            step(found[-1])
    return found


def main(args, manifest):
    """Runs scripts/throughput --rpc."""
    done, total = 0, args.repeats * len(PATHS)

    def step(found):
        nonlocal done
        done += 1
        print(f"[{done}/{total}] {found['path']}: p50 {found['p50']:.2f} us, "
              f"p99 {found['p99']:.2f} us", file=sys.stderr, flush=True)

    counts = {path: instructions(path) for path in (*INTERFACES, LIBTIRPC)}
    samples = measure(args.repeats, args.duration_s or SECONDS, step)
    print(f"\n{manifest['cpu']}, {manifest['cpus']} CPUs, DPDK {manifest['dpdk']}, "
          f"{'hugepages' if manifest['hugepages'] else 'NO HUGEPAGES'}, {manifest['git'][:12]}\n")
    print("\n".join(rpc_report.lines(samples, counts, LINE)) + "\n")
    print("\n".join(rpc_report.verdicts(samples, counts)))
    output.write_json(args.json, manifest | {"samples": samples, "instructions": counts},
                      rpc_report.curves(samples), "curves")
    ending.print_written("throughput", args, [args.json])
    return 1 if any(one["failed"] for one in samples) else 0
