# SPDX-License-Identifier: BSD-3-Clause
"""Sections of files other than throughput's rows: papers' values next to simulated ones, curves,
zero-loss rates."""
from markup import (ORIGINS, PAPER, SIMULATED, Cell, badge, number, paragraph, section, table, text,
                    verdict)
from pictures import lines

NANOSECONDS = {"us": 1e3, "ms": 1e6}  # Units besides ns, because times are sorted by duration.
PLOTS = {"load": {"label": "load of the CPUs", "unit": "", "log": False},
         "change": {"label": "changes of a waiting task per second", "unit": "", "log": True}}
COLUMNS = ((1, {"label": "99th percentile of latency", "unit": "us", "log": True}),
           (2, {"label": "stale decisions", "unit": "%", "log": False}))


def paper(data):
    """Shows scripts/paper_tables; all of our values are virtual time."""
    body = []
    part = ""
    for row in data["rows"]:
        if "section" in row:
            part = row["section"]
            continue
        ours = row.get("ours")
        body.append([Cell(part), Cell(row["id"]), Cell(row["what"]), Cell(row["paper"]),
                     Cell(row["shown"] or "-", float("inf") if ours is None
                          else ours * NANOSECONDS.get(row["unit"], 1)),
                     Cell(row["kind"]), Cell(row["tolerance"]), Cell(row["verdict"]),
                     Cell(row["source"])])
    counts = "; ".join(f"{count} {name}" for name, count in sorted(data.get("counts", {}).items()))
    pictures = []
    for plot, x_axis in PLOTS.items():
        for column, y_axis in COLUMNS:
            series = [{"name": name, "origin": "simulated",
                       "points": [[point[0], point[column]] for point in points
                                  if point[column] > 0 or not y_axis["log"]]}
                      for name, points in (data.get("plots") or {}).get(plot, {}).items()]
            pictures.append(lines(f"{y_axis['label']} by {x_axis['label']}", x_axis, y_axis, series))
    stopped = data.get("stopped")
    return section(
        "Papers and simulation",
        paragraph(f"This run ended early ({stopped}): rows are missing.", "warning") if stopped
        else "",
        f'<p class="warning">{badge(SIMULATED)} Everything of ours in this section was computed in '
        "virtual time. Nothing here was measured, and no figure of it may be compared with one of "
        "the other sections.</p>\n",
        paragraph(counts, "soft"),
        f'<div class="pictures">{"".join(pictures)}</div>\n' if any(pictures) else "",
        table(["part", "row", "what", f"paper ({PAPER[0]})", "ours (simulated)", "kind",
               "tolerance", "verdict", "source"], body, "papers' values next to ours", SIMULATED))


def curves(data):
    """Returns a picture for each curve, which states whether the curve was measured."""
    found = []
    for curve in data["curves"]:
        series = [each | {"origin": each.get("origin") if each.get("origin") in ORIGINS
                          else curve["origin"]} for each in curve["series"]]
        found.append(lines(curve["name"], curve["x"], curve["y"], series,
                           str(curve.get("note", ""))))
    return section("Curves", source(data),
                   f'<div class="pictures">{"".join(found)}</div>\n' if any(found) else "")


def zero_loss(data):
    """Shows intervals, not points; a refused verdict has no figure."""
    body = []
    for result in data["zero_loss"]:
        refused = bool(result["verdict"])
        middle = (result["low_mpps"] + result["high_mpps"]) / 2
        body.append([
            result["app"], result["iface"], result["traffic"], allowed(result),
            number(None) if refused else
            Cell(f"{result['low_mpps']:.3f}…{result['high_mpps']:.3f}", middle),
            number(None if refused else 100 * result["confidence"], 0, " %"),
            Cell(result["origin"], markup=badge(ORIGINS[result["origin"]])),
            Cell(result["verdict"], markup=verdict(result["verdict"]))])
    origins = {result["origin"] for result in data["zero_loss"]}
    return section("Zero-loss rates", source(data), table(
        ["app", "interface", "traffic", "loss", "Mpps", "confidence", "origin",
         "no verdict because"], body,
        "highest rates without loss, as intervals",
        ORIGINS["simulated" if "simulated" in origins else "measured"])) if body else ""


def allowed(result):
    """Returns the permitted loss of a rate: none (NDR), or some (PDR)."""
    percent = result["loss_percent"]
    return Cell(f"up to {percent:g} %" if percent else "none", percent)


def source(data):
    manifest = data["manifest"]
    stopped = manifest.get("stopped")
    return (paragraph(f"This run ended early ({stopped}): figures are missing.", "warning")
            if stopped else "") + \
        f'<p class="soft">{text(manifest["cpu"])}, {text(manifest["git"][:12])}, ' \
        f'{text(manifest["date"])}</p>\n'
