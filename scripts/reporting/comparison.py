# SPDX-License-Identifier: BSD-3-Clause
"""Finds changes between two runs beyond noise. Pure functions."""
from typing import NamedTuple

from apart import tell_apart
from decision import reason
from growth import cost
from inputs import GROWTH, THROUGHPUT
from rows import DEVICE_BOUND_SHARE, key, why_unusable

# Figures are comparable only if these properties of the hosts agree; other differences may explain
# a change.
SAME = ("cpu", "hugepages")
OTHERS = ("cpus", "dpdk", "kernel")
CHANGED = ("better", "worse")


class Change(NamedTuple):
    name: tuple     # app, mode, iface, traffic; for growth app, axis, iface, point.
    metric: str
    old: dict       # Envelopes; None if missing in that run.
    new: dict
    verdict: str    # "better", "worse", or the reason for no verdict.

    @property
    def ratio(self):
        """New over old."""
        return self.new["value"] / self.old["value"] if self.old and self.new and \
            self.old["value"] else None


def why_not(old, new):
    """Returns the reason why a pair of rows has no verdict, or an empty string."""
    for run, row in (("old", old), ("new", new)):
        if row["verdict"]:
            return f"no verdict: the {run} row is {reason(row)}"
    return ""


def bound(row):
    return (row.get("device_busy") or 0) >= DEVICE_BOUND_SHARE


def compare_rows(old, new):
    """Returns changes of cycles and rates; rows of only one run come last, with their cycles."""
    old, new = ({key(row): row for row in rows} for rows in (old, new))
    found = []
    for name, row in new.items():
        if name not in old:
            continue
        before = old[name]
        for metric, spread, best in (("cycles_per_pkt", "cycles_spread", min),
                                     ("mpps", "mpps_spread", max)):
            if not row[metric] or not before[metric]:
                continue
            verdict = why_not(before, row) or (
                "no verdict: the model NIC was the limit"
                if metric == "mpps" and (bound(row) or bound(before)) else
                tell_apart(*([sample[metric] for sample in one["samples"]]
                             for one in (row, before)), best))
            found.append(Change(name, metric, before[spread], row[spread], verdict))
    return found + alone({name: row["cycles_spread"] for name, row in old.items()},
                         {name: row["cycles_spread"] for name, row in new.items()})


def alone(old, new):
    """Returns the rows of only one run."""
    return [Change(name, "cycles_per_pkt", spread, None, "only in the old run")
            for name, spread in old.items() if name not in new] + \
        [Change(name, "cycles_per_pkt", None, spread, "only in the new run")
         for name, spread in new.items() if name not in old]


def compare_growth(old, new):
    def points(rows):
        return {(row["app"], row["axis"], row["iface"], point): samples for row in rows
                for point, samples in row["points"].items() if cost(samples)}

    old, new = points(old), points(new)
    usable = lambda samples: [s["cycles_per_pkt"] for s in samples if not why_unusable(s)]
    found = [Change(name, "cycles_per_pkt", cost(old[name]), cost(samples),
                    tell_apart(usable(samples), usable(old[name])))
             for name, samples in new.items() if name in old]
    return found + alone({name: cost(samples) for name, samples in old.items()},
                         {name: cost(samples) for name, samples in new.items()})


def host_differences(old, new):
    """Returns (differences that prevent a comparison, other differences) between two manifests."""
    def differing(names):
        return [f"{name}: {old.get(name)} -> {new.get(name)}" for name in names
                if old.get(name) != new.get(name)]
    return differing(SAME), differing(OTHERS)


def compare(kind, old, new):
    """Returns the changes, and lines about the hosts."""
    fatal, others = host_differences(old["manifest"], new["manifest"])
    changes = {THROUGHPUT: compare_rows, GROWTH: compare_growth}[kind](old["rows"], new["rows"])
    if fatal:
        changes = [change._replace(verdict="no verdict: another host or other memory")
                   if change.old and change.new else change for change in changes]
    return changes, [f"{line}: nothing is judged" for line in fatal] + others


def lines(changes):
    """Returns lines of text: the changes, then the number of unchanged rows and the reasons."""
    changed = [change for change in changes if change.verdict in CHANGED]
    out = [f"{change.verdict:<7}{' '.join(change.name)}: {change.metric} "
           f"{change.old['value']:.2f} -> {change.new['value']:.2f} ({change.ratio:.2f}x)"
           for change in sorted(changed, key=lambda c: c.verdict, reverse=True)]
    reasons = {}
    for change in changes:
        if change.verdict not in CHANGED:
            reasons[change.verdict] = reasons.get(change.verdict, 0) + 1
    out.append(f"{len(changed)} of {len(changes)} figures changed beyond noise")
    return out + [f"{count}: {reason}" for reason, count in reasons.items()]
