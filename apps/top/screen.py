# SPDX-License-Identifier: BSD-3-Clause
"""The lines of the screen as (text, style), cut to its width and height. Pure functions. Styles:
"title", "tabs", "head", "normal", "marked", "quiet", "keys"."""
import pages
from answers import printable
from view import HELP, sorted_rows

GAP = 2  # Cells between columns; reduced to 1 if the columns would not fit otherwise.


def fit(text, width):
    """Returns printable text of exactly this width."""
    return f"{printable(text)[:width]:<{width}}"


def table_lines(table, order, width):
    """Returns the titles, with the sorted column marked, and a line for each row."""
    column, descending = order
    marks = ["" if i != column else " v" if descending else " ^" for i in range(len(table.columns))]
    titles = [title + mark for (title, _), mark in zip(table.columns, marks)]
    cells = [[pages.SHOWN[kind](value) for value, (_, kind) in zip(row, table.columns)]
             for row in sorted_rows(table, column, descending)]
    widths = [max(map(len, texts)) for texts in zip(titles, *cells)]
    gap = narrow(widths, table.columns, width)

    def line(texts):
        shown = (f"{text[:w]:<{w}}" if kind in pages.LEFT else f"{text[:w]:>{w}}"
                 for text, w, (_, kind) in zip(texts, widths, table.columns))
        return (" " * gap).join(shown)
    return line(titles), [line(texts) for texts in cells]


def narrow(widths, columns, width):
    """Narrows the gap, then the widest texts, until a line fits or no text is wider than 8 cells.
    Figures are never cut. Returns the gap."""
    texts = [i for i, (_, kind) in enumerate(columns) if kind == "text"]
    gap = GAP if sum(widths) + GAP * (len(widths) - 1) <= width else 1
    while texts and sum(widths) + gap * (len(widths) - 1) > width:
        widest = max(texts, key=lambda i: widths[i])
        if widths[widest] <= 8:
            break
        widths[widest] -= 1
    return gap


def title_line(view, sampler):
    snapshot = sampler.now
    pid = f", pid {snapshot.pid}" if snapshot else ""
    uptime = snapshot.sluice.get("uptime_ms") if snapshot else None
    up = f", up {duration(uptime / 1000)}" if isinstance(uptime, (int, float)) else ""
    state = "PAUSED" if view.paused else sampler.status
    return f"sluice-top  {sampler.target or 'no application'}{pid}{up}  [{state}]  " \
           f"every {view.period_s:g} s"


def duration(seconds):
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def tabs(view, snapshot):
    shown = [f"{number} {title}" if number < 10 else title
             for number, title in enumerate(pages.titles(snapshot), 1)]
    current = pages.titles(snapshot).index(view.page) if view.page in pages.titles(snapshot) else 0
    shown[current] = f"<{shown[current]}>"
    return " ".join(shown)


def app_lines(view, sampler, width):
    if not sampler.apps:
        return [("No DPDK process with telemetry runs here as this user.", "normal")]
    wide = max(len(name) for name, _ in sampler.apps)
    return [(fit(f"{name:<{wide}}  {about}", width), "marked" if at == view.cursor else "normal")
            for at, (name, about) in enumerate(sampler.apps)]


def page_lines(view, table, height, width):
    """Returns the visible lines of a page; scrolling stops at its last line."""
    lines = [(line, "normal") for line in table.head]
    if table.columns:
        title, rows = table_lines(table, view.order(table), width)
        lines.append((title, "head"))
        body = [(row, "normal") for row in rows] + [(line, "quiet") for line in table.foot]
    else:
        body = [(line, "quiet") for line in table.foot]
    room = max(height - len(lines), 0)
    view.scroll = max(0, min(view.scroll, len(body) - room))
    return lines + body[view.scroll:view.scroll + room]


def render(view, sampler, table, width, height):
    """Returns the lines of the screen. Reads target, now, status and apps of `sampler`. `table` is
    the page's table; None before the first reply."""
    keys = "q quit  a apps  arrows pages  s sort  r reverse  p pause  v next  h more keys"
    room = max(height - 3, 0)
    if view.screen == "help":
        body = [(line, "normal") for line in HELP]
    elif view.screen == "apps":
        body = [("Enter chooses an application:", "head"), *app_lines(view, sampler, width)]
    elif table is None:
        body = [("waiting for the first answers ...", "quiet")]
    else:
        body = page_lines(view, table, room, width)
        if sampler.status != "live":
            body = [(text, "quiet") for text, _ in body]
    lines = [(title_line(view, sampler), "title"), (tabs(view, sampler.now), "tabs"), *body[:room]]
    lines += [("", "normal")] * (height - 1 - len(lines)) + [(keys, "keys")]
    return [(fit(text, width), style) for text, style in lines[:height]]
