# SPDX-License-Identifier: BSD-3-Clause
"""Polls a process in a separate thread, so that a process that hangs does not block the keys."""
import re
import threading
import time
from typing import NamedTuple

import answers
from app_pages import APP_PAGES, ask_page
from connection import Connection, sockets

LIST_PATIENCE_S = 0.3
MAX_PORTS = 32
LATENCY = re.compile(r"/sluice/\w+/latency")  # figures.latencies reads the reply.


class Snapshot(NamedTuple):
    """All replies of one point in time."""
    time_s: float
    pid: object
    version: str
    ports: dict        # By port number: the replies to info, stats, xstats and link_status.
    sluice: dict       # Reply to /sluice/stats; empty for other programs.
    map: list          # /sluice/map.
    lcores: dict       # Reply to /eal/lcore/usage, in newer DPDK versions.
    pages: dict        # Replies to the application's commands, by command.
    choices: dict      # Subjects of pages, by command; see app_pages.


def take(connection, wishes, clock=time.monotonic):
    """Returns one snapshot. `wishes` contains the selected subjects of pages, by command."""
    known = {name for name in answers.items(connection.ask("/")) if isinstance(name, str)}
    ports = {}
    for port in answers.items(connection.ask("/ethdev/list"))[:MAX_PORTS]:
        if type(port) is int:  # Excludes True, which is an int, too.
            ports[port] = {
                what: answers.table(connection.ask(f"/ethdev/{what}", port))
                for what in ("info", "stats", "xstats", "link_status") if f"/ethdev/{what}" in known}
    pages, choices = {}, {}
    for page in APP_PAGES:
        if page.command in known:
            pages[page.command], choices[page.command] = ask_page(
                connection.ask, page, wishes.get(page.command))
    for command in sorted(filter(LATENCY.fullmatch, known)):
        pages[command] = connection.ask(command)

    def ask(command):
        return connection.ask(command) if command in known else None

    return Snapshot(clock(), connection.info.get("pid"), str(connection.info.get("version", "")),
                    ports, answers.table(ask("/sluice/stats")), answers.items(ask("/sluice/map")),
                    answers.table(ask("/eal/lcore/usage")), pages, choices)


def listing():
    """Returns (name, the process's description of itself) of every socket that a process listens
    on."""
    found = []
    for name, path in sockets().items():
        try:
            connection = Connection(path, LIST_PATIENCE_S)
            found.append((name, f"{connection.info.get('version')}, pid {connection.info.get('pid')}"))
            connection.close()
        except (ConnectionRefusedError, FileNotFoundError):
            continue  # This socket belonged to a process that was killed.
        except (OSError, answers.BadAnswer):
            found.append((name, "does not answer"))
    return found


class Sampler(threading.Thread):
    """`target` is the name of the process, or None. The screen's thread writes `target`,
    `period_s`, `wishes` and `lists`, and this thread reads them. This thread writes `before`,
    `now`, `status` and `apps` for the screen; follow() resets the first three."""

    def __init__(self, target, period_s):
        super().__init__(daemon=True)
        self.target, self.period_s, self.wishes, self.lists = target, period_s, {}, not target
        self.before, self.now, self.status, self.apps = None, None, "connecting", []
        self.connection, self.connected_to = None, None
        self.soon = threading.Event()

    def follow(self, name):
        """Switches to another process."""
        self.target, self.before, self.now, self.status = name, None, None, "connecting"
        self.soon.set()

    def run(self):
        while True:
            self.once()
            self.soon.wait(self.period_s)
            self.soon.clear()

    def once(self):
        if self.lists:
            self.apps = listing()
        target = self.target
        if target is None:
            return
        try:
            self.connect(target)
            snapshot = take(self.connection, dict(self.wishes))
        except (OSError, answers.BadAnswer) as error:
            self.disconnect()
            if target == self.target:
                self.status = f"{why(error)}; waiting"
            return
        if target == self.target:
            # Another process with the same name has new counters.
            same = self.now is not None and self.now.pid == snapshot.pid
            self.before, self.now = (self.now if same else None), snapshot
            self.status = "live"

    def connect(self, target):
        if self.connection is not None and self.connected_to == target:
            return
        self.disconnect()
        path = sockets().get(target)
        if path is None:
            raise FileNotFoundError("gone")
        self.connection, self.connected_to = Connection(path), target

    def disconnect(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None


def why(error):
    """Describes an error for the title."""
    if isinstance(error, TimeoutError):
        return "does not answer"
    if isinstance(error, answers.BadAnswer):
        return f"bad answer: {error}"
    return "has ended"
