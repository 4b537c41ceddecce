# SPDX-License-Identifier: BSD-3-Clause
"""Formats measurements of sluice-telemetry's engine and interfaces. Pure functions, like
rows.py."""
from statistics import median

from paired import cost_ratio
from rows import envelope, interfaces, spread_text
from workloads import TELEMETRY_FLOWS, TELEMETRY_MODES

MAX_NS = 5
MAX_OF_MEMBER = 0.2  # Maximum ratio of the time to that of librte_member's sketch in the same run.
MAX_ERROR = 0.022
MIN_RECALL = 0.99
TRAFFIC = f"{TELEMETRY_FLOWS // 1000}k flows"


def lines(table, engine):
    """Returns the cost on each interface next to that of the engine alone, whose frames are in
    memory."""
    out = []
    for mode in TELEMETRY_MODES:
        runs = [run[mode] for run in engine]
        if runs:
            out.append(f"telemetry, {mode}, p 0.01, engine alone: "
                       f"{envelope([run['ns_per_packet'] for run in runs])['value']:.2f} ns/packet, "
                       f"{runs[0]['memory_bytes'] / (1 << 20):.1f} MiB of counters")
        for iface in interfaces(table):
            row = table.get(("telemetry", mode, iface, TRAFFIC))
            if row and row["ns_per_pkt"]:
                noise = f" ({row['verdict']})" if row["verdict"] else ""
                out.append(f"telemetry, {mode}, p 0.01, {iface}: {row['mpps']:.2f} Mpps, "
                           f"{row['cycles_per_pkt']:.1f} cycles/packet, "
                           f"{row['ns_per_pkt']:.1f} ns/packet{noise}")
    return out


def over_member(engine):
    """Returns the engine's time over that of librte_member's sketch, which each run measured,
    too."""
    ours, theirs = ([run[name]["ns_per_packet"] for run in engine] for name in ("sketch", "member"))
    return cost_ratio(ours, theirs)


def verdicts(engine):
    """Judges the engine alone, with one sketch per key and no levels."""
    named = [run["sketch"] for run in engine]
    time = f"telemetry's engine alone, p 0.01, top-k 100, at most {MAX_NS} ns/packet"
    error = (f"telemetry's engine alone, p 0.01, average relative error of the top 100 at most "
             f"{100 * MAX_ERROR:.1f} %")
    recall = f"telemetry's engine alone, p 0.01, recall@100 at least {MIN_RECALL}"
    member = (f"telemetry's engine alone, p 0.01, top-k 100, over rte_member's time, at most "
              f"{MAX_OF_MEMBER}")
    if not named:
        return [f"{text}: not measured in this run" for text in (time, error, recall, member)]

    def line(text, found, met):
        return f"{text}: {found}: {'met' if met else 'NOT MET'}"

    times = envelope([run["ns_per_packet"] for run in named])
    errors = median(run["are_top100"] for run in named)
    recalled = median(run["recall_at_100"] for run in named)
    return [line(time, spread_text(times), times["value"] <= MAX_NS),
            line(error, f"{100 * errors:.2f} %", errors <= MAX_ERROR),
            line(recall, f"{recalled:.3f}", recalled >= MIN_RECALL),
            line(member, spread_text(over_member(engine)),
                 over_member(engine)["value"] <= MAX_OF_MEMBER)]
