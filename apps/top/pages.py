# SPDX-License-Identifier: BSD-3-Clause
"""Pages: tables computed from two snapshots. Pure functions."""
from typing import NamedTuple

import figures
from answers import number, table
from app_pages import APP_PAGES, counters, entries

BAR_CELLS = 20
RAMP = " .:-=+*#%@"


class Table(NamedTuple):
    """Columns are (title, kind); kinds are keys of SHOWN. Rows contain raw values, which are the
    sort keys. `head` and `foot` are the lines before and after."""
    columns: tuple
    rows: list
    head: list = []
    foot: list = []
    order: int = 0           # The default sort column.
    descending: bool = False


ROUNDS_UP = 0.999995  # From this fraction of a unit on, the next smaller unit would show 1000.00.


def scaled(value):
    """Formats a number as in 12.30 M, in at most 8 cells up to 999.99 T."""
    if value is None:
        return "-"
    for bound, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= bound * ROUNDS_UP:
            return f"{value / bound:.2f} {unit}"
    return f"{value:.2f}" if value != int(value) else str(int(value))


def microseconds(value_ns):
    """Formats a time in us as in 12,345.6, or scaled from 99,999.95 on; at most 8 cells."""
    if value_ns is None:
        return "-"
    us = value_ns / 1000
    return f"{us:,.1f}" if abs(us) < 99_999.95 else scaled(us)


def bar(share, cells=BAR_CELLS):
    if share is None:
        return "-"
    full = round(min(max(share, 0), 1) * cells)
    return "[" + "#" * full + "." * (cells - full) + f"] {100 * share:.0f} %"


def sparkline(values, cells=60):
    """Draws the last values as characters, denser for larger values."""
    shown = [value or 0 for value in values][-cells:]
    highest = max(shown, default=0)
    return "".join(RAMP[round(value / highest * (len(RAMP) - 1))] if highest else " "
                   for value in shown)


SHOWN = {
    "text": lambda value: "-" if value is None else str(value),
    "count": scaled,
    "per_s": scaled,
    "number": scaled,
    "gbit_per_s": lambda value: "-" if value is None else f"{value:.3f}",
    "share": lambda value: "-" if value is None else f"{100 * value:.2f} %",
    "percent": lambda value: "-" if value is None else f"{value:.0f} %",
    "bar": bar,
    "us": microseconds,
}
LEFT = ("text", "bar")


def overview(pair, history):
    """`history` contains the received packets per second of earlier snapshots."""
    rows = []
    for port, answered in pair.now.ports.items():
        rates = {name: pair.port(port, "stats", name)[1] for name in
                 ("ipackets", "opackets", "ibytes", "obytes", "imissed", "ierrors", "rx_nombuf")}
        link = table(answered.get("link_status"))
        rows.append([port, str(link.get("status", "-")), rates["ipackets"],
                     figures.gigabits(rates["ipackets"], rates["ibytes"]), rates["opackets"],
                     figures.gigabits(rates["opackets"], rates["obytes"]), rates["imissed"],
                     rates["ierrors"], rates["rx_nombuf"]])
    received, sent = total_rates(pair, rows)
    lost = [rate for _, who, _, rate in figures.drops(pair) if who in ("app", "queue", "NIC")] \
        if pair.now.sluice else [rate for row in rows for rate in row[6:9]]
    head = [f"received {scaled(received):>9} pps",
            *([f"         |{sparkline(history)}|"] if history else []),
            f"sent     {scaled(sent):>9} pps",
            f"dropped  {scaled(sum(rate or 0 for rate in lost)):>9} pps",
            f"busy     {bar(figures.busy_share(pair))}"]
    foot = ["", *map(str, pair.now.map)] if pair.now.map else []
    return Table((("port", "text"), ("link", "text"), ("rx pps", "per_s"), ("Gb/s", "gbit_per_s"),
                  ("tx pps", "per_s"), ("Gb/s", "gbit_per_s"), ("missed/s", "per_s"),
                  ("errors/s", "per_s"), ("nombuf/s", "per_s")), rows, head, foot)


def total_rates(pair, port_rows):
    """Returns the received and sent rates of the workers, or else of all ports."""
    if pair.now.sluice:
        return pair.sluice("rx_pkts")[1], pair.sluice("tx_pkts")[1]
    received, sent = ([row[column] for row in port_rows if row[column] is not None]
                      for column in (2, 4))
    return sum(received) if received else None, sum(sent) if sent else None


def drops(pair, _history):
    found = figures.drops(pair)
    received, _ = total_rates(pair, overview(pair, []).rows)
    rows = [[reason, who, total, rate, rate / received if rate is not None and received else None]
            for reason, who, total, rate in found]
    head = [] if rows else ["Nothing was dropped."]
    return Table((("reason", "text"), ("counted by", "text"), ("total", "count"),
                  ("per second", "per_s"), ("of received", "share")), rows, head, order=3,
                 descending=True)


def queues(pair, _history):
    rows, head = [], []
    for port in pair.now.ports:
        found = figures.queues(pair, port)
        rates = [received for _, received, _, _ in found]
        whole = sum(rate or 0 for rate in rates)
        rows += [[f"{port}/{queue}", received, sent, total,
                  received / whole if whole and received is not None else None]
                 for queue, received, sent, total in found]
        if uneven := figures.imbalance(rates):
            head.append(f"port {port}: {len(found)} queue(s), the busiest has {uneven:.2f} times "
                        "the mean")
    head = head or ([] if rows else ["No port counts packets by queue."])
    return Table((("port/queue", "text"), ("rx pps", "per_s"), ("tx pps", "per_s"),
                  ("rx total", "count"), ("share of the port", "bar")), rows, head)


def all_counters(pair, _history):
    rows = [["workers", name, *pair.sluice(name)] for name in pair.now.sluice]
    for port, answered in pair.now.ports.items():
        rows += [[f"port {port}", name, *pair.port(port, "xstats", name)]
                 for name in answered.get("xstats", {})]
    return Table((("of", "text"), ("counter", "text"), ("total", "count"), ("per second", "per_s")),
                 rows, order=3, descending=True)


PERCENTILES = ("p50", "p99", "p999", "max")


def latency(pair, _history):
    found = figures.latencies(pair.now)
    rows = [[name, of.get("count"), of.get("mean"), *(of.get(part) for part in PERCENTILES)]
            for name, of in found.items()]
    foot = []
    for name, of in found.items():
        foot += histogram(name, of.get("buckets", []))
    head = [] if rows else ["This application reports no latencies."]
    return Table((("times in us", "text"), ("count", "count"), ("mean", "us"), ("p50", "us"),
                  ("p99", "us"), ("p99.9", "us"), ("max", "us")), rows, head, foot)


def histogram(name, buckets):
    """Returns a title, and a bar for each bucket from the first nonzero one to the last. Returns no
    lines if all are zero."""
    buckets = [(bound, max(count, 0)) for bound, count in buckets]  # Counts are untrusted.
    total = sum(count for _, count in buckets)
    filled = [at for at, (_, count) in enumerate(buckets) if count]
    if not filled:
        return []
    lines = ["", f"{name}: share by upper bound in us, of {scaled(total)}"]
    return lines + [f"{bound / 1000:>14,.1f} {bar(count / total, 40)}"
                    for bound, count in buckets[filled[0]:filled[-1] + 1]]


def app_page(page, pair):
    """Returns the table of one of APP_PAGES."""
    answer = pair.now.pages.get(page.command)
    about, choices = pair.now.choices.get(page.command, ("", []))
    head = [f"{about}   (v: the next of {len(choices)})"] if about else []
    error = table(answer).get("error")
    if isinstance(error, str):
        return Table((), [], [*head, error])
    if not page.columns:
        rows = [[name, *pair.page(page.command, *path)] for name, path, _ in counters(answer)]
        texts = [f"{name}: {value}" for name, value in table(answer).items()
                 if isinstance(value, str) and number(value) is None]
        return Table((("counter", "text"), ("total", "count"), ("per second", "per_s")), rows,
                     head + texts, order=2, descending=True)
    rows = [([name] if page.entry else []) + [value_of(page, pair, path, entry, member, kind)
                                              for _, member, kind in page.columns]
            for name, path, entry in entries(page, answer)]
    columns = tuple((title, kind) for title, _, kind in page.columns)
    return Table(((page.entry, "text"), *columns) if page.entry else columns, rows, head)


def value_of(page, pair, path, entry, member, kind):
    if kind == "text":
        value = entry.get(member)
        return None if isinstance(value, (dict, list)) else value
    if kind not in ("per_s", "gbit_per_s"):
        return number(entry.get(member))
    same = pair.before and pair.before.choices.get(page.command) == \
        pair.now.choices.get(page.command)
    rate = pair.page(page.command, *path, member)[1] if same else None
    return rate if kind == "per_s" or rate is None else rate * 8 / 1e9


COMMON = {"Overview": overview, "Drops": drops, "Queues": queues, "Latency": latency,
          "Counters": all_counters}


def titles(snapshot):
    """Returns the titles of the pages with data, in their order."""
    own = [page.title for page in APP_PAGES if snapshot and page.command in snapshot.pages]
    return [*COMMON, *own]


def make(title, pair, history):
    if title in COMMON:
        return COMMON[title](pair, history)
    return app_page(next(page for page in APP_PAGES if page.title == title), pair)


def command_of(title):
    """Returns the command whose reply a page shows; None for the common pages."""
    return next((page.command for page in APP_PAGES if page.title == title), None)
