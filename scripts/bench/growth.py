# SPDX-License-Identifier: BSD-3-Clause
"""What a packet costs while something grows: flows, pipes, frames, tables. A curve is a line of worker
cycles per packet, point by point, for each interface; points are sampled in turn, round after round.
"""
import json
import os
import time
from typing import Callable, NamedTuple

import workloads
from rows import envelope, why_unusable


class Curve(NamedTuple):
    app: str
    axis: str
    points: tuple
    flags: Callable  # Of a point and a folder for files.
    ifaces: tuple = ()  # Empty: all.


def maglev(folder, flows, slots=65537):
    path = os.path.join(folder, f"maglev-{slots}.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"slots": slots} | workloads.maglev_config("ip"), file)
    return ["--frame_size=64", f"--config={path}", f"--flows={flows}"]


CURVES = [
    Curve("echo", "frame size", (64, 128, 256, 512, 1024, 1518),
          lambda size, _: ["--mode=increment", f"--frame_size={size}"]),
    Curve("echo", "flows", (16, 1 << 10, 1 << 14, 1 << 17, 1 << 20),
          lambda flows, _: ["--mode=increment", "--frame_size=64", f"--flows={flows}"]),
    Curve("echo", "pipes", (1, 4, 16, 64, 256),
          lambda pipes, _: ["--mode=increment", "--frame_size=64", f"--pipes={pipes}"],
          ("streaming",)),
    Curve("maglev", "connections", (16, 1 << 10, 1 << 14, 1 << 17, 1 << 20),
          lambda flows, folder: maglev(folder, flows)),
    Curve("maglev", "slots of the ring", (16381, 65537, 1048573),
          lambda slots, folder: maglev(folder, 1 << 14, slots)),
    Curve("telemetry", "flows", (1 << 10, 1 << 14, 1 << 17, 1 << 20),
          lambda flows, _: ["--frame_size=64", f"--flows={flows}", "--zipf=1", "--pace=fixed",
                            "--probability=0.01", "--top_k=100", "--levels=1"]),
]
APPS = list(dict.fromkeys(curve.app for curve in CURVES))
REPEATS = 5


def plan(ifaces):
    """(curve, interface, point) of a round."""
    return [(curve, iface, point) for curve in CURVES for iface in ifaces
            if not curve.ifaces or iface in curve.ifaces for point in curve.points]


def measure(ifaces, repeats, duration_s, deadline, folder, app_sample, step):
    """{(curve, interface): {point: samples}}. `app_sample` as run.app_sample; `step` is told each
    sample. No round begins that would end after the deadline."""
    found = {}
    began = time.monotonic()
    for number in range(repeats):
        if number and time.monotonic() + (time.monotonic() - began) / number > deadline:
            break
        for curve, iface, point in plan(ifaces):
            sample = app_sample(curve.app, iface, curve.flags(point, folder),
                                duration_s or workloads.SECONDS[curve.app])
            found.setdefault((CURVES.index(curve), iface), {}).setdefault(point, []).append(sample)
            step(sample | {"app": curve.app, "mode": curve.axis, "iface": iface,
                           "traffic": str(point)})
    return found


def short(point):
    """16, 1K, 128K, 1M; what is no such round number stays as it is."""
    for bits, unit in ((20, "M"), (10, "K")):
        if point >= 1 << bits and point % (1 << bits) == 0:
            return f"{point >> bits}{unit}"
    return str(point)


def lines(found):
    """A block for each curve; `growth` is the last point over the first."""
    out = []
    for number, curve in enumerate(CURVES):
        measured = {iface: points for (of, iface), points in found.items() if of == number}
        if not measured:
            continue
        out += [""] if out else []
        out.append(f"{curve.app}: worker cycles per packet by {curve.axis}")
        out.append(f"{'':<12}" + "".join(f"{short(point):>9}" for point in curve.points)
                   + f"{'growth':>9}")
        for iface, points in measured.items():
            costs = []
            for point in curve.points:
                usable = [s["cycles_per_pkt"] for s in points[point] if not why_unusable(s)]
                costs.append(envelope(usable)["value"] if usable else None)
            growth = f"{costs[-1] / costs[0]:.2f}x" if costs[0] and costs[-1] else "-"
            out.append(f"{iface:<12}"
                       + "".join(f"{cost:>9.1f}" if cost else f"{'-':>9}" for cost in costs)
                       + f"{growth:>9}")
    return out
