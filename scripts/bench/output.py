# SPDX-License-Identifier: BSD-3-Clause
"""Prints rows as a table, and writes them as CSV and JSON."""
import csv
import json
import os

from rows import MAX_SWITCHES_PER_S, spread_text

COLUMNS = [  # title, width, function that reads it from a row
    ("app", 17, lambda r: f"{r['app']} {r['mode']}"),
    ("traffic", 12, lambda r: r["traffic"]),
    ("iface", 11, lambda r: r["iface"] + ("*" if r.get("peer") else "")),
    ("Mpps", 8, lambda r: f"{r['mpps']:.2f}" if r["mpps"] else "-"),
    ("Gb/s", 7, lambda r: f"{r['gbps']:.2f}" if r["mpps"] else "-"),
    ("cyc/pkt", 8, lambda r: f"{r['cycles_per_pkt']:.1f}"),
    ("ns/pkt", 7, lambda r: f"{r['ns_per_pkt']:.1f}" if r["ns_per_pkt"] else "-"),
    ("worker", 7, lambda r: share(r.get("worker_busy"))),
    ("device", 7, lambda r: share(r.get("device_busy"))),
    ("drops", 8, lambda r: str(sum(r.get("drops", {}).values()))),
    ("lost", 6, lambda r: str(r.get("lost", "-"))),
    ("switches", 9, lambda r: str(r.get("ctx_switches", "-"))),
    ("", 10, lambda r: r["verdict"]),
]
LEFT_ALIGNED = 3


def share(value):
    return "-" if value is None else f"{100 * value:.0f}%"


def ratio(row, name):
    if not row or name not in row:
        return "-"
    if row[name] is None:
        return "unequal work" if row["unequal_work"] else "-"
    return spread_text(row[name]) + ("d" if name == "mpps_ratio" and row["device_bound"] else "")


def table(rows):
    def line(cells):
        return " ".join(f"{cell:<{width}}" if i < LEFT_ALIGNED else f"{cell:>{width}}"
                        for i, (cell, (_, width, _)) in enumerate(zip(cells, COLUMNS))).rstrip()

    lines = [line([title for title, _, _ in COLUMNS])]
    for i, row in enumerate(rows):
        if i and (row["app"], row["mode"]) != (rows[i - 1]["app"], rows[i - 1]["mode"]):
            lines.append("")
        lines.append(line([read(row) for _, _, read in COLUMNS]))
    return "\n".join(lines)


def side_by_side(rows):
    """Prints one line per traffic: the cost of each interface, and its ratio to streaming."""
    ours = [row for row in rows if not row.get("peer")]
    table = {(row["app"], row["mode"], row["traffic"], row["iface"]): row for row in ours}
    ifaces = list(dict.fromkeys(row["iface"] for row in ours))
    compared = [iface for iface in ifaces if iface != "streaming"] if "streaming" in ifaces else []

    def value(read, digits):
        return lambda row: f"{read(row):.{digits}f}" if row and read(row) else "-"

    groups = [  # title, interfaces, width of a cell, function that reads it from a row
        ("worker cycles per packet", ifaces, 11, value(lambda r: r["cycles_per_pkt"], 1)),
        ("over streaming's", compared, 20, lambda row: ratio(row, "cycles_ratio")),
        ("Mpps", ifaces, 11, value(lambda r: r["mpps_spread"]["value"], 2)),
        ("streaming's over theirs", compared, 20, lambda row: ratio(row, "mpps_ratio")),
    ]
    # Shown only for applications with a target.
    time = ("worker ns per packet", ifaces, 11, value(lambda r: r["ns_per_pkt"], 1))

    def line(start, shown, cell):
        """`cell` formats a value, given an interface and the function that reads it."""
        parts = ("".join(f"{cell(iface, read):>{width}}" for iface in names)
                 for _, names, width, read in shown)
        return (f"{start:<13}" + " |".join(parts)).rstrip(" |")

    lines = []
    for app, mode in dict.fromkeys((row["app"], row["mode"]) for row in ours):
        shown = [time, *groups] if app in ("maglev", "telemetry") else groups
        if not any(row["mpps"] for row in ours if row["app"] == app):
            shown = shown[:-2]  # Telemetry sends no responses, so there are no rates.
        lines += [""] if lines else []
        lines += [f"{app} {mode}: " + " | ".join(title for title, *_ in shown),
                  line("traffic", shown, lambda iface, _: iface)]
        for traffic in dict.fromkeys(r["traffic"] for r in ours if (r["app"], r["mode"]) == (app, mode)):
            lines.append(line(traffic, shown, lambda iface, read, traffic=traffic:
                              read(table.get((app, mode, traffic, iface)))))
    return "\n".join(lines)


def footer(rows, controls):
    """Explains the tables, and the lower bound that the host sets."""
    stream = [c["stream_cycles"] for c in controls]
    lines = ["figures: medians of the half of a row's samples that took the fewest cycles; ratios: of "
             "neighbouring\nsamples (95 % interval): above 1, streaming is cheaper, or faster",
             "d: the core that plays the NIC limited one of the two, so the ratio compares models",
             f"line-stream floor of this host: {min(stream):.1f}..{max(stream):.1f} cycles for a "
             "64-byte line that another core wrote"]
    if any(r.get("peer") for r in rows):
        lines.append("* a peer, measured here: stock dpdk-testpmd macswap, burst 64 "
                     "(net_null moves no bytes; net_memif in two processes)")
    disturbed = sum(r["disturbed_samples"] for r in rows)
    lines.append(f"{disturbed} of {sum(len(r['samples']) for r in rows)} samples lost their core more "
                 f"than {MAX_SWITCHES_PER_S} times a second")
    lines += [f"{row['verdict'] or 'left out'}: {row['app']} {row['mode']} {row['iface']} "
              f"{row['traffic']}: {why}" for row in rows for why in row["left_out"]]
    return "\n".join(lines)


def write_json(path, manifest, rows, name="rows"):
    """`name` is the member that contains the results."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"manifest": manifest, name: rows}, file, indent=1)
        file.write("\n")


def write_csv(path, rows):
    plain = [{name: value for name, value in row.items() if not isinstance(value, (dict, list))}
             | {"drops": sum(row.get("drops", {}).values())}
             | {f"{name}_{part}": value
                for name in ("mpps_spread", "cycles_spread", "mpps_ratio", "cycles_ratio")
                for part, value in (row.get(name) or {}).items()}
             for row in rows]
    names = list(dict.fromkeys(name for row in plain for name in row))
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(plain)
