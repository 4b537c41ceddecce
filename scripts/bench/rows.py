# SPDX-License-Identifier: BSD-3-Clause
"""From samples to rows. Pure: tests feed it recorded samples."""
from statistics import median

DEVICE_BOUND_SHARE = 0.95       # Busy share of the device lcore above which it is the limit.
MAX_SWITCHES_PER_S = 20         # Involuntary context switches that a clean sample may have.
MAX_CONTROL_DEVIATION = 1.5     # Ratio of a sample's ping-pong to the run's median.
MAX_DROP_DIFFERENCE = 0.01      # Of the frames, between interfaces whose work is compared.


def key(sample):
    return sample["app"], sample["mode"], sample["iface"], sample["traffic"]


def interfaces(table):
    """Those of the rows of a table by key, in the table's order."""
    return list(dict.fromkeys(iface for _, _, iface, _ in table))


def switches(sample):
    """Involuntary context switches of a sample."""
    return sample.get("ctx_switches") or 0


def why_noisy(sample, ping_pong_median):
    """Names what keeps a sample out of its row, or nothing."""
    if "failure" in sample:
        return sample["failure"]
    if not sample["cycles_per_pkt"]:
        return "no work was seen"
    if switches(sample) > MAX_SWITCHES_PER_S * max(sample["duration_s"], 1):
        return f"{switches(sample)} involuntary context switches"
    deviation = sample["ping_pong_cycles"] / ping_pong_median
    if not 1 / MAX_CONTROL_DEVIATION <= deviation <= MAX_CONTROL_DEVIATION:
        return f"ping-pong control {sample['ping_pong_cycles']:.0f} cycles"
    return ""


def split_noise(samples):
    """(clean, noisy), judged against the ping-pong median of all of them."""
    middle = median(s["ping_pong_cycles"] for s in samples)
    clean = [s for s in samples if not why_noisy(s, middle)]
    noisy = [dict(s, noise=why_noisy(s, middle)) for s in samples if why_noisy(s, middle)]
    return clean, noisy


def quiet(runs):
    """Runs of an engine alone that kept their core, or all of them, and "noisy", if none did."""
    kept = [r for r in runs if r["switches"] <= MAX_SWITCHES_PER_S * max(r["seconds"], 1)]
    return (kept, "") if kept or not runs else (runs, "noisy")


def ns_per_pkt(sample):
    """Time in which the worker had packets, for each that it received; None of peers, and of apps
    that answer nothing. Rates are of packets sent, and the share that was is that of the whole
    run."""
    if sample.get("worker_busy") is None or not sample["mpps"]:
        return None
    received = sample["mpps"] * sample.get("rx_pkts", 1) / sample.get("tx_pkts", 1)
    return 1000 * sample["worker_busy"] / received


def spread(values):
    return {"median": median(values), "min": min(values), "max": max(values)}


def build_rows(samples, hugepages):
    """One row per app, mode, iface and traffic, in order of first appearance: the fields of the
    sample with the median cycles per packet, all samples, and what was left out as noisy."""
    clean, noisy = split_noise(samples)
    rows = []
    for group in dict.fromkeys(map(key, samples)):
        kept = [s for s in clean if key(s) == group]
        dropped = [s for s in noisy if key(s) == group]
        chosen = sorted(kept or dropped, key=lambda s: s["cycles_per_pkt"])
        row = dict(chosen[(len(chosen) - 1) // 2])
        row["ns_per_pkt"] = ns_per_pkt(row)
        row["samples"] = chosen
        row["noisy_samples"] = len(dropped)
        row["mpps_spread"] = spread([s["mpps"] for s in chosen])
        row["cycles_spread"] = spread([s["cycles_per_pkt"] for s in chosen])
        row["verdict"] = verdict_of(kept, dropped, hugepages)
        rows.append(row)
    add_ratios(rows)
    return rows


def verdict_of(kept, dropped, hugepages):
    if not kept:
        return "FAILED" if any("failure" in s for s in dropped) else "noisy"
    return "" if hugepages else "no verdict"


def device_bound(row):
    device, worker = row.get("device_busy"), row.get("worker_busy")
    return device is not None and device >= DEVICE_BOUND_SHARE and (worker or 0) < device


def drop_share(row):
    return sum(row.get("drops", {}).values()) / max(row.get("rx_pkts", 0), 1)


def add_ratios(rows):
    """Packetized and bilateral rows get their cycles over streaming's (`cycles_ratio`), and
    streaming's rate over theirs (`mpps_ratio`): above 1, streaming is cheaper, or faster. Samples
    are paired by round, so that the spread is that of neighbours in time. Where one drops frames
    that the other sends, the work is not the same and there is no ratio."""
    bases = {(r["app"], r["mode"], r["traffic"]): r for r in rows if r["iface"] == "streaming"}
    for row in rows:
        base = bases.get((row["app"], row["mode"], row["traffic"]))
        if row["iface"] == "streaming" or not base or not base["cycles_per_pkt"]:
            continue
        row["unequal_work"] = abs(drop_share(row) - drop_share(base)) > MAX_DROP_DIFFERENCE
        if row["unequal_work"]:
            row["cycles_ratio"] = row["mpps_ratio"] = None
            continue
        by_round = {s["round"]: s for s in base["samples"] if s["cycles_per_pkt"]}
        pairs = [(s, by_round[s["round"]]) for s in row["samples"] if s["round"] in by_round]
        pairs = pairs or [(row, base)]
        row["cycles_ratio"] = spread([s["cycles_per_pkt"] / b["cycles_per_pkt"] for s, b in pairs])
        row["device_bound"] = device_bound(row) or device_bound(base)
        sends = all(s["mpps"] for pair in pairs for s in pair)
        row["mpps_ratio"] = None if row["device_bound"] or not sends else \
            spread([b["mpps"] / s["mpps"] for s, b in pairs])
