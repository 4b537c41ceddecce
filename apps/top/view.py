# SPDX-License-Identifier: BSD-3-Clause
"""The state of the view, and its changes by keys, which are given by name. No input or output."""
import pages

PERIODS_S = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
HISTORY = 60
HELP = ["Left, right, Tab, 1 ... 9   another page",
        "s, S                        sort by the next or previous column",
        "r                           reverse the sort order",
        "Up, down, PgUp, PgDn, Home  scroll",
        "v                           the next VIP or key of the page",
        "p, space                    pause, continue",
        "+, -                        sample more or less often",
        "a                           choose another application",
        "h, ?                        this help",
        "q                           quit"]


class View:
    """The state of one screen. `screen` is "pages", "apps" or "help"."""

    def __init__(self, page="Overview", period_s=1.0):
        self.screen, self.page, self.period_s = "pages", page, period_s
        self.sort = {}       # (column, descending), by page.
        self.scroll, self.cursor, self.paused, self.quits = 0, 0, False, False
        self.wishes = {}     # Selected subjects of pages, by command.
        self.chosen = None   # The application that was just chosen; the reader clears it.
        self.history = []

    def remember(self, rate):
        self.history = [*self.history, rate][-HISTORY:]

    def press(self, key, snapshot=None, table=None, apps=()):
        """Handles a key. `snapshot`: the last one; `table`: the displayed one; `apps`: names of the
        applications to choose from."""
        if key == "q":
            self.quits = True
        elif key in ("h", "?"):
            self.screen = "pages" if self.screen == "help" else "help"
        elif key == "a":
            self.screen, self.cursor = "apps", 0
        elif self.screen == "apps":
            self.press_app(key, apps)
        elif self.screen == "help":
            self.screen = "pages"
        else:
            self.press_page(key, snapshot, table)

    def press_app(self, key, apps):
        if key in ("up", "down") and apps:
            self.cursor = max(0, min(self.cursor + (1 if key == "down" else -1), len(apps) - 1))
        elif key == "enter" and self.cursor < len(apps):
            self.chosen, self.screen, self.history = apps[self.cursor], "pages", []
            self.page, self.scroll = "Overview", 0
        elif key == "escape":
            self.screen = "pages"

    def press_page(self, key, snapshot, table):
        titles = pages.titles(snapshot)
        at = titles.index(self.page) if self.page in titles else 0
        if key in ("right", "tab", "left"):
            self.turn(titles[(at + (-1 if key == "left" else 1)) % len(titles)])
        elif key.isdigit() and 0 < int(key) <= len(titles):
            self.turn(titles[int(key) - 1])
        elif key in ("up", "down", "page up", "page down"):
            step = {"up": -1, "down": 1, "page up": -10, "page down": 10}[key]
            self.scroll = max(0, self.scroll + step)
        elif key == "home":
            self.scroll = 0
        elif key in ("p", " "):
            self.paused = not self.paused
        elif key in ("+", "-"):
            near = min(range(len(PERIODS_S)), key=lambda i: abs(PERIODS_S[i] - self.period_s))
            near += -1 if key == "+" else 1
            self.period_s = PERIODS_S[max(0, min(near, len(PERIODS_S) - 1))]
        elif key == "v":
            self.next_about(snapshot)
        elif key in ("s", "S", "r") and table is not None and table.columns:
            self.press_sort(key, table)

    def turn(self, title):
        self.page, self.scroll = title, 0

    def order(self, table):
        """Returns (column, descending) of a table."""
        column, descending = self.sort.get(self.page, (table.order, table.descending))
        return (column, descending) if column < len(table.columns) else (0, False)

    def press_sort(self, key, table):
        column, descending = self.order(table)
        if key == "r":
            descending = not descending
        else:
            column = (column + (1 if key == "s" else -1)) % len(table.columns)
            descending = table.columns[column][1] != "text"  # Numbers: largest first.
        self.sort[self.page] = column, descending

    def next_about(self, snapshot):
        command = pages.command_of(self.page)
        about, choices = snapshot.choices.get(command, ("", [])) if snapshot else ("", [])
        if choices:
            self.wishes[command] = choices[(choices.index(about) + 1) % len(choices)]


def sorted_rows(table, column, descending):
    """Sorts unknown values last in both directions, and numbers before texts. The sort is
    stable."""
    def known(row):
        return row[column] is not None

    def order(row):
        value = row[column]
        return (1, str(value)) if not isinstance(value, (int, float)) else (0, value)
    rows = [row for row in table.rows if known(row)]
    return sorted(rows, key=order, reverse=descending) + [row for row in table.rows
                                                          if not known(row)]
