# SPDX-License-Identifier: BSD-3-Clause
"""Formats the comparison of sluice-kv with memcached. Pure functions, like rows.py, on the result
of kv_comparison.measure."""
from statistics import median

from rows import envelope, spread_text

MIN_RATIO = 10  # Minimum ratio of requests per CPU-second to memcached's.
# Minimum CPU share of a server that sleeps when idle. Below it, the client was the bottleneck, and
# the server spent much of its time going to sleep and waking up.
MIN_BUSY_SHARE = 0.8
NOTE = ("k/s: thousands of requests for each second of CPU time; busy worker: only the time in "
        "which the worker had packets; process: all threads, which include DPDK's polling threads "
        "and the thread of the model NIC and its client")


def waits(window):
    return "busy_s" not in window and window["process_s"] < MIN_BUSY_SHARE * window["seconds"]


def judged(row):
    """Returns the row without the windows in which its server waited. If no other windows exist,
    returns the row with all windows and the `verdict` idle."""
    kept = [w for w in row["windows"] if not waits(w)]
    return row | {"windows": kept or row["windows"], "verdict": "" if kept else "idle"}


def per_cpu_second(row, time):
    """Returns the envelope of thousands of requests per second of `time`; None if unknown."""
    found = [w["requests"] / w[time] / 1000 for w in row["windows"] if w.get(time)]
    return envelope(found, max) if found else None


def spread(found):
    return spread_text(found, 0) if found else "-"


def path(row):
    return row["path"] + (f", {row['link']}" if row["link"] else "")


def lines(comparison):
    """Returns a table; each row names the path of its requests."""
    form = "{:<22} {:<21} {:>19} {:>19} {:>7} {:>8} {:>8} {:>6} {:>6}"
    out = [comparison["work"] + ":",
           form.format("server", "path", "k/s of busy worker", "k/s of process", "Mops", "get p50",
                       "p99 us", "lost", "").rstrip()]
    for row in map(judged, comparison["rows"]):
        client = row["client"] or {}
        latency = client.get("get_latency_us", {})
        rate = median(w["requests"] / w["seconds"] / 1e6 for w in row["windows"])
        out.append(form.format(
            row["server"], path(row), spread(per_cpu_second(row, "busy_s")),
            spread(per_cpu_second(row, "process_s")), f"{rate:.3f}",
            *(f"{latency[part]:.0f}" if part in latency else "-" for part in ("p50", "p99")),
            client.get("lost", "-"), row["verdict"]).rstrip())
    out += comparison["missing"]
    out.append(NOTE)
    return out + sorted({row["flags"] for row in comparison["rows"] if row["flags"]})


def verdicts(comparison, judge):
    """Compares our busy worker with memcached's process, each on its path. `judge` returns a line
    from a text, the result, and the rows that support it."""
    text = f"kv, memcached's protocol, requests per CPU-second, at least {MIN_RATIO}x memcached's"
    by_path = {path(row): row for row in map(judged, comparison["rows"])}
    theirs = by_path.get("kernel UDP, loopback")
    ours = [judged(row) for row in comparison["rows"] if row["path"] == "model NIC"]
    base = theirs and per_cpu_second(theirs, "process_s")
    out = []
    for row in ours if base else []:
        busy, process = (per_cpu_second(row, time) for time in ("busy_s", "process_s"))
        if busy and process:
            ratio = busy["value"] / base["value"]
            out.append(judge(
                f"{text}: {row['server']} (model NIC, busy worker) over memcached (kernel UDP, "
                f"process) {ratio:.1f}, with all threads {process['value'] / base['value']:.1f}",
                ratio >= MIN_RATIO, row, theirs))
    return out or [f"{text}: not measured in this run"]
