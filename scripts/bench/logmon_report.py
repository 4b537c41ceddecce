# SPDX-License-Identifier: BSD-3-Clause
"""Formats the comparison of sluice-logmon with bare Hyperscan. Pure functions, like rows.py."""
from rows import envelope, interfaces, spread_text
from workloads import LOGMON_CHUNK, LOGMON_SETS

BARE_SHARE = 0.9  # Minimum ratio of streaming to bare hs_scan_stream.
SOURCES = 100_000
STATE_MIB = 64    # Memory used by this many sources.
# The contestants in sluice-logmon-bench besides bare Hyperscan, and their input.
ENGINES = {"scanner": "lines", "bursts": "bursts of frames", "frames": "single frames"}
NOTE = ("payload Gb/s of a worker that always has frames. On an interface, the time includes "
        "headers, sources,\ncounts and the fetch of cache lines that another core wrote; in memory, "
        "no other core writes these lines")


def of_engine(engine, rule_set, name):
    """Returns sluice-logmon-bench's result for a rule set, or None."""
    found = [scan[name] for run in engine for scan in run["scans"]
             if scan["set"] == rule_set and scan["chunk_bytes"] == LOGMON_CHUNK]
    return envelope(found)["value"] if found else None


def cycles_per_byte(row):
    """Returns the worker's cycles per byte of text; None without text."""
    sources = row["logmon"]["sources"]
    if not sources["line_datagrams"] or not sources["text_bytes"]:
        return None
    return row["cycles_per_pkt"] * sources["line_datagrams"] / sources["text_bytes"]


def lines(table, engine):
    """Returns a table: each rule set in memory, bare and with lines, then on each interface."""
    form = "{:<10} {:<26} {:>13} {:>12} {:>13} {:>11} {:>6}"
    hz = engine[0]["tsc_hz"] if engine else None
    out = [f"logmon, payloads of at most {LOGMON_CHUNK} bytes:",
           form.format("filters", "", "payload Gb/s", "cycles/byte", "cycles/packet", "of bare",
                       "").rstrip()]

    def line(rule_set, what, per_byte, per_packet, bare, verdict):
        return form.format(
            rule_set, what, f"{8 * hz / per_byte / 1e9:.2f}" if hz else "-", f"{per_byte:.2f}",
            f"{per_packet:.0f}" if per_packet else "-", f"{bare / per_byte:.2f}x" if bare else "-",
            verdict).rstrip()

    for rule_set in LOGMON_SETS:
        bare = of_engine(engine, rule_set, "bare_cycles_per_byte")
        if bare:
            out.append(line(rule_set, "in memory, hs_scan_stream", bare, None, bare, ""))
            for what in ENGINES:
                per_byte = of_engine(engine, rule_set, f"{what}_cycles_per_byte")
                out.append(line(rule_set, f"in memory, {ENGINES[what]}", per_byte, None, bare, ""))
        for iface in interfaces(table):
            row = table.get(("logmon", "lines", iface, rule_set))
            if row and (per_byte := cycles_per_byte(row)):
                out.append(line(rule_set, iface, per_byte, row["cycles_per_pkt"], bare,
                                row["verdict"]))
    return out + [NOTE]


def verdicts(table, engine, judge):
    """Compares streaming with bare Hyperscan and with packetized, then the memory. `judge` returns
    a line from a text, the result, and the rows that support it."""
    out = []
    for rule_set in LOGMON_SETS:
        text = f"logmon, {rule_set}, streaming at least {BARE_SHARE}x bare hs_scan_stream"
        row = table.get(("logmon", "lines", "streaming", rule_set))
        bare = of_engine(engine, rule_set, "bare_cycles_per_byte")
        per_byte = row and cycles_per_byte(row)
        if bare and per_byte:
            share = bare / per_byte
            out.append(judge(f"{text} ({bare:.2f} cycles/byte): {share:.2f}", share >= BARE_SHARE,
                             row))
        else:
            out.append(f"{text}: not measured in this run")
    for rule_set in LOGMON_SETS:
        text = f"logmon, {rule_set}, streaming at least as fast as packetized"
        row, base = (table.get(("logmon", "lines", iface, rule_set))
                     for iface in ("packetized", "streaming"))
        ratio = row and row.get("cycles_ratio")
        if ratio:
            out.append(judge(f"{text}: {spread_text(ratio)}", ratio["value"] >= 1, row, base))
        else:
            out.append(f"{text}: not measured in this run")
    return out + [state_verdict(engine)]


def state_verdict(engine):
    """The load of the machine does not affect memory, so this verdict is unconditional."""
    if not engine:
        return f"logmon, state of {SOURCES} sources at most {STATE_MIB} MiB: not measured in this run"
    state = max((run["state"] for run in engine), key=lambda found: found["bytes"])
    met = (state["bytes"] <= STATE_MIB << 20 and state["sources"] >= SOURCES
           and not state["given_up_lines"])
    return (f"logmon, state of {state['sources']} sources at most {STATE_MIB} MiB: "
            f"{state['bytes'] / (1 << 20):.1f}, of which unfinished lines "
            f"{state['unfinished_bytes'] / (1 << 20):.1f}: {'met' if met else 'NOT MET'}")
