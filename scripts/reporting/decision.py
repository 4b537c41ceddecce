# SPDX-License-Identifier: BSD-3-Clause
"""Chooses the interface for each workload from the rows of a run. Pure functions.

The interface that uses least of the worker's core wins: the fewest cycles per packet. Rates are
irrelevant here, because one core simulates the NIC. Every two interfaces of a workload are compared
by neighbouring samples (paired.py), which works however noisy the host is. The order of two is
reported if it holds simultaneously with all other pairs of the workload: Holm's procedure
(Scandinavian Journal of Statistics 6, 1979). An interface is chosen if no other one is cheaper. An
interface that does other work, drops frames that others send, or fails, is named but not chosen. If
nothing is known about one, there is no verdict, since it might be the best."""
from itertools import combinations
from typing import NamedTuple

import paired
from rows import MAX_DROP_DIFFERENCE, device_bound, drop_share, neighbours, why_unusable

ERROR = 0.05  # Probability that any reported order of a workload is wrong.
UNSEEN = "no work was seen"


class Decision(NamedTuple):
    app: str
    mode: str
    traffic: str
    choice: tuple    # One interface, or several that are indistinguishable; empty: no verdict.
    why: str         # The reason for no verdict, or empty.
    rows: tuple      # Judged rows: the chosen ones, then the others; each group is sorted by cost.
    over: dict       # For each other row, by interface: its cycles divided by those of the first
                     # row.
    pairs: int       # The number of interface pairs compared.
    left_out: dict   # The reasons for omission, by interface.


def ours(rows):
    return [row for row in rows if not row.get("peer")]


def by_workload(rows):
    """Groups our rows by (app, mode, traffic), in their order."""
    found = {}
    for row in ours(rows):
        found.setdefault((row["app"], row["mode"], row["traffic"]), []).append(row)
    return found


def reason(row):
    """Returns why a row has no verdict, in the words of rows.verdict_of."""
    return "without hugepages" if row["verdict"] == "no verdict" else row["verdict"]


def excluded(rows):
    """Returns why rows are excluded, by interface."""
    least = min(map(drop_share, rows))
    out = {}
    for row in rows:
        if row["verdict"] in ("FAILED", "no verdict"):
            out[row["iface"]] = reason(row)
        elif all(map(why_unusable, row["samples"])):
            out[row["iface"]] = UNSEEN
        elif drop_share(row) - least > MAX_DROP_DIFFERENCE:
            out[row["iface"]] = "drops more than others"
    return out


def compared(ours_row, theirs_row):
    """Returns the cycles of one row over another's; None if they have no round in common."""
    pairs = neighbours(ours_row, theirs_row)
    return paired.cost_ratio(*zip(*((one["cycles_per_pkt"], other["cycles_per_pkt"])
                                    for one, other in pairs))) if pairs else None


def orders(ratios):
    """Returns the pairs (cheaper, dearer) with a reported order, from ratios by (interface,
    interface)."""
    given = set()
    for number, (names, found) in enumerate(sorted(ratios.items(), key=lambda it: it[1]["chance"])):
        if found["chance"] > ERROR / (len(ratios) - number):
            break
        given.add(names if found["value"] < 1 else names[::-1])
    return given


def decide(workload, rows):
    """Decides a workload from its rows, one for each interface."""
    left_out = excluded(rows)
    judged = sorted((row for row in rows if row["iface"] not in left_out),
                    key=lambda row: row["cycles_per_pkt"])
    ratios = {(one["iface"], other["iface"]): found for one, other in combinations(judged, 2)
              if (found := compared(one, other))}

    def decision(choice, why=""):
        first = sorted(judged, key=lambda row: row["iface"] not in choice)
        over = {row["iface"]: found for row in first[1:] if (found := compared(row, first[0]))}
        return Decision(*workload, tuple(row["iface"] for row in first if row["iface"] in choice),
                        why, tuple(first), over, len(ratios), left_out)

    if unknown := [iface for iface, why in left_out.items() if why == UNSEEN]:
        return decision((), f"no data for {', '.join(unknown)}")
    if not ratios:
        return decision((), "fewer than two interfaces to compare")
    dearer = {dear for _, dear in orders(ratios)}
    choice = [row["iface"] for row in judged if row["iface"] not in dearer]
    if dearer and choice:
        return decision(choice)
    needed = paired.least_pairs(ERROR / len(ratios))
    if min(found["pairs"] for found in ratios.values()) < needed:
        return decision((), f"too few samples: give --repeats={needed} or more")
    return decision((), "neighbouring samples do not agree on any order")


def decisions(rows):
    return [decide(workload, found) for workload, found in by_workload(rows).items()]
