# SPDX-License-Identifier: BSD-3-Clause
"""Judges the Speed targets: limit, measurement, met or not. Pure functions, like rows.py."""
import kv_report
import logmon_report
import telemetry_report
from paired import at_most, inverse
from rows import envelope, interfaces, key, spread_text
from workloads import KV_REQUESTS, MODES

# Targets for echo: the maximum ratio of streaming's cycles to packetized's, and the minimum ratio
# of their rates, by traffic.
STREAMING_CYCLES_SHARE = 0.7
STREAMING_RATES = {"64": 1.5, "512": 1.2, "1518": 1.0, "imix": 1.2, "random": 1.0,
                   "capture-ipv4": 1.2}
# Minimum ratio of streaming's rate to the rate between two processes over net_memif.
STREAMING_OVER_MEMIF = 2.0
# Maxima for the engine alone, which parses, finds the VIP and the connection, and encapsulates.
MAGLEV_NS = {"2^20 flows": 60, "16 flows": 30}
# Maximum ratios of streaming's cycles to packetized's, by encapsulation. The first one enlarges the
# frames; the others do not.
MAGLEV_SHARES = {"ip": 0.9, "mac": 0.7, "nat": 0.7}
# Minimum ratio of streaming's rate, with 16 requests per datagram, to the rate of the table alone.
KV_TABLE_SHARE = 0.7


def verdicts(rows, hugepages, stream_cycles, engines=None, comparison=None):
    """Returns one line per target of the measured apps. `stream_cycles` is the lower bound of the
    host; `engines` contains each result of run.engine_sample by app; `comparison` is
    kv_comparison's."""
    apps = {row["app"] for row in rows}
    table = {key(r): r for r in rows}
    lines = []
    if "echo" in apps:
        lines += echo_verdicts(table, hugepages, stream_cycles)
    if "kv" in apps:
        lines += kv_verdicts(table, hugepages)
        lines.append(kv_table_verdict(table, hugepages, (engines or {}).get("kv", [])))
        lines += kv_report.verdicts(comparison or {"rows": []},
                                    lambda found, met, *rows: judge(found, hugepages, met, *rows))
    if "logmon" in apps:
        lines += logmon_report.verdicts(
            table, (engines or {}).get("logmon", []),
            lambda found, met, *rows: judge(found, hugepages, met, *rows))
    if "telemetry" in apps:
        lines += telemetry_report.verdicts((engines or {}).get("telemetry", []))
    if "maglev" in apps:
        lines += maglev_verdicts(table, hugepages, (engines or {}).get("maglev", []))
    return lines


def no_verdict(hugepages, *rows):
    """Returns the reason why measured rows are not judged, or an empty string."""
    if not hugepages:
        return "no verdict without hugepages"
    why = next((row["verdict"] for row in rows if row["verdict"]), "")
    return f"no verdict, {why}" if why else ""


def judge(found, hugepages, met, *rows):
    return f"{found}: {no_verdict(hugepages, *rows) or ('met' if met else 'NOT MET')}"


def judge_ratio(text, hugepages, found, limit, *rows):
    """Judges a ratio with the maximum `limit`: by paired samples if they agree, else by the
    rows."""
    found_text = f"{text}: {spread_text(found)}"
    agreed = at_most(found, limit)
    if agreed is None:
        return judge(found_text, hugepages, found["value"] <= limit, *rows)
    return judge(found_text, hugepages, agreed)


def judge_rate(text, hugepages, found, limit, *rows):
    """Judges a ratio with the minimum `limit`."""
    agreed = at_most(inverse(found), 1 / limit)
    met, *judged_by = (found["value"] >= limit, *rows) if agreed is None else (agreed,)
    return judge(f"{text}: {spread_text(found)}", hugepages, met, *judged_by)


def streaming_verdicts(table, hugepages):
    """Judges streaming's worker cycles and rate over packetized's in echo, by traffic, and its rate
    over net_memif's."""
    lines = []
    for traffic, least in STREAMING_RATES.items():
        row = table.get(("echo", "increment", "packetized", traffic))
        base = table.get(("echo", "increment", "streaming", traffic))
        cycles = f"streaming/packetized cycles, {traffic}, at most {STREAMING_CYCLES_SHARE}"
        rates = f"streaming/packetized Mpps, {traffic}, at least {least}"
        if not row or not row.get("cycles_ratio") or not row.get("mpps_ratio"):
            lines += [f"{text}: not measured in this run" for text in (cycles, rates)]
            continue
        lines.append(judge_ratio(cycles, hugepages, inverse(row["cycles_ratio"]),
                                 STREAMING_CYCLES_SHARE, row, base))
        bound = "; the core that plays the NIC is the limit" if row["device_bound"] else ""
        lines.append(judge_rate(rates, hugepages, row["mpps_ratio"], least, row, base) + bound)
    memif = table.get(("testpmd", "macswap", "net_memif", "64"))
    base = table.get(("echo", "increment", "streaming", "64"))
    text = f"streaming/net_memif Mpps, 64, at least {STREAMING_OVER_MEMIF}"
    if memif and base:
        over = base["mpps_spread"]["value"] / memif["mpps_spread"]["value"]
        lines.append(judge(f"{text}: {over:.2f}", hugepages, over >= STREAMING_OVER_MEMIF, memif,
                           base))
    else:
        lines.append(f"{text}: not measured in this run")
    return lines


def echo_verdicts(table, hugepages, stream_cycles):
    packetized = table.get(("echo", "increment", "packetized", "64"))
    null = table.get(("testpmd", "macswap", "net_null", "64"))
    streaming = [r for k, r in table.items() if k[:3] == ("echo", "increment", "streaming")]
    # `capture` contains frames that the NIC cannot send and drops, so only `capture-ipv4` is
    # judged.
    streaming = [r for r in streaming if r["traffic"] != "capture"]
    unpredictable = [r for r in streaming if r["traffic"] in ("random", "capture-ipv4")]

    def line(text, limit, measured):
        """`measured` are rows; the worst is compared with the limit."""
        if not measured or None in measured or limit is None:
            return f"{text}: not measured in this run"
        worst = max(measured, key=lambda r: r["cycles_per_pkt"])
        met = worst["cycles_per_pkt"] <= limit
        judged = judge(f"{text}: {worst['cycles_per_pkt']:.1f} ({worst['traffic']})", hugepages, met,
                       worst)
        floor = "" if met or stream_cycles <= limit or no_verdict(hugepages, worst) else \
            f"; a line of another core costs {stream_cycles:.1f} on this host"
        return judged + floor

    def ratio_line(text, limit, row):
        """Returns the line for the ratio of a row's cycles to streaming's."""
        if not row or "cycles_ratio" not in row:
            return f"{text}: not measured in this run"
        if not row["cycles_ratio"]:
            return f"{text}: no verdict, the work is not equal"
        base = table[row["app"], row["mode"], "streaming", row["traffic"]]
        return judge_ratio(text, hugepages, row["cycles_ratio"], limit, row, base)

    null_cycles = null["cycles_per_pkt"] if null else None
    rival = f" ({null_cycles:.1f})" if null else ""
    return [
        line("packetized, increment, 64 B, at most 17 cycles/packet", 17, [packetized]),
        line(f"packetized not slower than testpmd macswap on net_null{rival}",
             null_cycles, [packetized]),
        line("streaming, increment, every traffic (of the capture: capture-ipv4), at most 7.5 "
             "cycles/packet", 7.5, streaming),
        line("streaming, increment, random sizes and capture-ipv4, at most 4 cycles/packet", 4,
             unpredictable),
        ratio_line("bilateral, increment, 64 B, at most 1.15x streaming's cycles", 1.15,
                   table.get(("echo", "increment", "bilateral", "64"))),
        ratio_line("bilateral, increment, 1518 B (1500-byte IP packets), at most 1.05x streaming's "
                   "cycles", 1.05, table.get(("echo", "increment", "bilateral", "1518"))),
        *streaming_verdicts(table, hugepages),
    ]


def kv_verdicts(table, hugepages):
    """Reports the capacity of one worker and the client's waiting time; then compares streaming
    with packetized."""
    lines = []
    rate = {}
    for traffic, requests in KV_REQUESTS.items():
        for iface in interfaces(table):
            row = table.get(("kv", "mica", iface, traffic))
            if not row or not row["ns_per_pkt"]:
                continue
            rate[iface, traffic] = 1000 * requests / row["ns_per_pkt"]
            wire = row.get("wire", {})
            lines.append(f"kv, {iface}, {traffic} a datagram: {rate[iface, traffic]:.2f} Mops of the "
                         f"worker's time, {requests * row['mpps']:.2f} with this client; gets p50 "
                         f"{wire.get('client_get_p50_ns', 0) / 1000:.1f}, p99 "
                         f"{wire.get('client_get_p99_ns', 0) / 1000:.1f} us")
    text = "kv, 1 request a datagram, streaming at least 1.3x packetized's Mops"
    pair = [table.get(("kv", "mica", iface, "1 request")) for iface in ("streaming", "packetized")]
    if all(row and row["ns_per_pkt"] for row in pair):
        ratio = rate["streaming", "1 request"] / rate["packetized", "1 request"]
        lines.append(judge(f"{text}: {ratio:.2f}", hugepages, ratio >= 1.3, *pair))
    else:
        lines.append(f"{text}: not measured in this run")
    return lines


def kv_table_verdict(table, hugepages, engine):
    """Compares the capacity of one worker with a bare partition that serves the same share of gets
    with precomputed hashes."""
    text = f"kv, 16 requests a datagram, streaming at least {KV_TABLE_SHARE}x the table alone"
    row = table.get(("kv", "mica", "streaming", "16 requests"))
    if not row or not row["ns_per_pkt"] or not engine:
        return f"{text}: not measured in this run"
    served = row["mica"]
    gets = (served["get_hits"] + served["get_misses"]) / served["requests"]
    get_ns, set_ns = (envelope([s[what] for s in engine])["value"] for what in ("get", "set"))
    alone_ns = gets * get_ns + (1 - gets) * set_ns
    share = alone_ns / (row["ns_per_pkt"] / KV_REQUESTS["16 requests"])
    return judge(f"{text} ({1000 / alone_ns:.2f} Mops): {share:.2f}", hugepages,
                 share >= KV_TABLE_SHARE, row)


def maglev_verdicts(table, hugepages, engine):
    """Compares the engine with its limits; then, for each measured encapsulation, the cost on each
    interface; and, for each traffic, streaming over packetized."""
    lines = []
    for traffic, limit in MAGLEV_NS.items():
        text = f"maglev's engine alone, {traffic}, at most {limit} ns/packet"
        if engine:
            times = envelope([sample[traffic] for sample in engine])
            lines.append(f"{text}: {spread_text(times, 1)}: "
                         f"{'met' if times['value'] <= limit else 'NOT MET'}")
        else:
            lines.append(f"{text}: not measured in this run")
    run = {mode for app, mode, *_ in table if app == "maglev"}
    for mode in MODES["maglev"]:
        if mode in run:
            lines += maglev_mode_verdicts(table, hugepages, mode)
    return lines


def maglev_mode_verdicts(table, hugepages, mode):
    lines = []
    for traffic in MAGLEV_NS:
        for iface in interfaces(table):
            row = table.get(("maglev", mode, iface, traffic))
            if row and row["ns_per_pkt"]:
                lines.append(f"maglev {mode} with its interface, {iface}, 64 B, {traffic}: "
                             f"{row['ns_per_pkt']:.1f} ns/packet")
    limit = MAGLEV_SHARES[mode]
    for traffic in MAGLEV_NS:
        text = f"maglev {mode}, {traffic}, streaming/packetized cycles, at most {limit}"
        row = table.get(("maglev", mode, "packetized", traffic))
        if not row or "cycles_ratio" not in row:
            lines.append(f"{text}: not measured in this run")
        elif not row["cycles_ratio"]:
            lines.append(f"{text}: no ratio, the work is not equal")
        else:
            lines.append(judge_ratio(text, hugepages, inverse(row["cycles_ratio"]), limit, row,
                                     table["maglev", mode, "streaming", traffic]))
    return lines
