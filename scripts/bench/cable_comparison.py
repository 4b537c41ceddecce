# SPDX-License-Identifier: BSD-3-Clause
"""Compares the cable between two model NICs with net_memif: the same two processes, each on one
CPU, send each other the same frames (tests/runtime/volley_app.cc). The models run on the workers'
CPUs."""
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile

import cable_report
import output
import run

VOLLEY = "tests/runtime/sluice-volley-bench"
# The links between the processes, by column name. Each has the interface and the model of both
# ends.
PATHS = {"net_memif": ("packetized", None), "packetized": ("packetized", "ipu"),
         "streaming": ("streaming", "enso"), "bilateral": ("bilateral", "ipu")}
SIZES = (64, 1518)
SECONDS = 1.5  # Duration of a sample.
FRAMES = 512  # Frames in flight, both directions together.
LINE_S = 0.1
SKIPPED_LINES = 3  # Number of lines printed during the warm-up.


def ports(path, folder, hugepages):
    """Returns the device arguments of the process that sends first and of the other one, which
    starts first."""
    _, model = PATHS[path]
    if model:
        return [f"net_{model}0,wire=cable:{folder}/cable,device_cpu=worker"] * 2
    socket = f"rsize=10,socket={folder}/memif,socket-abstract=no"
    zero_copy = ",zero-copy=yes" if hugepages else ""
    return [f"net_memif0,role=client,id=0,{socket}{zero_copy}",
            f"net_memif0,role=server,id=0,{socket}"]


def rates(said):
    """Returns the rates in Mpps of all lines after the warm-up."""
    found = [float(rate) for rate in re.findall(r" s  rx +([\d.]+) Mpps", said)]
    return found[SKIPPED_LINES:]


def player(path, vdev, size, cores, hugepages, *flags):
    memory = ["--in-memory", "--single-file-segments"] if hugepages else ["--no-huge", "-m", "256"]
    return subprocess.Popen(
        [f"{run.RELEASE}/{VOLLEY}", f"--lcores={cores}", "--no-pci", "--no-telemetry", *memory,
         f"--file-prefix=sluice-volley-{os.getpid()}-{cores[2]}", f"--vdev={vdev}",
         "--log-level=lib.eal:error", "--", f"--iface={PATHS[path][0]}", f"--bytes={size}",
         f"--stats_period_s={LINE_S}", *flags],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def wait_for_a_line(process, path):
    """Waits for a line of statistics; the port exists by then."""
    said = ""
    for line in process.stdout:
        said += line
        if " s  rx " in line:
            return
    raise run.RunError(f"volley over {path}: a process ended:\n{said[-2000:]}")


def sample(path, size, duration_s, hugepages):
    """Returns how many million frames per second each process receives."""
    with tempfile.TemporaryDirectory() as folder:  # net_memif does not remove its socket.
        return sample_in(folder, path, size, duration_s, hugepages)


def sample_in(folder, path, size, duration_s, hugepages):
    first, second = sorted(os.sched_getaffinity(0))[:2]
    begins, waits = ports(path, folder, hugepages)
    # A main lcore sleeps, so it can share the other process's CPU.
    players = [player(path, waits, size, f"0@{first},1@{second}", hugepages)]
    try:
        wait_for_a_line(players[0], path)
        players.append(player(path, begins, size, f"0@{second},1@{first}", hugepages,
                              f"--serve={FRAMES}", f"--duration_s={duration_s}"))
        said, _ = players[1].communicate(timeout=duration_s + 60)
    except subprocess.TimeoutExpired as error:
        raise run.RunError(f"volley over {path}: {error}") from error
    finally:
        for process in players:
            process.send_signal(signal.SIGTERM)
        for process in players:
            try:
                process.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
    found = rates(said)
    if not found or not max(found):
        raise run.RunError(f"volley over {path} of {size} bytes: nothing returned:\n{said[-2000:]}")
    return {"path": path, "bytes": size, "mpps": statistics.median(found)}


def measure(rounds, duration_s, hugepages, step):
    """Returns samples of every path and size, round by round; calls `step` after each."""
    if len(os.sched_getaffinity(0)) < 2:
        raise run.RunError("two processes that poll need two CPUs")
    found = []
    for number in range(rounds):
        for size in SIZES:
            for path in PATHS:
                found.append(sample(path, size, duration_s, hugepages) | {"round": number})
                step(found[-1])
    return found


def main(args, manifest):
    """Runs scripts/throughput --cable."""
    done, total = 0, args.repeats * len(PATHS) * len(SIZES)

    def step(found):
        nonlocal done
        done += 1
        print(f"[{done}/{total}] {found['path']} {found['bytes']}: {found['mpps']:.2f} Mpps",
              file=sys.stderr, flush=True)

    hugepages = manifest["hugepages"]
    samples = measure(args.repeats, args.duration_s or SECONDS, hugepages, step)
    print(f"\n{manifest['cpu']}, DPDK {manifest['dpdk']}, "
          f"{'hugepages' if hugepages else 'NO HUGEPAGES'}, {manifest['git'][:12]}\n")
    print("\n".join(cable_report.lines(samples)) + "\n")
    print("\n".join(cable_report.verdicts(samples, hugepages)))
    if args.json:
        output.write_json(args.json, manifest, samples)
    return 0
