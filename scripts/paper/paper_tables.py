#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares claims of papers about a host and its NIC with results of Sluice in virtual time.

values.json contains the papers' values, each with its source, the place in it and the quotation.
Ours come only from sluice-paper-rows: operations on a modelled link, and a table of costs.
judging.py defines the words of the verdicts, and docs/paper_tables.md explains them.
"""
import argparse
import collections
import io
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts/bench"))
import ranges  # pylint: disable=wrong-import-position
from judging import judge, total  # pylint: disable=wrong-import-position
from progress import Progress  # pylint: disable=wrong-import-position

MEASURED = "build/measured/paper_tables.json"  # scripts/report reads this file.
VALUES = pathlib.Path(__file__).resolve().parent / "values.json"
RANGES = VALUES.parent / "ranges.json"
PROGRAM = "tools/simulation/paper_rows/sluice-paper-rows"
BEGIN, END = "<!-- begin: scripts/paper_tables --page -->", "<!-- end -->"


class Plot(NamedTuple):
    axis: str
    short: str  # The contents of its table cell.
    panels: tuple
    log_x: bool = False


PLOTS = {
    "load": Plot("load", "p99 in us / stale decisions in %",
                 ("99th percentile of latency, us", "stale decisions, %")),
    "change": Plot("changes per task and second", "p99 in us / stale decisions in %",
                   ("99th percentile of latency, us", "stale decisions, %"), log_x=True),
    "rtt": Plot("Gb/s of 64-byte frames", "round trip of an echo by one worker, p50 / p99 in us",
                ("median of the round trip, us", "99th percentile of the round trip, us")),
    "workers": Plot("workers", "echo: Mpps with a full wire / worker's ns per frame with a "
                    "sixteenth of the wire per worker",
                    ("Mpps with a full wire", "worker's time per frame, ns"), log_x=True),
}


def parse_arguments():
    parser = argparse.ArgumentParser(prog="paper_tables", description=__doc__.splitlines()[0])
    parser.add_argument("--set", action="append", default=[], metavar="INPUT=VALUE",
                        help="change an input, as pcie_oneway=500ns; --inputs lists them")
    parser.add_argument("--inputs", action="store_true", help="list the inputs")
    parser.add_argument("--ranges", nargs="?", const=str(RANGES), metavar="FILE",
                        help="sweep the inputs again (minutes): the limits of each verdict; "
                        "default: scripts/paper/ranges.json, for the inputs' default values")
    parser.add_argument("--json", metavar="FILE",
                        help=f"default: {MEASURED}; - = standard output, instead of the table")
    parser.add_argument("--plot", metavar="FOLDER",
                        help="write load.png and change.png: latency and stale decisions; rtt.png "
                        "and workers.png: latency and rate of an echo")
    parser.add_argument("--page", metavar="FILE",
                        help="write the table into this page, docs/paper_tables.md")
    parser.add_argument("--program", metavar="FILE",
                        help="use this sluice-paper-rows instead of building it")
    return parser.parse_args()


def build():
    subprocess.run([ROOT / "scripts/build", "release", PROGRAM], check=True,
                   stdout=sys.stderr)
    return ROOT / "build/release" / PROGRAM


def compute(program, settings):
    """Returns the output of sluice-paper-rows; after an interrupt the partial output, with
    "stopped"."""
    command = [str(program), "--plots", "--progress",
               *(part for each in settings for part in ("--set", each))]
    progress = None
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out, \
            subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE, text=True) as process:
        while True:
            try:
                for line in process.stderr:
                    step = re.fullmatch(r"(\d+) (\d+) (.*)\n", line)
                    if not step:
                        print(line, end="", file=sys.stderr)
                        continue
                    progress = progress or Progress([1] * int(step[2]))
                    progress.step(step[3])
                break
            except KeyboardInterrupt:
                process.send_signal(signal.SIGINT)  # The process finishes its current row.
        if progress:
            progress.close()
        if process.wait() != 0:
            sys.exit(process.returncode)
        out.seek(0)
        return json.loads(out.read())


def sweep(program, settings, data, computed, place):
    """Determines the range in which each verdict holds, and writes it for later runs."""
    sweeper = ranges.Sweeper(program, settings, data, computed)
    if changed := sweeper.changed_by_sample():
        sys.exit(f"paper_tables: short runs change verdicts ({', '.join(changed)}): "
                 "increase ranges.SAMPLE")
    progress = Progress([len(rows) for _, rows in sweeper.tasks()])
    found = sweeper.sweep(progress.step)
    progress.close()
    lines = (f" {json.dumps(name)}: {json.dumps(row)}" for name, row in found.items())
    pathlib.Path(place).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return found


def number(value, unit):
    if unit == "1/s":
        return f"{value / 1e6:.1f}M" if value >= 10e6 else f"{value / 1000:.0f}K"
    digits = 0 if unit == "ns" or (unit == "" and value == int(value)) else 2
    text = f"{value:.{digits}f}"
    return f"{text} {unit}".strip()


def law_of(row):
    return f"{row['law']['expected']:.2f} % = 1 - exp(-L W)"


def join(data, computed, stands):
    """Joins rows of papers and ours; `stands` contains the ranges of verdicts, from
    ranges.Sweeper."""
    inputs = {each["name"]: each for each in computed["inputs"]}
    rows = {row["id"]: row for row in computed["rows"]}
    joined = []
    for paper in data["rows"]:
        if "section" in paper:
            joined.append(paper)
            continue
        row = rows.pop(paper["id"], None)
        if row is None and "elsewhere" not in paper:
            if "stopped" in computed:
                continue
            sys.exit(f"sluice-paper-rows does not compute {paper['id']}")
        verdict, tolerance, counted = judge(paper, row, inputs)
        said = paper.get("paper", "")
        if row and row.get("law"):
            said = law_of(row)
        elif not said and "sum" in paper:
            said = number(total(paper["sum"], inputs), row["unit"]) + " (sum)"
        joined.append({
            "id": paper["id"],
            "what": row["what"] if row else paper["what"],
            "paper": said,
            "source": paper["source"],
            "where": paper.get("where", ""),
            "quote": paper.get("quote", ""),
            "kind": paper.get("kind", ""),
            "ours": row["value"] if row else None,
            "unit": row["unit"] if row else "",
            "shown": number(row["value"], row["unit"]) if row else "",
            "inputs": {name: inputs[name]["value"] for name in row["inputs"]} if row else {},
            "groups": list(dict.fromkeys(inputs[name]["group"] for name in row["inputs"]))
                      if row else [],
            "law": row.get("law") if row else None,
            "tolerance": tolerance,
            "verdict": verdict,
            "stands": ranges.shown(stands, row, counted) if row else "",
            "counted": counted,
        })
    if rows:
        sys.exit(f"values.json does not contain {', '.join(rows)}")
    return joined


def shown_inputs(row):
    """Lists a few inputs by name, and many by the operations that they are costs of."""
    return ", ".join(row["inputs"] if len(row["inputs"]) <= 4 else row["groups"])


def shown_source(row):
    return f"{row['source']}: {row['where']}" if row["where"] else row["source"]


def counts(rows):
    return collections.Counter(row["counted"] for row in rows if "id" in row)


def print_table(rows, data, out):
    print("| row | quantity | paper | ours | kind | tolerance | verdict | range | source | inputs |",
          file=out)
    print("|---|---|---|---|---|---|---|---|---|---|", file=out)
    for row in rows:
        if "section" in row:
            print(f"| | **{row['section']}** | | | | | | | | |", file=out)
            continue
        cells = [row["id"], row["what"], row["paper"], row["shown"], row["kind"],
                 row["tolerance"], row["verdict"], row["stands"], shown_source(row), shown_inputs(row)]
        print("| " + " | ".join(cells) + " |", file=out)
    print(file=out)
    for source, text in data["sources"].items():
        print(f"- {source}: {text}", file=out)
    print(file=out)
    for counted, count in sorted(counts(rows).items()):
        print(f"{count} {counted}", file=out)


def print_swept(inputs, out):
    print("\n| swept | value | range | origin |\n|---|---|---|---|", file=out)
    for each in inputs:
        if each["sweep"]:
            print(f"| {each['name']} | {each['value']} | {each['sweep']} | {each['origin']} |",
                  file=out)


def cell(point):
    """Formats the panels of a plot for a table."""
    return " / ".join(f"{value:.1f}" for value in point[1:])


def print_plots(plots, out):
    """Prints a summary of the plots' data."""
    for name, plot in PLOTS.items():
        if name not in plots:
            continue
        series = {line: {point[0]: point for point in points}
                  for line, points in plots[name].items()}
        xs = sorted(set().union(*series.values()))
        print(f"\n| {plot.short}, by {plot.axis} | " + " | ".join(f"{x:g}" for x in xs) + " |",
              file=out)
        print("|---|" + "---|" * len(xs), file=out)
        for line, points in series.items():
            cells = [cell(points[x]) if x in points else "-" for x in xs]
            print(f"| {line} | " + " | ".join(cells) + " |", file=out)


def replace_in_page(page, text):
    """Replaces the text between the two marks."""
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(before + BEGIN + "\n" + text + END + after, encoding="utf-8")


def draw(plots, folder):
    import matplotlib  # pylint: disable=import-outside-toplevel
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt  # pylint: disable=import-outside-toplevel
    folder.mkdir(parents=True, exist_ok=True)
    for name, plot in PLOTS.items():
        figure, axes = plt.subplots(1, len(plot.panels), figsize=(11, 4.2))
        for column, (axis, title) in enumerate(zip(axes, plot.panels), 1):
            for line, points in plots.get(name, {}).items():
                axis.plot([p[0] for p in points], [p[column] for p in points], marker="o",
                          markersize=3, label=line)
            axis.set_xlabel(plot.axis)
            axis.set_title(title, fontsize=10)
            if plot.log_x:
                axis.set_xscale("log")
            if title.endswith(", us"):
                axis.set_yscale("log")
            axis.grid(alpha=0.3)
        axes[0].legend(fontsize=8)
        figure.suptitle("Model, virtual time", fontsize=9)
        figure.tight_layout()
        figure.savefig(folder / f"{name}.png", dpi=120)
        plt.close(figure)


def main():
    args = parse_arguments()
    data = json.loads(VALUES.read_text(encoding="utf-8"))
    program = args.program or build()
    computed = compute(program, args.set)
    if args.inputs:
        for each in computed["inputs"]:
            chosen = f"; chosen from {each['chosen_from']}" if each["chosen_from"] else ""
            swept = f"; swept {each['sweep']}" if each["sweep"] else ""
            print(f"{each['name']:24} {each['value']:>10}  {each['group']}: {each['origin']}"
                  f"{chosen}{swept}")
        return 0
    if args.ranges and "stopped" not in computed:
        stands = sweep(program, args.set, data, computed, args.ranges)
    else:
        stands = json.loads(RANGES.read_text(encoding="utf-8"))
    rows = join(data, computed, stands)
    plots = computed.get("plots", {})
    text = json.dumps({"inputs": computed["inputs"], "rows": rows, "counts": counts(rows),
                       "plots": plots, "stopped": computed.get("stopped", "")}, indent=1)
    if args.json == "-":
        print(text)
    else:
        place = pathlib.Path(args.json or ROOT / MEASURED)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text + "\n", encoding="utf-8")
    out = io.StringIO()
    print_table(rows, data, out)
    print_swept(computed["inputs"], out)
    print_plots(plots, out)
    if args.page and "stopped" not in computed:
        replace_in_page(pathlib.Path(args.page), out.getvalue())
    elif args.json != "-":
        print(out.getvalue(), end="")
    if args.plot:
        draw(plots, pathlib.Path(args.plot))
    if "stopped" in computed:
        done = sum(row.get("ours") is not None for row in rows)
        print(f"paper_tables: interrupted; {done} rows were computed", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
