# SPDX-License-Identifier: BSD-3-Clause
"""Shows the progress of a long run and the remaining time: a bar that is overwritten on a terminal,
lines in a file. It writes to standard error, so that tables on standard output stay intact."""
import shutil
import sys
import time

BAR_CELLS = 20


def duration(seconds):
    """Formats 5 s, 3 min, 1 h 20 min. Durations are rounded up, so that the estimate is not too
    low."""
    whole = -int(-seconds // 1)
    if whole < 100:
        return f"{whole} s"
    minutes = -(-whole // 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


class Progress:
    """Steps of known relative cost. The first step calibrates the time per unit of cost on this
    host, and every further step refines it."""

    def __init__(self, costs, out=None, clock=time.monotonic):
        """`costs` contains the cost of each step, in order, roughly in seconds."""
        self.costs, self.done = list(costs), 0
        self.out, self.clock, self.began = out or sys.stderr, clock, clock()
        self.bar_is_shown = False

    def expect(self, costs):
        """Replaces the remaining steps."""
        self.costs[self.done:] = costs

    def left_s(self):
        """Returns the estimated remaining time; None before the end of the first step."""
        paid = sum(self.costs[:self.done])
        if not paid:
            return None
        return (self.clock() - self.began) * sum(self.costs[self.done:]) / paid

    def step(self, text):
        """Completes a step, which `text` describes."""
        self.done += 1
        left = self.left_s()
        left = "" if left is None else f", {duration(left)} left"
        head = f"{self.done}/{len(self.costs)}{left}"
        if not self.out.isatty():
            print(f"[{head}] {text}", file=self.out, flush=True)
            return
        full = BAR_CELLS * self.done // max(len(self.costs), 1)
        line = f"[{'#' * full}{'.' * (BAR_CELLS - full)}] {head}: {text}"
        columns = shutil.get_terminal_size().columns - 1  # The last column would wrap the line.
        print(f"\r{line[:columns]:<{columns}}", end="", file=self.out, flush=True)
        self.bar_is_shown = True

    def say(self, text):
        """Prints a separate line below the bar."""
        self.close()
        print(text, file=self.out, flush=True)

    def close(self):
        """Ends the bar's line, so that the next output begins a line."""
        if self.bar_is_shown:
            print(file=self.out, flush=True)
            self.bar_is_shown = False
