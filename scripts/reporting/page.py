# SPDX-License-Identifier: BSD-3-Clause
"""The page: its head, the decision, and the sections, in one self-contained file."""
import pathlib

import across
import comparison
import inputs
import measured
import modelled
import summary
from decision import decisions
from markup import (MEASURED_MODEL, Cell, badge, number, paragraph, section, spread, table, text,
                    verdict)
from summary import workload

HERE = pathlib.Path(__file__).resolve().parent
# The browser refuses all external resources.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
MODEL_NOTE = ("Measured on this host with model NICs: one core plays the NIC and really copies every "
              "byte. Worker cycles describe the interface; rates describe the model, too. No Ensō "
              "FPGA and no IPU was measured.")
CAPTION = ("the interface with the fewest worker cycles, by pairs of neighbouring samples; x: ratio to "
           "the first interface, with the 95 % interval of the pairs")
ORDER = (inputs.ZERO_LOSS, inputs.CURVES, inputs.GROWTH, inputs.PAPER)


def document(title, body):
    style, script = ((HERE / name).read_text(encoding="utf-8") for name in ("style.css", "page.js"))
    return ('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{text(POLICY)}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{text(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
            f"<h1>{text(title)}</h1>\n{body}<script>\n{script}</script>\n</body>\n</html>\n")


def host_line(manifest):
    memory = "hugepages" if manifest.get("hugepages") else "NO HUGEPAGES"
    return ", ".join([manifest["cpu"], f"DPDK {manifest['dpdk']}", memory, manifest["git"][:12],
                      manifest["date"]])


def warnings(data):
    """Returns warnings that a reader must see first."""
    manifest = data["manifest"]
    found = []
    if manifest.get("stopped"):
        found.append(f"This run ended early ({manifest['stopped']}): rows are missing, or have fewer "
                     "samples.")
    if not manifest["hugepages"]:
        found.append("Without hugepages there are no verdicts: TLB misses cost more than the "
                     "interfaces differ.")
    return "".join(paragraph(line, "warning") for line in found)


def decision_section(data):
    """Returns a sentence for each application, then its workloads."""
    found = decisions(data["rows"])
    if not found:
        return ""
    body = [[one.app, workload(one), choice(one), Cell(costs(one)),
             number(min((ratio["pairs"] for ratio in one.over.values()), default=None), 0),
             Cell("; ".join(f"{iface}: {why}" for iface, why in one.left_out.items()))]
            for one in found]
    advice = summary.advice(found)
    return ('<section id="decision"><h2>Which interface for which workload on this host '
            f"{badge(MEASURED_MODEL)}</h2>\n"
            + "".join(paragraph(sentence, "sentence") for sentence in summary.sentences(found))
            + table(["app", "workload", "interface", "cycles a packet, and ratio", "pairs",
                     "not chosen because"], body, CAPTION, MEASURED_MODEL)
            + paragraph(summary.error(found), "note") + paragraph(MODEL_NOTE, "note")
            + (paragraph(advice) if advice else "") + "</section>\n")


def choice(decision):
    words = " or ".join(decision.choice)
    return Cell(words, markup=f"<strong>{text(words)}</strong>") if words else \
        Cell("no verdict", markup=f"{verdict('no verdict')}: {text(decision.why)}")


def costs(decision):
    """Returns the first interface's cycles, and the ratios of the others to it."""
    if not decision.rows:
        return ""
    first, *others = decision.rows
    words = [f"{first['iface']} {first['cycles_per_pkt']:.1f}"]
    for row in others:
        over = decision.over.get(row["iface"])
        words.append(f"{row['iface']} {row['cycles_per_pkt']:.1f}" + (
            f", {over['value']:.2f}x ({over['low']:.2f}…{over['high']:.2f})" if over else ""))
    return "; ".join(words)


def sources(files):
    """Names files from builds or hosts other than those of the rows."""
    manifests = {kind: data["manifest"] for kind, data in files.items() if "manifest" in data}
    base = manifests.get(inputs.THROUGHPUT)
    found = [f"The {kind} were measured on another "
             f"{'host' if manifest['cpu'] != base['cpu'] else 'build'}: {manifest['cpu']}, "
             f"{manifest['git'][:12]}, {manifest['date']}."
             for kind, manifest in manifests.items()
             if base and any(manifest[name] != base[name] for name in ("cpu", "git"))]
    return "".join(paragraph(line, "warning") for line in found)


def page(files):
    """Returns the page of data by kind."""
    rows = files.get(inputs.THROUGHPUT)
    body = [sources(files)]
    if inputs.CARD in files:
        body.append(across.card(files[inputs.CARD]))
    if rows:
        body += [paragraph(host_line(rows["manifest"]), "soft"), warnings(rows),
                 decision_section(rows), measured.applications(rows), measured.peers(rows)]
    else:
        body.append(paragraph("No rows of scripts/throughput were given: there is no decision.",
                              "warning"))
    sections = {inputs.ZERO_LOSS: modelled.zero_loss, inputs.CURVES: modelled.curves,
                inputs.GROWTH: measured.growth_pictures, inputs.PAPER: modelled.paper}
    body += [sections[kind](files[kind]) for kind in ORDER if kind in files]
    if rows:
        body += [measured.host(rows), measured.own_targets(rows)]
    return document("Sluice: measurements", "".join(body))


def change_row(change):
    return [Cell(" ".join(change.name)), change.metric, spread(change.old, 2),
            spread(change.new, 2), number(change.ratio, 2, "x"),
            Cell(change.verdict, markup=verdict(change.verdict))]


def comparison_page(pairs):
    """`pairs` contains (old, new) by kind. Also returns the lines of all changes, for the
    terminal."""
    body, said = [], []
    for kind, (old, new) in pairs.items():
        changes, notes = comparison.compare(kind, old, new)
        told = comparison.lines(changes)
        said += [f"{kind}: {line}" for line in (*notes, *told)]
        titles = ["figure", "metric", "old", "new", "new over old", "verdict"]
        changed = [change_row(one) for one in changes if one.verdict in comparison.CHANGED]
        rest = [change_row(one) for one in changes if one.verdict not in comparison.CHANGED]
        body.append(section(
            f"What changed: {kind}",
            paragraph(f"old: {host_line(old['manifest'])}", "soft"),
            paragraph(f"new: {host_line(new['manifest'])}", "soft"),
            "".join(paragraph(note, "warning") for note in notes),
            paragraph(told[len(changed)]),
            table(titles, changed, "beyond noise", MEASURED_MODEL) if changed else "",
            table(titles, rest, "no change, or no verdict", MEASURED_MODEL) if rest else ""))
    return document("Sluice: two runs", "".join(body)), said
