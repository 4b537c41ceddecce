# SPDX-License-Identifier: BSD-3-Clause
"""How far a long run is and what is left: a bar that is overwritten on a terminal, lines in a file.
On standard error, so that tables on standard output stay whole."""
import shutil
import sys
import time

BAR_CELLS = 20


def duration(seconds):
    """5 s, 3 min, 1 h 20 min: rounded up, as nobody is glad to hear too little."""
    whole = -int(-seconds // 1)
    if whole < 100:
        return f"{whole} s"
    minutes = -(-whole // 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


class Progress:
    """Steps of known relative cost. The first step says what a unit of cost takes on this host, and
    every further one says it better."""

    def __init__(self, costs, out=None, clock=time.monotonic):
        """`costs`: of each step, in its order, roughly in seconds."""
        self.costs, self.done = list(costs), 0
        self.out, self.clock, self.began = out or sys.stderr, clock, clock()
        self.bar_is_shown = False

    def expect(self, costs):
        """What is left now, instead of what was."""
        self.costs[self.done:] = costs

    def left_s(self):
        """None before the first step has ended."""
        paid = sum(self.costs[:self.done])
        if not paid:
            return None
        return (self.clock() - self.began) * sum(self.costs[self.done:]) / paid

    def step(self, text):
        """One more is done; `text` says what."""
        self.done += 1
        left = self.left_s()
        left = "" if left is None else f", {duration(left)} left"
        head = f"{self.done}/{len(self.costs)}{left}"
        if not self.out.isatty():
            print(f"[{head}] {text}", file=self.out, flush=True)
            return
        full = BAR_CELLS * self.done // max(len(self.costs), 1)
        line = f"[{'#' * full}{'.' * (BAR_CELLS - full)}] {head}: {text}"
        columns = shutil.get_terminal_size().columns - 1  # The last one would begin a new line.
        print(f"\r{line[:columns]:<{columns}}", end="", file=self.out, flush=True)
        self.bar_is_shown = True

    def say(self, text):
        """A line of its own, below a bar."""
        self.close()
        print(text, file=self.out, flush=True)

    def close(self):
        """What is printed next begins a line."""
        if self.bar_is_shown:
            print(file=self.out, flush=True)
            self.bar_is_shown = False
