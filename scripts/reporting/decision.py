# SPDX-License-Identifier: BSD-3-Clause
"""Which interface for which workload, from the rows of a run. Pure.

The interface that leaves the worker most of its core wins: the fewest cycles for a packet, if its
samples can be told apart from the others'. Rates decide nothing, as one core plays the NIC. A row
that is noisy or failed, and one that drops what others send, takes no part and is named."""
from typing import NamedTuple

from apart import NOISE, TOO_FEW, tell_apart
from rows import MAX_DROP_DIFFERENCE, device_bound, drop_share


class Decision(NamedTuple):
    app: str
    mode: str
    traffic: str
    choice: tuple    # One interface; several that cannot be told apart; none: no verdict.
    why: str
    left_out: dict   # Why, by interface.


def ours(rows):
    return [row for row in rows if not row.get("peer")]


def by_workload(rows):
    """Rows of our own by (app, mode, traffic), in their order."""
    found = {}
    for row in ours(rows):
        found.setdefault((row["app"], row["mode"], row["traffic"]), []).append(row)
    return found


def cycles(row):
    return [sample["cycles_per_pkt"] for sample in row["samples"]]


def reason(row):
    """Why a row has no verdict of its own, as rows.verdict_of says it."""
    return "without hugepages" if row["verdict"] == "no verdict" else row["verdict"]


def excluded(rows):
    """Why a row takes no part, by interface."""
    least = min(map(drop_share, rows))
    out = {}
    for row in rows:
        if row["verdict"]:
            out[row["iface"]] = reason(row)
        elif drop_share(row) - least > MAX_DROP_DIFFERENCE:
            out[row["iface"]] = "drops what others send"
        elif not row["cycles_per_pkt"]:
            out[row["iface"]] = "no cycles"
    return out


def cost_text(row, best):
    value = row["cycles_spread"]["value"]
    return f"{row['iface']} takes {value:.1f}" + (
        "" if row is best else f", {value / best['cycles_spread']['value']:.2f} times as much")


def decide(workload, rows):
    """Of the rows of one workload, one for each interface."""
    left_out = excluded(rows)
    judged = sorted((row for row in rows if row["iface"] not in left_out),
                    key=lambda row: row["cycles_spread"]["value"])

    def decision(choice, why):
        return Decision(*workload, tuple(choice), why, left_out)

    if len(judged) < 2:
        return decision((), "fewer than two interfaces to compare")
    best = judged[0]
    verdicts = {row["iface"]: tell_apart(cycles(best), cycles(row)) for row in judged[1:]}
    if TOO_FEW in verdicts.values():
        return decision((), "too few samples: give more --repeats")
    equal = [row for row in judged[1:] if verdicts[row["iface"]] != "better"]
    why = "worker cycles a packet: " + "; ".join(cost_text(row, best) for row in judged)
    if equal:
        why += f"; {NOISE}: {', '.join(row['iface'] for row in [best, *equal])}"
    if any(map(device_bound, judged)):
        why += "; rates are not compared, as the core that plays the NIC was the limit"
    return decision([row["iface"] for row in [best, *equal]], why)


def decisions(rows):
    return [decide(workload, found) for workload, found in by_workload(rows).items()]


def summary(found):
    """One line for each application."""
    lines = []
    for app in dict.fromkeys(decision.app for decision in found):
        own = [decision for decision in found if decision.app == app]
        by_choice = {}
        for decision in own:
            choice = " or ".join(decision.choice) or "no verdict"
            by_choice.setdefault(choice, []).append(f"{decision.mode} {decision.traffic}")
        if len(by_choice) == 1:
            [choice] = by_choice
            all_of = f"all {len(own)} workloads" if len(own) > 1 else own[0].traffic
            lines.append((app, f"{choice}, for {all_of}"))
        else:
            lines.append((app, "; ".join(f"{choice} for {', '.join(where)}"
                                         for choice, where in by_choice.items())))
    return lines
