# SPDX-License-Identifier: BSD-3-Clause
"""Sections for results of scripts/throughput: rows, rates, growth, engines, peers, host, noise."""
import re
from statistics import median

import kv_report
import logmon_report
import rows as row_rules
import targets
import telemetry_report
from decision import ours
from growth import cost
from markup import (MEASURED, MEASURED_MODEL, Cell, badge, bullets, number, paragraph, section,
                    spread, table, text, verdict)
from pictures import bars, lines

NOISY = ("noisy, its quartile is more than a tenth above its best sample; pairs of samples decide "
         "which interface is cheaper")
BOUND = "noisy, or the core that plays the NIC was the limit, so that the rate is the model's"
TRAFFIC = "frame size in bytes, or traffic"
ROWS_NOTE = ("median of the half of the samples that took the fewest cycles, and the range of that half; "
             "ratio: of neighbouring samples, with its 95 % interval; disturbed: samples that lost their core more than "
             f"{row_rules.MAX_SWITCHES_PER_S} times a second")


def share(value):
    return number(None if value is None else 100 * value, 0, " %")


def rows_table(rows, caption, origin):
    return table(
        ["app", "workload", "interface", "verdict", "disturbed", "cycles a packet", "over streaming's",
         "ns a packet", "Mpps", "Gb/s", "worker busy", "NIC busy", "drops", "lost"],
        [[row["app"], f"{row['mode']} {row['traffic']}", row["iface"],
          Cell(row["verdict"] or "", markup=verdict(row["verdict"])),
          Cell(f"{row['disturbed_samples']} of {len(row['samples'])}", row["disturbed_samples"]),
          spread(row["cycles_spread"]),
          spread(row.get("cycles_ratio"), 2), number(row.get("ns_per_pkt")),
          spread(row["mpps_spread"], 2) if row["mpps"] else number(None), number(row["gbps"], 2),
          share(row.get("worker_busy")), share(row.get("device_busy")),
          number(sum((row.get("drops") or {}).values()), 0), number(row.get("lost"), 0)]
         for row in rows], caption, origin)


def hover(row, name, unit):
    found = row[name]
    why = f"; {row['verdict']}" if row["verdict"] else ""
    return (f"{row['iface']}, {row['traffic']}: {found['value']:.2f} {unit} "
            f"({found['low']:.2f} to {found['high']:.2f}){why}")


def mark(row, name, unit, doubt):
    found = row[name]
    return {"value": found["value"], "ends": (found["low"], found["high"]),
            "hover": hover(row, name, unit), "doubt": bool(row["verdict"]) or doubt}


def pictures(rows):
    """Returns pictures of cycles and rates for each mode of each application."""
    found = []
    for app, mode in dict.fromkeys((row["app"], row["mode"]) for row in ours(rows)):
        own = [row for row in ours(rows) if (row["app"], row["mode"]) == (app, mode)]
        groups = list(dict.fromkeys(row["traffic"] for row in own))
        names = list(dict.fromkeys(row["iface"] for row in own))
        for spread_name, unit, title, doubt, pale in (
                ("cycles_spread", "cycles", "worker cycles a packet", lambda row: False, NOISY),
                ("mpps_spread", "Mpps", "million packets a second", row_rules.device_bound, BOUND)):
            marks = {(row["traffic"], row["iface"]): mark(row, spread_name, unit, doubt(row))
                     for row in own if row[spread_name]["value"]}
            found.append(bars(f"{app} {mode}: {title}", TRAFFIC, unit, groups, names, marks,
                              MEASURED_MODEL, pale))
    return f'<div class="pictures">{"".join(found)}</div>\n' if any(found) else ""


def own_targets(data):
    """Returns Sluice's targets as the text report judges them."""
    manifest = data["manifest"]
    streams = [control["stream_cycles"] for control in manifest["controls"]]
    judged = targets.verdicts(data["rows"], manifest["hugepages"], median(streams),
                              manifest.get("engines") or {}, manifest.get("comparison"))
    measured = [line for line in judged if not line.endswith("not measured in this run")]
    return section("Targets of this project", paragraph(
        "For its developers: the targets of this version of Sluice.", "note"),
        bullets(map(coloured, measured))) if measured else ""


def coloured(line):
    """Colours a target by the verdict at its end, which a remark may follow."""
    judged = re.fullmatch(r"(.*: )(met|NOT MET)(;.*)?", line)
    return text(judged[1]) + verdict(judged[2]) + text(judged[3] or "") if judged else text(line)


def applications(data):
    """Returns tables and pictures of our applications."""
    return section("Applications", pictures(data["rows"]),
                   rows_table(ours(data["rows"]), ROWS_NOTE, MEASURED_MODEL))


def peers(data):
    """Returns stock programs, and engines without an interface."""
    rows = [row for row in data["rows"] if row.get("peer")]
    engines = data["manifest"].get("engines") or {}
    keyed = {row_rules.key(row): row for row in data["rows"]}
    parts = []
    if rows:
        parts.append(rows_table(rows, "stock dpdk-testpmd, macswap", MEASURED))
    if comparison := data["manifest"].get("comparison"):
        parts.append(kv_parts(comparison))
    for app, told in (("logmon", logmon_report.lines), ("telemetry", telemetry_report.lines)):
        if engines.get(app):
            parts.append(f"<h3>{app}'s engine alone {badge(MEASURED)}</h3>\n<pre>"
                         + text("\n".join(told(keyed, engines[app]))) + "</pre>\n")
    for app, unit in (("maglev", "ns a packet"), ("kv", "ns an operation")):
        if engines.get(app):
            parts.append(table([app, unit], [
                [name, spread(row_rules.envelope([run[name] for run in engines[app]]))]
                for name in engines[app][0]], f"{app}'s engine alone, CPU time", MEASURED))
    return section("Engines and peers", *parts)


def kv_parts(comparison):
    """Returns the comparison of sluice-kv with memcached."""
    judged = [kv_report.judged(row) for row in comparison["rows"]]
    body, marks = [], {}
    for row in judged:
        busy, process = (kv_report.per_cpu_second(row, time) for time in ("busy_s", "process_s"))
        body.append([row["server"], kv_report.path(row), spread(busy, 0), spread(process, 0),
                     Cell(row["verdict"])])
        for name, found in (("busy worker", busy), ("process", process)):
            if found:
                marks[f"{row['server']}, {kv_report.path(row)}", name] = {
                    "value": found["value"], "ends": (found["low"], found["high"]),
                    "doubt": bool(row["verdict"]),
                    "hover": f"{row['server']}, {name}: {found['value']:.0f} k/s "
                             f"{row['verdict']}".strip()}
    groups = list(dict.fromkeys(group for group, _ in marks))
    return (paragraph(comparison["work"])
            + bars("sluice-kv and memcached", "server, and the path of its requests",
                   "k requests a CPU-second", groups, ["busy worker", "process"], marks, MEASURED,
                   "its client was the limit")
            + table(["server", "path", "k/s of busy worker", "k/s of process", "verdict"], body,
                    kv_report.NOTE, MEASURED)
            + bullets(text(line) for line in comparison["missing"]))


def growth_pictures(data):
    """Returns a picture for each curve of the cost of a packet."""
    found = []
    for app, axis in dict.fromkeys((row["app"], row["axis"]) for row in data["rows"]):
        series = []
        for row in data["rows"]:
            if (row["app"], row["axis"]) == (app, axis):
                costs = [(float(point), cost(samples)) for point, samples in row["points"].items()]
                series.append({"name": row["iface"], "origin": "measured",
                               "points": [[x, y["value"]] for x, y in costs if y]})
        found.append(lines(f"{app}: worker cycles a packet by {axis}",
                           {"label": axis, "unit": "", "log": True},
                           {"label": "cycles a packet", "unit": "", "log": False}, series))
    return section("Growth", f'<div class="pictures">{"".join(found)}</div>\n' if any(found) else "")


def host(data):
    """Describes the host and its noise."""
    manifest, rows = data["manifest"], data["rows"]
    streams, pings = ([control[name] for control in manifest["controls"]]
                      for name in ("stream_cycles", "ping_pong_cycles"))
    facts = [[name, Cell(str(manifest[name]))] for name in
             ("cpu", "cpus", "kernel", "dpdk", "hugepages", "git", "date", "command", "capture")
             if manifest.get(name) is not None]
    facts += [["a line from another core, cycles", Cell(f"{min(streams):.1f}…{max(streams):.1f}")],
              ["ping-pong of a line, cycles", Cell(f"{min(pings):.0f}…{max(pings):.0f}")]]
    facts += [[f"instructions a 64-byte packet, {iface}", Cell(f"{count:.1f}")]
              for iface, count in (manifest.get("instructions") or {}).items()]
    by_verdict = {}
    for row in rows:
        by_verdict.setdefault(row["verdict"], []).append(" ".join(row_rules.key(row)))
    by_verdict.pop("", None)
    disturbed = sum(row["disturbed_samples"] for row in rows)
    noise = [f"{disturbed} of {sum(len(row['samples']) for row in rows)} samples lost their core "
             f"more than {row_rules.MAX_SWITCHES_PER_S} times a second",
             *(f"{why}, {len(names)} of {len(rows)} rows: {'; '.join(names)}"
               for why, names in by_verdict.items())]
    noise += [f"left out, {' '.join(row_rules.key(row))}: {why}"
              for row in rows for why in row.get("left_out", [])]
    return section("Host", table(["fact", "value"], facts, "host and build", MEASURED)) + \
        section("Noise", bullets(map(text, noise)))


