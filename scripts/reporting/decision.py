# SPDX-License-Identifier: BSD-3-Clause
"""Which interface for which workload, from the rows of a run. Pure.

The interface that leaves the worker most of its core wins: the fewest cycles for a packet. Rates
decide nothing, as one core plays the NIC. Every two interfaces of a workload are compared by
neighbouring samples (paired.py), for which no host is too noisy. The order of two is given if it
holds with all others of its workload together: Holm's procedure (Scandinavian Journal of Statistics
6, 1979). An interface is chosen if no other one is cheaper than it. One that does other work, drops
what others send or fails, is named and not chosen; one of which nothing is known prevents a verdict,
since it might be the best."""
from itertools import combinations
from typing import NamedTuple

import paired
from rows import MAX_DROP_DIFFERENCE, device_bound, drop_share, neighbours, why_unusable

ERROR = 0.05  # Chance that any order that is given for a workload is wrong.
UNSEEN = "no work was seen"


class Decision(NamedTuple):
    app: str
    mode: str
    traffic: str
    choice: tuple    # One interface, or several that cannot be told apart; none: no verdict.
    why: str         # There is no verdict; or nothing.
    rows: tuple      # Judged, the cheapest first: those of the choice come before the others.
    over: dict       # Ratio of its cycles to the first one's, by interface; not of the first.
    pairs: int       # Of interfaces that were compared.
    left_out: dict   # Why, by interface.


def ours(rows):
    return [row for row in rows if not row.get("peer")]


def by_workload(rows):
    """Rows of our own by (app, mode, traffic), in their order."""
    found = {}
    for row in ours(rows):
        found.setdefault((row["app"], row["mode"], row["traffic"]), []).append(row)
    return found


def reason(row):
    """Why a row has no verdict of its own, as rows.verdict_of says it."""
    return "without hugepages" if row["verdict"] == "no verdict" else row["verdict"]


def excluded(rows):
    """Why a row takes no part, by interface."""
    least = min(map(drop_share, rows))
    out = {}
    for row in rows:
        if row["verdict"] in ("FAILED", "no verdict"):
            out[row["iface"]] = reason(row)
        elif all(map(why_unusable, row["samples"])):
            out[row["iface"]] = UNSEEN
        elif drop_share(row) - least > MAX_DROP_DIFFERENCE:
            out[row["iface"]] = "drops what others send"
    return out


def compared(ours_row, theirs_row):
    """Cycles of one row over another's; None: they have no round in common."""
    pairs = neighbours(ours_row, theirs_row)
    return paired.cost_ratio(*zip(*((one["cycles_per_pkt"], other["cycles_per_pkt"])
                                    for one, other in pairs))) if pairs else None


def orders(ratios):
    """Of ratios by (interface, interface): the pairs (cheaper, dearer) whose order is given."""
    given = set()
    for number, (names, found) in enumerate(sorted(ratios.items(), key=lambda it: it[1]["chance"])):
        if found["chance"] > ERROR / (len(ratios) - number):
            break
        given.add(names if found["value"] < 1 else names[::-1])
    return given


def decide(workload, rows):
    """Of the rows of one workload, one for each interface."""
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
        return decision((), f"nothing is known of {', '.join(unknown)}")
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
