# SPDX-License-Identifier: BSD-3-Clause
"""Measures the cost of a packet while a quantity grows: flows, pipes, frames, tables, workers. A
curve contains the worker's cycles per packet for each point and interface; points are sampled in
turn, round after round. Curves whose table outgrows the caches are compared with a bare table with
as many entries. The curve of workers needs more cores than this machine has, so a model computes it
in virtual time.
"""
import json
import os
import time
from typing import Callable, NamedTuple, Optional

import run
import workloads
from rows import MAX_UNSETTLED, envelope, why_unusable

FLAT = 1.3  # Maximum ratio of the last point to the first.
WORKERS = "tools/simulation/paper_rows/sluice-paper-rows"


class BareTable(NamedTuple):
    """A program that only looks up keys in a table."""
    what: str
    program: str
    arguments: Callable  # Called with a point.
    read: Callable  # Parses its output: ns of CPU time per lookup.


class Curve(NamedTuple):
    app: str
    axis: str
    points: tuple
    flags: Callable  # Called with a point and a folder for files.
    ifaces: tuple = ()  # Empty: all.
    bare: Optional[BareTable] = None


def maglev(folder, flows, slots=65537):
    path = os.path.join(folder, f"maglev-{slots}.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"slots": slots} | workloads.maglev_config("ip"), file)
    return ["--frame_size=64", f"--config={path}", f"--flows={flows}"]


CONNECTIONS = BareTable(
    "connection table", "tests/maglev/sluice-maglev-connections-bench",
    lambda flows: ["--benchmark_format=json",
                   f"--benchmark_filter=^FindHit/flows:{flows}/ahead:8$"],
    lambda said: run.last_json(said)["benchmarks"][0]["cpu_time"])
COUNT_MIN = BareTable(
    "count-min", "tests/telemetry/sluice-telemetry-bench",
    lambda flows: [f"--flows={flows}", "--packets=5000000", "--only=plain_count_min", "--json"],
    lambda said: run.last_json(said)[0]["ns_per_packet"])
PARTITION = BareTable("partition", "tests/kv/sluice-kv-bench", lambda items: [str(items), "1"],
                      lambda said: run.kv_engine(said)["get"])

CURVES = [
    Curve("echo", "frame size", (64, 128, 256, 512, 1024, 1518),
          lambda size, _: ["--mode=increment", f"--frame_size={size}"]),
    Curve("echo", "flows", (16, 1 << 10, 1 << 14, 1 << 17, 1 << 20),
          lambda flows, _: ["--mode=increment", "--frame_size=64", f"--flows={flows}"]),
    Curve("echo", "pipes", (1, 4, 16, 64, 256, 1024),
          lambda pipes, _: ["--mode=increment", "--frame_size=64", "--flows=65536",
                            f"--pipes={pipes}"],
          ("streaming",)),
    Curve("maglev", "connections", (16, 1 << 10, 1 << 14, 1 << 17, 1 << 20),
          lambda flows, folder: maglev(folder, flows), bare=CONNECTIONS),
    Curve("maglev", "slots of the ring", (16381, 65537, 1048573),
          lambda slots, folder: maglev(folder, 1 << 14, slots)),
    Curve("kv", "items", (1 << 10, 1 << 14, 1 << 17, 1 << 20),
          lambda items, _: [f"--items={2 * items}",
                            f"--client=items={items}+get=0.95+zipf=0.99+outstanding=4096+batch=16"],
          bare=PARTITION),
    Curve("telemetry", "flows", (1 << 10, 1 << 14, 1 << 17, 1 << 20),
          lambda flows, _: ["--frame_size=64", f"--flows={flows}", "--zipf=1", "--pace=fixed",
                            "--probability=0.01", "--top_k=100", "--levels=1"], bare=COUNT_MIN),
]
APPS = list(dict.fromkeys(curve.app for curve in CURVES))
TARGETS = [curve.bare.program for curve in CURVES if curve.bare] + [WORKERS]


def plan(ifaces):
    """Returns (curve, interface, point) for one round."""
    return [(curve, iface, point) for curve in CURVES for iface in ifaces
            if not curve.ifaces or iface in curve.ifaces for point in curve.points]


def measure(found, ifaces, repeats, duration_s, deadline, folder, app_sample, step):
    """Fills {(curve, interface): {point: samples}}. `app_sample` is run.app_sample; `step` is
    called with each sample. A round that would end after the deadline is not started."""
    flags = {(curve.app, curve.axis, point): curve.flags(point, folder)
             for curve in CURVES for point in curve.points}
    began = time.monotonic()
    for number in range(repeats):
        if number and time.monotonic() + (time.monotonic() - began) / number > deadline:
            break
        for curve, iface, point in plan(ifaces):
            sample = app_sample(curve.app, iface, flags[curve.app, curve.axis, point],
                                duration_s or workloads.SECONDS[curve.app])
            found.setdefault((CURVES.index(curve), iface), {}).setdefault(point, []).append(sample)
            step(sample | {"app": curve.app, "mode": curve.axis, "iface": iface,
                           "traffic": str(point)})


def measure_bare(program_says):
    """Returns {index of the curve: {point: ns per lookup}}. `program_says` returns the output of a
    program, given its name and arguments."""
    return {number: {point: curve.bare.read(program_says(curve.bare.program,
                                                         curve.bare.arguments(point)))
                     for point in curve.points}
            for number, curve in enumerate(CURVES) if curve.bare}


def play_workers(program_says):
    """Returns {interface: [(workers, ns of a worker per frame)]} in virtual time."""
    said = json.loads(program_says(WORKERS, ["--rows", "none", "--plot", "workers"]))
    return {name: [(workers, ns) for workers, _, ns in points]
            for name, points in said["plots"]["workers"].items()}


def short(point):
    """Formats 16, 1K, 128K, 1M; other numbers are not shortened."""
    for bits, unit in ((20, "M"), (10, "K")):
        if point >= 1 << bits and point % (1 << bits) == 0:
            return f"{point >> bits}{unit}"
    return f"{point:.0f}"


def growth_of(costs):
    """Returns the ratio of the last point to the first; None if one is missing."""
    return costs[-1] / costs[0] if costs[0] and costs[-1] else None


def verdict(growth, bare, noisy=False):
    """`bare` is the growth of a bare table, or None."""
    if growth is None:
        return ""
    if noisy:
        return "noisy"
    if growth <= FLAT:
        return "flat"
    return "grows, but not more than the bare table" if bare and growth <= bare else "GROWS"


def line(name, width, costs, said=""):
    growth = growth_of(costs)
    return (f"{name:<{width}}" + "".join(f"{cost:>9.1f}" if cost else f"{'-':>9}" for cost in costs)
            + (f"{growth:>8.2f}x" if growth else f"{'-':>9}") + (f"  {said}" if said else ""))


def head(width, points):
    return " " * width + "".join(f"{short(point):>9}" for point in points) + f"{'growth':>9}"


def cost(samples):
    """Returns the envelope of a point's cycles; None if no sample is usable."""
    usable = [s["cycles_per_pkt"] for s in samples if not why_unusable(s)]
    return envelope(usable) if usable else None


def costs_of(curve, points):
    """Returns the costs by point, and whether too few samples of the first or last point were
    quiet."""
    found = [cost(points.get(point, [])) for point in curve.points]
    noisy = any(end and end["value"] > MAX_UNSETTLED * end["low"] for end in (found[0], found[-1]))
    return [one and one["value"] for one in found], noisy


def lines(found, bare):
    """Returns a block of lines for each curve; `growth` is the ratio of the last point to the
    first."""
    out = []
    for number, curve in enumerate(CURVES):
        measured = {iface: points for (of, iface), points in found.items() if of == number}
        if not measured:
            continue
        table = list(bare[number].values()) if number in bare else []
        width = 12 if not table else len(curve.bare.what) + 6
        out += [""] if out else []
        out += [f"{curve.app}: worker cycles per packet by {curve.axis}", head(width, curve.points)]
        for iface, points in measured.items():
            costs, noisy = costs_of(curve, points)
            out.append(line(iface, width, costs,
                            verdict(growth_of(costs), table and growth_of(table), noisy)))
        if table:
            out.append(line(f"{curve.bare.what}, ns", width, table))
    return out


def worker_lines(played):
    """Returns lines for `played`, the result of play_workers."""
    width = max(map(len, played)) + 2
    out = ["echo: ns of a worker per frame by workers, each offered a sixteenth of 100 Gb/s of "
           "64-byte frames (modelled, in virtual time)",
           head(width, [workers for workers, _ in next(iter(played.values()))])]
    for name, points in played.items():
        costs = [ns for _, ns in points]
        out.append(line(name, width, costs, verdict(growth_of(costs), None)))
    return out
