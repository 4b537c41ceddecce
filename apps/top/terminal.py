# SPDX-License-Identifier: BSD-3-Clause
"""The screen on a terminal. curses sends only changes, which suits slow lines."""
import contextlib
import curses
import os
import time

import pages
import screen
from figures import Pair

TICK_MS = 100  # Interval between polls for keys and new replies.
KEYS = {curses.KEY_UP: "up", curses.KEY_DOWN: "down", curses.KEY_LEFT: "left",
        curses.KEY_RIGHT: "right", curses.KEY_PPAGE: "page up", curses.KEY_NPAGE: "page down",
        curses.KEY_HOME: "home", curses.KEY_ENTER: "enter", 10: "enter", 13: "enter", 9: "tab",
        27: "escape"}
STYLES = {"title": curses.A_BOLD, "tabs": curses.A_NORMAL, "head": curses.A_REVERSE,
          "normal": curses.A_NORMAL, "marked": curses.A_REVERSE, "quiet": curses.A_DIM,
          "keys": curses.A_REVERSE}


def key_name(code):
    return KEYS.get(code) or (chr(code) if 32 <= code < 127 else "")


def draw(window, lines):
    window.erase()
    for row, (text, style) in enumerate(lines):
        try:
            window.addnstr(row, 0, text, len(text), STYLES[style])
        except curses.error:
            pass  # The last cell of the last line has been written, but the cursor cannot advance.
    window.refresh()


class Loop:
    def __init__(self, view, sampler):
        self.view, self.sampler, self.shown, self.table = view, sampler, None, None

    def update(self):
        """Computes the table of the page from the current replies."""
        view, sampler = self.view, self.sampler
        before, now = sampler.before, sampler.now
        if now is None:
            self.shown, self.table = None, None
            return
        if not view.paused or self.shown is None:
            if self.shown is None or self.shown.now is not now:
                self.shown = Pair(before, now)
                view.remember(pages.total_rates(self.shown, pages.overview(self.shown, []).rows)[0])
        if view.page not in pages.titles(self.shown.now):
            view.turn("Overview")
        self.table = pages.make(view.page, self.shown, view.history)

    def press(self, code):
        apps = [name for name, _ in self.sampler.apps]
        self.view.press(key_name(code), self.shown and self.shown.now, self.table, apps)
        self.sampler.period_s, self.sampler.wishes = self.view.period_s, dict(self.view.wishes)
        self.sampler.lists = self.view.screen == "apps"
        if self.view.chosen is not None:
            self.sampler.follow(self.view.chosen)
            self.view.chosen, self.shown = None, None
        self.sampler.soon.set()

    def run(self, window):
        with contextlib.suppress(curses.error):
            curses.curs_set(0)  # Not every terminal can hide the cursor.
        window.timeout(TICK_MS)
        while not self.view.quits:
            self.update()
            height, width = window.getmaxyx()
            draw(window, screen.render(self.view, self.sampler, self.table, width, height))
            code = window.getch()
            if code not in (-1, curses.KEY_RESIZE):
                self.press(code)


def show(view, sampler):
    """Runs until the user quits."""
    os.environ.setdefault("ESCDELAY", "25")
    sampler.start()
    curses.wrapper(Loop(view, sampler).run)


def print_once(view, sampler, width, height):
    """Prints one screen as text, from two samples. Returns whether the process replied."""
    sampler.once()
    if sampler.now is not None:
        time.sleep(sampler.period_s)
        sampler.once()
    if sampler.status != "live":
        return False
    loop = Loop(view, sampler)
    loop.update()
    lines = screen.render(view, sampler, loop.table, width, height)
    print("\n".join(text.rstrip() for text, _ in lines[:-1]).rstrip())
    return True
