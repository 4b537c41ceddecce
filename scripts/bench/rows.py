# SPDX-License-Identifier: BSD-3-Clause
"""Computes rows from samples. Pure functions, which tests call with recorded samples.

Other activity of the host can only add cycles to a sample, and lose frames. So a figure is the
envelope of its samples: the quartile next to the best one. It is valid if a quarter of the samples
is quiet, in any part of the run. The quartile of the cycles is the median of the better half of the
samples, and all figures of a row are medians of that half. Rows are compared by neighbors
(paired.py), not by their figures."""
from statistics import median, median_low

from paired import cost_ratio, ratio

DEVICE_BOUND_SHARE = 0.95       # Above this busy share, the device lcore is the bottleneck.
MAX_SWITCHES_PER_S = 20         # Maximum involuntary context switches of an undisturbed sample.
MAX_UNSETTLED = 1.1             # Maximum ratio of the envelope to the best sample; above it, too
                                # few samples are quiet.
MAX_DROP_DIFFERENCE = 0.01      # The work is compared only if the drops differ by at most this
                                # share of the frames.
FIGURES = ("cycles_per_pkt", "ns_per_pkt", "mpps", "gbps", "worker_busy", "device_busy")


def key(sample):
    return sample["app"], sample["mode"], sample["iface"], sample["traffic"]


def interfaces(table):
    """Returns the interfaces of a table's rows by key, in the table's order."""
    return list(dict.fromkeys(iface for _, _, iface, _ in table))


def quartile(count):
    """Returns the index of the lower quartile among this many sorted values."""
    return (count - 1) // 4


def envelope(values, best=min):
    """Returns the quartile next to the best value, and the range from the best to the median, which
    is wide on a disturbed host."""
    ordered = sorted(values, reverse=best is max)
    low, high = sorted((ordered[0], median(ordered)))
    return {"value": ordered[quartile(len(ordered))], "low": low, "high": high}


def spread_text(found, digits=2):
    """Formats a figure, an envelope or a ratio, with its range."""
    return "{value:.{0}f} ({low:.{0}f}..{high:.{0}f})".format(digits, **found)


def switches(sample):
    """Returns the involuntary context switches of a sample."""
    return sample.get("ctx_switches") or 0


def is_disturbed(sample):
    return switches(sample) > MAX_SWITCHES_PER_S * max(sample["duration_s"], 1)


def why_unusable(sample):
    """Returns the reason that excludes a sample from its row, or an empty string."""
    return sample.get("failure") or ("" if sample["cycles_per_pkt"] else "no work was seen")


def ns_per_pkt(sample):
    """Returns the time in which the worker had packets, per received packet; None for peers, and
    for apps that send no responses. Rates count sent packets; the share of sent packets is that of
    the whole run."""
    if sample.get("worker_busy") is None or not sample["mpps"]:
        return None
    received = sample["mpps"] * sample.get("rx_pkts", 1) / sample.get("tx_pkts", 1)
    return 1000 * sample["worker_busy"] / received


def build_rows(samples, hugepages):
    """Builds one row per app, mode, iface and traffic, in order of first appearance. A row has the
    fields of the sample on the envelope of the cycles, except for the figures; all samples; and the
    numbers of disturbed and excluded samples."""
    rows = []
    for group in dict.fromkeys(map(key, samples)):
        all_of_it = [s for s in samples if key(s) == group]
        usable = [s for s in all_of_it if not why_unusable(s)]
        chosen = sorted(usable or all_of_it, key=lambda s: s["cycles_per_pkt"])
        half = [s | {"ns_per_pkt": ns_per_pkt(s)} for s in chosen[:(len(chosen) + 1) // 2]]
        row = dict(chosen[quartile(len(chosen))])
        row |= {name: figure(half, name)["value"] for name in FIGURES if name in half[0]}
        row["samples"] = chosen
        row["disturbed_samples"] = sum(map(is_disturbed, usable))
        row["left_out"] = [why_unusable(s) for s in all_of_it if why_unusable(s)]
        row["mpps_spread"] = figure(half, "mpps")
        row["cycles_spread"] = figure(half, "cycles_per_pkt")
        row["verdict"] = verdict_of(row, bool(usable), hugepages)
        rows.append(row)
    add_ratios(rows)
    return rows


def figure(half, name):
    """Returns a figure of the better half of the samples, and its range over them; None unless all
    samples have it."""
    values = [sample.get(name) for sample in half]
    if None in values:
        return dict.fromkeys(("value", "low", "high"))
    return {"value": median_low(values), "low": min(values), "high": max(values)}


def rebuilt(rows, hugepages):
    """Rebuilds the rows of a file from their samples, so that a page is consistent regardless of
    the release that wrote the file."""
    again = build_rows([sample for row in rows for sample in row["samples"]], hugepages)
    left_out = {key(row): row.get("left_out", []) for row in rows}
    return [row | {"left_out": left_out[key(row)]} for row in again]


def verdict_of(row, usable, hugepages):
    if not usable:
        return "FAILED" if "failure" in row else "noisy"
    if not hugepages:
        return "no verdict"
    spread = row["cycles_spread"]
    return "noisy" if spread["value"] > MAX_UNSETTLED * spread["low"] else ""


def device_bound(row):
    device, worker = row.get("device_busy"), row.get("worker_busy")
    return device is not None and device >= DEVICE_BOUND_SHARE and (worker or 0) < device


def drop_share(row):
    return sum(row.get("drops", {}).values()) / max(row.get("rx_pkts", 0), 1)


def add_ratios(rows):
    """Adds to rows of other interfaces their cycles over streaming's (`cycles_ratio`) and
    streaming's rate over theirs (`mpps_ratio`): above 1, streaming is cheaper, or faster. If one
    drops frames that the other sends, the work differs and no ratio is added."""
    bases = {(r["app"], r["mode"], r["traffic"]): r for r in rows if r["iface"] == "streaming"}
    for row in rows:
        base = bases.get((row["app"], row["mode"], row["traffic"]))
        if row["iface"] == "streaming" or not base or \
                not row["cycles_per_pkt"] or not base["cycles_per_pkt"]:
            continue
        row["unequal_work"] = abs(drop_share(row) - drop_share(base)) > MAX_DROP_DIFFERENCE
        if row["unequal_work"]:
            row["cycles_ratio"] = row["mpps_ratio"] = None
            continue
        pairs = neighbours(row, base) or [(row, base)]
        row["cycles_ratio"] = cost_ratio(*zip(*((s["cycles_per_pkt"], b["cycles_per_pkt"])
                                                for s, b in pairs)))
        row["device_bound"] = device_bound(row) or device_bound(base)
        sends = all(s["mpps"] for pair in pairs for s in pair)
        row["mpps_ratio"] = ratio(*zip(*((b["mpps"], s["mpps"]) for s, b in pairs))) \
            if sends else None


def neighbours(ours, theirs):
    """Returns the samples of two rows by round, where both are usable."""
    theirs = {s["round"]: s for s in theirs["samples"] if not why_unusable(s)}
    return [(s, theirs[s["round"]]) for s in ours["samples"]
            if not why_unusable(s) and s["round"] in theirs]
