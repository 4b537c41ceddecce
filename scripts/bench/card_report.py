# SPDX-License-Identifier: BSD-3-Clause
"""Prints the measurements of scripts/throughput --device, and judges the targets of a NIC across
PCIe. Pure functions, like rows.py."""
import paper_ratios
import rows as row_rules
from card_plan import SMALLEST, worker_words
from output import ratio
from paired import inverse
from targets import judge, judge_rate

# Targets for the smallest frames.
STREAMING_MPPS, STREAMING_CYCLES = 140, 12  # With one worker.
STREAMING_RATES = {1: 1.9, 8: 1.7}          # Minimum ratio to packetized's rate, by number of
                                            # workers.
BILATERAL_RATE = 1.0                        # Minimum ratio to streaming's rate, with one worker.
# If an interface's rate is below this share of the offered load, it did not carry the load. The
# rate of a run includes its start.
CARRIED = 0.95
WRONG = ("lost", "corrupted", "duplicated", "reordered")
NO_CARD = "no verdict, because CPU threads executed the model"


def crosses_pcie(device):
    """`device` describes the card in a manifest."""
    return device["on"].startswith("gpu")


def title(device):
    """Returns the origin of the figures, with the properties of the link that were read."""
    if not crosses_pcie(device):
        return f"NOT measured across PCIe: CPU threads executed the model ({device['about']})"
    link = f"generation {device['generation']}, {device['width']} lanes, as NVML read them" \
        if device.get("generation") else "generation and width could not be read"
    driver = f", driver {device['driver']}" if device.get("driver") else ""
    return f"measured across PCIe: {device['about']}{driver}; PCIe {link}"


def batches(row):
    """Returns the maximum number of frames in a turn, and the mean number per message."""
    return f"{row['batch']}/" + (f"{row['message_pkts']:.0f}" if row["message_pkts"] else "-")


def settings(rows):
    """Returns a line with the device arguments and flags of each interface."""
    found = {row["iface"]: row["setting"] for row in rows}
    return "settings: " + "; ".join(f"{iface} {given}" for iface, given in found.items())


def times(row):
    """Returns p50, p99 and p99.9 in microseconds; empty if the wire measured no latency."""
    found = row["latency_us"]
    return [found[name] for name in ("p50", "p99", "p99.9")] if found else []


def wrong(row):
    """Returns the numbers of frames that were not answered correctly."""
    counts = {name: row.get(name) for name in WRONG}
    counts |= {"dropped": sum((row.get("drops") or {}).values()),
               "dropped by the NIC": row.get("nic_dropped_pkts")}
    return ", ".join(f"{name} {count}" for name, count in counts.items() if count)


def is_carried(point):
    return point["mpps"] >= CARRIED * point["offered_mpps"]


def both_ways(found):
    """Formats Gb/s to the host and from the host; a dash for missing values."""
    return "/".join(f"{found[way]:.1f}" if found.get(way) is not None else "-"
                    for way in ("to_host", "from_host"))


def counters(row):
    """Returns NVML's Gb/s by direction; empty if they were not read."""
    return {name.removesuffix("_gbps"): value for name, value in row["nvml"].items()
            if name.endswith("_gbps")}


def aligned(lines, left):
    """Formats lists of cells as a table, whose first `left` columns are aligned to the left."""
    widths = [max(map(len, column)) for column in zip(*lines)]
    return ["  ".join(f"{cell:<{width}}" if n < left else f"{cell:>{width}}"
                      for n, (cell, width) in enumerate(zip(line, widths))).rstrip()
            for line in lines]


def rate_lines(rows):
    out = [["app", "traffic", "workers", "interface", "Mpps", "Gb/s", "cycles", "busy",
            "batch/message", "p50 us", "p99 us", "p99.9 us", "over streaming", ""]]
    for row in rows:
        sends = bool(row["mpps"])
        out.append([f"{row['app']} {row['mode']}".strip(), row["traffic"], str(row["workers"]),
                    row["iface"], f"{row['mpps']:.2f}" if sends else "-",
                    f"{row['gbps']:.1f}" if sends else "-", f"{row['cycles_per_pkt']:.1f}",
                    f"{100 * row['worker_busy']:.0f}%", batches(row),
                    *([f"{each:.1f}" for each in times(row)] or ["-"] * 3),
                    ratio(row, "mpps_ratio"),
                    "; ".join(filter(None, [row["verdict"], wrong(row)]))])
    return aligned(out, 4)


def by_workers(rows, iface):
    """Returns the Mpps of echo on an interface, by traffic and workers."""
    return {(row["traffic"], row["workers"]): row["mpps"] for row in rows
            if row["app"] == "echo" and row["iface"] == iface and row["mpps"]}


def worker_lines(rows):
    """Returns echo's Mpps on each interface side by side, by traffic and workers."""
    ifaces = list(dict.fromkeys(row["iface"] for row in rows))
    found = {iface: by_workers(rows, iface) for iface in ifaces}
    places = list(dict.fromkeys((row["traffic"], row["workers"]) for row in rows
                                if row["app"] == "echo"))
    return aligned([["traffic", "workers", *(f"{iface}, Mpps" for iface in ifaces)],
                    *([traffic, str(workers), *(
                        f"{found[iface][traffic, workers]:.2f}"
                        if (traffic, workers) in found[iface] else "-" for iface in ifaces)]
                      for traffic, workers in places)], 1)


def latency_lines(points):
    out = [["interface", "offered Mpps", "Mpps", "batch/message", "p50 us", "p99 us", "p99.9 us",
            ""]]
    out += [[point["iface"], f"{point['offered_mpps']:.3f}", f"{point['mpps']:.3f}", batches(point),
             *([f"{each:.1f}" for each in times(point)] or ["-"] * 3),
             "" if is_carried(point) else "more than the interface carried"] for point in points]
    return aligned(out, 1)


def kinds_of(rows):
    return list(dict.fromkeys(kind for row in rows for kind in row["link_bytes"]))


def link_lines(rows):
    """Returns bytes per frame by kind, and the rates of the link by the model and by NVML."""
    kinds = kinds_of(rows)
    out = [["app", "traffic", "workers", "interface", *(kind.replace("_", " ") for kind in kinds),
            "Gb/s to/from host", "NVML"]]
    out += [[row["app"], row["traffic"], str(row["workers"]), row["iface"],
             *(f"{row['link_bytes'].get(kind, 0):.1f}" for kind in kinds),
             both_ways(row["link_gbps"]), both_ways(counters(row))] for row in rows]
    return aligned(out, 4)


def verdicts(rows, device, hugepages):
    """Returns a line for each target."""
    if not crosses_pcie(device):
        return [NO_CARD]
    table = {(row["iface"], row["workers"]): row for row in rows
             if row["app"] == "echo" and row["traffic"] == SMALLEST}
    streaming = table.get(("streaming", 1))
    lines = []

    def ratio_line(text, row, limit, found):
        judged = row and row.get("mpps_ratio")
        lines.append(judge_rate(text, hugepages, found(row["mpps_ratio"]), limit, row,
                                table["streaming", row["workers"]])
                     if judged else f"{text}: not measured in this run")

    for text, name, met in (
            (f"streaming, at least {STREAMING_MPPS} Mpps", "mpps", lambda v: v >= STREAMING_MPPS),
            (f"streaming, at most {STREAMING_CYCLES} cycles a frame", "cycles_per_pkt",
             lambda v: v <= STREAMING_CYCLES)):
        text += f", {worker_words(1)}, {SMALLEST} bytes"
        lines.append(judge(f"{text}: {streaming[name]:.1f}", hugepages, met(streaming[name]),
                           streaming) if streaming else f"{text}: not measured in this run")
    for workers, limit in STREAMING_RATES.items():
        ratio_line(f"streaming/packetized Mpps, {worker_words(workers)}, {SMALLEST} bytes, "
                   f"at least {limit}", table.get(("packetized", workers)), limit,
                   lambda found: found)
    ratio_line(f"bilateral/streaming Mpps, {worker_words(1)}, {SMALLEST} bytes, "
               f"at least {BILATERAL_RATE}", table.get(("bilateral", 1)), BILATERAL_RATE, inverse)
    return lines


def omitted_lines(omitted):
    """Returns a line for each reason, with all points that were omitted for this reason."""
    by_reason = {}
    for each in omitted:
        by_reason.setdefault(each["reason"], {})[each["point"]] = True
    return [f"omitted: {reason}: {'; '.join(points)}" for reason, points in by_reason.items()]


def lines(rows, manifest):
    """Returns the report of a run."""
    device = manifest["device"]
    out = [title(device), settings(rows), "", *worker_lines(rows), "",
           "batch/message: maximum number of frames in a turn of a block / frames per "
           "notification, completion, region or line", *rate_lines(rows)]
    if manifest["latency"]:
        out += ["", "latency against load, one worker, "
                f"{SMALLEST} bytes, from the card and back by its clock",
                *latency_lines(manifest["latency"])]
    out += ["", "bytes on the link per received frame, counted by the model, and rates of the link",
            *link_lines(rows)]
    if crosses_pcie(device) and (paper := paper_ratios.lines(rows)):
        out += ["", "measured across PCIe:", *paper]
    judged = verdicts(rows, device, manifest["hugepages"])
    return out + ["", "Targets:", *(f"  {line}" for line in judged),
                  *omitted_lines(manifest["omitted"])]


def failed(rows):
    """Returns whether a run of any row failed, for example because frames were lost."""
    return any(row["verdict"] == "FAILED" or any(map(row_rules.why_unusable, row["samples"]))
               for row in rows)
