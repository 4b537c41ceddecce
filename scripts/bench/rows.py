# SPDX-License-Identifier: BSD-3-Clause
"""From samples to rows. Pure: tests feed it recorded samples.

Whatever else the host does can only add cycles to a sample, and take frames from it. So a figure is
the envelope of its samples: the quartile next to the best one. It needs a quarter of quiet samples,
wherever in the run they are."""
from statistics import median

DEVICE_BOUND_SHARE = 0.95       # Busy share of the device lcore above which it is the limit.
MAX_SWITCHES_PER_S = 20         # Involuntary context switches of a sample that nobody disturbed.
MAX_UNSETTLED = 1.1             # Envelope over best sample, for fewer quiet samples than it needs.
MIN_PAIRS = 5                   # Of neighbouring samples, for their quartiles to decide.
MAX_DROP_DIFFERENCE = 0.01      # Of the frames, between interfaces whose work is compared.


def key(sample):
    return sample["app"], sample["mode"], sample["iface"], sample["traffic"]


def interfaces(table):
    """Those of the rows of a table by key, in the table's order."""
    return list(dict.fromkeys(iface for _, _, iface, _ in table))


def quartile(count):
    """The index of the lower one among so many sorted values."""
    return (count - 1) // 4


def envelope(values, best=min):
    """The best value, the quartile next to it, and the median: far from both on a disturbed host."""
    ordered = sorted(values, reverse=best is max)
    return {"best": ordered[0], "value": ordered[quartile(len(ordered))], "median": median(ordered)}


def spread_text(spread, digits=2):
    """Of an envelope."""
    return "{value:.{0}f} ({best:.{0}f}..{median:.{0}f})".format(digits, **spread)


def ratio_text(found):
    """Of what ratio() says."""
    return "{value:.2f} ({low:.2f}..{high:.2f})".format(**found)


def switches(sample):
    """Involuntary context switches of a sample."""
    return sample.get("ctx_switches") or 0


def is_disturbed(sample):
    return switches(sample) > MAX_SWITCHES_PER_S * max(sample["duration_s"], 1)


def why_unusable(sample):
    """Names what keeps a sample out of its row, or nothing."""
    return sample.get("failure") or ("" if sample["cycles_per_pkt"] else "no work was seen")


def ns_per_pkt(sample):
    """Time in which the worker had packets, for each that it received; None of peers, and of apps
    that answer nothing. Rates are of packets sent, and the share that was is that of the whole
    run."""
    if sample.get("worker_busy") is None or not sample["mpps"]:
        return None
    received = sample["mpps"] * sample.get("rx_pkts", 1) / sample.get("tx_pkts", 1)
    return 1000 * sample["worker_busy"] / received


def build_rows(samples, hugepages):
    """One row per app, mode, iface and traffic, in order of first appearance: the fields of the
    sample on the envelope of the cycles, all samples, and how many were disturbed or left out."""
    rows = []
    for group in dict.fromkeys(map(key, samples)):
        all_of_it = [s for s in samples if key(s) == group]
        usable = [s for s in all_of_it if not why_unusable(s)]
        chosen = sorted(usable or all_of_it, key=lambda s: s["cycles_per_pkt"])
        row = dict(chosen[quartile(len(chosen))])
        row["ns_per_pkt"] = ns_per_pkt(row)
        row["samples"] = chosen
        row["disturbed_samples"] = sum(map(is_disturbed, usable))
        row["left_out"] = [why_unusable(s) for s in all_of_it if why_unusable(s)]
        row["mpps_spread"] = envelope([s["mpps"] for s in chosen], max)
        row["cycles_spread"] = envelope([s["cycles_per_pkt"] for s in chosen])
        row["verdict"] = verdict_of(row, bool(usable), hugepages)
        rows.append(row)
    add_ratios(rows)
    return rows


def verdict_of(row, usable, hugepages):
    if not usable:
        return "FAILED" if "failure" in row else "noisy"
    if not hugepages:
        return "no verdict"
    spread = row["cycles_spread"]
    return "noisy" if spread["value"] > MAX_UNSETTLED * spread["best"] else ""


def device_bound(row):
    device, worker = row.get("device_busy"), row.get("worker_busy")
    return device is not None and device >= DEVICE_BOUND_SHARE and (worker or 0) < device


def drop_share(row):
    return sum(row.get("drops", {}).values()) / max(row.get("rx_pkts", 0), 1)


def ratio(ours, theirs, by_pair):
    """Of two envelopes, and the quartiles of the ratios of neighbouring samples."""
    ordered, at = sorted(by_pair), quartile(len(by_pair))
    return {"value": ours["value"] / theirs["value"], "low": ordered[at], "high": ordered[-1 - at],
            "pairs": len(ordered)}


def inverse(found):
    """Of a ratio: the other way round."""
    return found | {"value": 1 / found["value"], "low": 1 / found["high"], "high": 1 / found["low"]}


def at_most(found, limit):
    """Whether neighbours, which see the same machine, agree that a ratio keeps to its limit, however
    noisy that machine is; None if they do not agree, or are too few."""
    if found["pairs"] < MIN_PAIRS or found["low"] <= limit < found["high"]:
        return None
    return found["high"] <= limit


def add_ratios(rows):
    """Rows of other interfaces get their cycles over streaming's (`cycles_ratio`), and
    streaming's rate over theirs (`mpps_ratio`): above 1, streaming is cheaper, or faster. Where one
    drops frames that the other sends, the work is not the same and there is no ratio."""
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
        by_round = {s["round"]: s for s in base["samples"]}
        pairs = [(s, by_round[s["round"]]) for s in row["samples"] if s["round"] in by_round]
        pairs = pairs or [(row, base)]
        row["cycles_ratio"] = ratio(row["cycles_spread"], base["cycles_spread"],
                                    [s["cycles_per_pkt"] / b["cycles_per_pkt"] for s, b in pairs])
        row["device_bound"] = device_bound(row) or device_bound(base)
        sends = all(s["mpps"] for pair in pairs for s in pair)
        row["mpps_ratio"] = None if not sends else \
            ratio(base["mpps_spread"], row["mpps_spread"],
                  [b["mpps"] / s["mpps"] for s, b in pairs])
