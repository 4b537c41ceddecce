# SPDX-License-Identifier: BSD-3-Clause
"""The section of scripts/throughput --device: measurements of a NIC on a card. Their badge
separates figures that were measured across PCIe from all others."""
import card_report
import paper_ratios
from card_report import batches, by_workers, counters, crosses_pcie, is_carried, kinds_of, times
from markup import ORIGINS, Cell, badge, bullets, number, paragraph, section, table, text, verdict
from measured import coloured, share
from modelled import source
from pictures import lines

NOTE = ("Batch: maximum number of frames in a turn of a block. Message: frames per notification, "
        "completion, region or line. Latency: from the card to the application and back by the "
        "card's clock, at the rate of the same row.")
WORKERS = {"label": "workers", "unit": "", "log": False}
RATE = {"label": "million frames a second", "unit": "Mpps", "log": False}
LOAD = {"label": "offered load", "unit": "Mpps", "log": True}
LINK_NOTE = ("bytes per received frame that crossed the link, as the model counts them, without "
             "headers of PCIe packets; Gb/s to and from the host by the model and by the GPU's "
             "counters (NVML)")
PERCENTILES = ("p50", "p99", "p99.9")


def origin_of(device):
    """Returns the name of the origin."""
    return "pcie" if crosses_pcie(device) else "threads"


def ifaces_of(rows):
    return list(dict.fromkeys(row["iface"] for row in rows))


def latency_cells(row):
    return [number(each) for each in times(row) or [None] * len(PERCENTILES)]


def verdict_cell(row):
    """Returns the verdict, followed by the numbers of frames that were not answered correctly."""
    wrong = card_report.wrong(row)
    return Cell(f"{row['verdict']} {wrong}".strip(),
                markup=" ".join(filter(None, [verdict(row["verdict"]), text(wrong)])))


def rates_table(rows, origin):
    return table(
        ["app", "traffic", "workers", "interface", "verdict", "Mpps", "Gb/s", "cycles a frame",
         "worker busy", "batch/message", *(f"{each}, us" for each in PERCENTILES),
         "streaming's Mpps over it"],
        [[f"{row['app']} {row['mode']}".strip(), row["traffic"], number(row["workers"], 0),
          row["iface"], verdict_cell(row),
          number(row["mpps"] or None, 2), number(row["gbps"] if row["mpps"] else None),
          number(row["cycles_per_pkt"]), share(row["worker_busy"]), batches(row),
          *latency_cells(row), number((row.get("mpps_ratio") or {}).get("value"), 2, "x")]
         for row in rows], NOTE, origin)


def latency_table(points, origin):
    return table(
        ["interface", "offered Mpps", "Mpps", "batch/message",
         *(f"{each}, us" for each in PERCENTILES), "carried"],
        [[point["iface"], number(point["offered_mpps"], 3), number(point["mpps"], 3),
          batches(point), *latency_cells(point), "yes" if is_carried(point) else "no"]
         for point in points], "latency against load, one worker, "
        f"{card_report.SMALLEST} bytes, by the card's clock", origin)


def link_table(rows, origin):
    kinds = kinds_of(rows)
    return table(
        ["app", "traffic", "workers", "interface", *(kind.replace("_", " ") for kind in kinds),
         "to host, Gb/s", "NVML", "from host, Gb/s", "NVML"],
        [[row["app"], row["traffic"], number(row["workers"], 0), row["iface"],
          *(number(row["link_bytes"].get(kind)) for kind in kinds),
          *(number(found.get(way)) for way in ("to_host", "from_host")
            for found in (row["link_gbps"], counters(row)))] for row in rows], LINK_NOTE, origin)


def pictures(data, origin):
    """Returns rates by workers for each traffic, and latency by load for each percentile."""
    rows = [row for row in data["card"] if row["app"] == "echo"]
    found = []
    for traffic in dict.fromkeys(row["traffic"] for row in rows):
        series = [{"name": iface, "origin": origin,
                   "points": sorted([workers, mpps] for (name, workers), mpps
                                    in by_workers(rows, iface).items() if name == traffic)}
                  for iface in ifaces_of(rows)]
        found.append(lines(f"echo by workers, {traffic}", WORKERS, RATE, series))
    points = [point for point in data["manifest"]["latency"] if times(point) and is_carried(point)]
    for name in PERCENTILES:
        series = [{"name": iface, "origin": origin,
                   "points": sorted([point["offered_mpps"], point["latency_us"][name]]
                                    for point in points if point["iface"] == iface)}
                  for iface in ifaces_of(points)]
        found.append(lines(f"latency against load, {name}", LOAD,
                           {"label": name, "unit": "us", "log": True}, series))
    return f'<div class="pictures">{"".join(found)}</div>\n' if any(found) else ""


def papers(rows, origin):
    """Returns the comparison with the Ensō paper's applications."""
    found = paper_ratios.lines(rows)
    return f"<h3>Papers {badge(origin)}</h3>\n<pre>" + text("\n".join(found)) + "</pre>\n" \
        if found else ""


def card(data):
    """Returns the section of a file."""
    manifest, rows = data["manifest"], data["card"]
    device = manifest["device"]
    origin = ORIGINS[origin_of(device)]
    targets = card_report.verdicts(rows, device, manifest["hugepages"])
    return section(
        "A NIC across PCIe" if crosses_pcie(device) else "The models of a card on CPU threads",
        source(data),
        f'<p class="sentence">{badge(origin)} {text(card_report.title(device))}</p>\n',
        paragraph(card_report.settings(rows), "soft"),
        pictures(data, origin_of(device)), rates_table(rows, origin),
        latency_table(manifest["latency"], origin) if manifest["latency"] else "",
        link_table(rows, origin), papers(rows, origin) if crosses_pcie(device) else "",
        bullets(map(coloured, targets)),
        bullets(map(text, card_report.omitted_lines(manifest["omitted"])))
        if manifest["omitted"] else "")
