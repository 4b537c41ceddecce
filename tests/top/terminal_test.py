#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""terminal_test.py SCREENSHOTS: sluice-top in a terminal of 80x24, of pyte and of tmux, with fake
processes: pages, keys, processes that end and come back, hostile replies. Stores screens as text in
a folder, and one as a picture."""
import fcntl
import html
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

try:
    import pyte
except ImportError:
    pyte = None

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "scripts")]
import chromium
import harness
from fake_app import FakeApp, INFO, port

TOP = pathlib.Path(__file__).resolve().parents[2] / "apps" / "top" / "main.py"
SHOTS = pathlib.Path(sys.argv.pop())
PATIENCE_S = 20
# A window title, a cleared screen, a query whose response would be typed, and C1's CSI.
HOSTILE = "\x1b]0;owned\x07\x1b[2J\x1b[6n\x9b2J\u202e\u00e9"
# Permitted output: text and the xterm sequences that curses needs.
ALLOWED = re.compile(rb"(?:[\x20-\x7e\r\n\x08\x0f\x0e\x09]|\x1b[()][B0]|\x1b[=>78M]"
                     rb"|\x1b\[\??[0-9;]*[A-Za-ln-z@]|\x1b\[[0-9;]*m)*")


def growing(start, step):
    """Returns replies of /ethdev/stats that grow by `step` with each request."""
    state = [start]

    def answer():
        state[0] += step
        return port(state[0], missed=7, queues=(3, 1))
    return answer


def usual(**more):
    return {"/ethdev/list": [0], "/ethdev/stats,0": growing(1000, 5000),
            "/ethdev/xstats,0": {"rx_good_packets": 5000, "wire_lost": 3},
            "/ethdev/link_status,0": {"status": "UP", "speed": 10000},
            "/sluice/maglev/vips": {"web": {"address": "192.0.2.1", "port": 80, "protocol": "tcp",
                                            "pkts": 5, "bytes": 300, "backends": 2}}} | more


class Terminal:
    """sluice-top in a pseudo-terminal. `raw` contains every byte that it has sent."""

    def __init__(self, folder, *arguments, columns=80, lines=24, term="xterm-256color"):
        self.screen = pyte.Screen(columns, lines)
        self.stream, self.raw = pyte.ByteStream(self.screen), b""
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.environ |= {"RUNTIME_DIRECTORY": folder, "TERM": term, "LANG": "C.UTF-8",
                           "PYTHONDONTWRITEBYTECODE": "1"}
            os.execv("/usr/bin/python3", ["python3", str(TOP), "--period_s=0.1", *arguments])
        self.resize(columns, lines)

    def resize(self, columns, lines):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.screen.resize(lines, columns)

    def read(self, seconds):
        ready, _, _ = select.select([self.terminal], [], [], seconds)
        try:
            data = os.read(self.terminal, 65536) if ready else b""
        except OSError:  # The program has ended.
            return
        self.raw += data
        self.stream.feed(data)

    def text(self):
        return "\n".join(self.screen.display)

    def wait_for(self, *patterns):
        """Waits until all patterns match one screen, since a page may arrive in pieces. Returns its
        text."""
        deadline = time.monotonic() + PATIENCE_S
        while not all(re.search(pattern, self.text()) for pattern in patterns):
            if time.monotonic() > deadline:
                raise AssertionError(f"no {patterns} on:\n{self.text()}")
            self.read(0.05)
        return self.text()

    def press(self, keys):
        os.write(self.terminal, keys.encode())

    def end(self):
        """Returns the exit code."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
            self.read(0.05)
        self.read(0)
        os.close(self.terminal)
        return os.waitstatus_to_exitcode(status)


def save(name, text):
    SHOTS.mkdir(parents=True, exist_ok=True)
    (SHOTS / f"sluice-top-{name}.txt").write_text(text + "\n", encoding="utf-8")


def cell(character):
    """Returns a cell of a terminal's screen as markup."""
    colours = [{"default": usual, "brown": "olive"}.get(name, f"#{name}" if len(name) == 6 and
               set(name) <= set("0123456789abcdef") else name)
               for name, usual in ((character.fg, "#ddd"), (character.bg, "#111"))]
    front, back = reversed(colours) if character.reverse else colours
    weight = ";font-weight:bold" if character.bold else ""
    return f'<span style="color:{front};background:{back}{weight}">' \
        f"{html.escape(character.data)}</span>"


def markup(screen):
    """Returns a screen as a page."""
    rows = ("".join(cell(screen.buffer[y][x]) for x in range(screen.columns))
            for y in range(screen.lines))
    return '<meta charset="utf-8"><body style="background:#111"><pre>' + "\n".join(rows)


@unittest.skipUnless(pyte, "python3-pyte is not installed: scripts/setup --all installs it")
class Pyte(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def app(self, *given):
        app = FakeApp(self.folder, *given)
        self.addCleanup(app.die)
        return app

    def start(self, *arguments, **size):
        terminal = Terminal(self.folder, *arguments, **size)

        def kill():
            try:
                os.kill(terminal.pid, signal.SIGKILL)
                os.waitpid(terminal.pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass
        self.addCleanup(kill)
        return terminal

    def test_pages_and_keys(self):
        self.app("maglev-1", usual())
        terminal = self.start()
        text = terminal.wait_for(
            r"received +\d+\.\d+ k pps", r"^sluice-top  maglev-1, pid 4711  \[live\]",
            r"\n<1 Overview> 2 Drops 3 Queues 4 Latency 5 Counters 6 VIPs", r"\nq quit  .* *$")
        save("overview", text)
        terminal.press("2")
        terminal.wait_for(r"imissed +port 0 +7 ", "wire_lost")
        terminal.press("3")
        terminal.wait_for(r"0/0 .*\[#{15}\.{5}\] 75 %")
        save("queues", terminal.text())
        terminal.press("6")
        terminal.wait_for(r"web +192\.0\.2\.1 +80 +tcp")
        terminal.press("\x1bOD")  # Left.
        terminal.wait_for("<5 Counters>")
        terminal.press("p")
        terminal.wait_for("PAUSED")
        terminal.press("h")
        terminal.wait_for("sort by the next")
        terminal.press("q")
        self.assertEqual(terminal.end(), 0)
        self.assertRegex(terminal.raw, b"^" + ALLOWED.pattern + b"$")

    @unittest.skipUnless(chromium.PROGRAM, "chromium is not installed: scripts/setup --all "
                         "installs it")
    def test_a_picture_of_the_screen(self):
        self.app("maglev-1", usual())
        terminal = self.start("--page=Queues")
        terminal.wait_for(r"0/0 .*\[#{15}\.{5}\] 75 %")
        page = pathlib.Path(self.folder) / "screen.html"
        page.write_text(markup(terminal.screen), encoding="utf-8")
        SHOTS.mkdir(parents=True, exist_ok=True)
        with chromium.Chromium(760, 460) as browser:
            browser.open(page)
            self.assertEqual(browser.evaluate("document.body.innerText").split("\n")[0].rstrip(),
                             terminal.screen.display[0].rstrip())
            browser.screenshot(SHOTS / "sluice-top.png")
        self.assertGreater((SHOTS / "sluice-top.png").stat().st_size, 5000)

    def test_keys_sort(self):
        self.app("sorted", usual(**{"/ethdev/xstats,0": {"aa": 5, "bb": 900, "cc": 70}}))
        terminal = self.start("--page=Counters")
        terminal.wait_for(r"counter .* per second v")
        for key, title, names in (("S", "total v", "bb cc aa"),  # Now sorted by the total.
                                  ("r", r"total \^", "aa cc bb"),
                                  ("S", r"counter \^", "aa bb cc")):
            terminal.press(key)
            terminal.wait_for(title + "".join(rf".*\n *port 0 +{name} " for name in names.split()))

    def test_an_application_that_ends_shows_so_and_is_followed_when_it_is_back(self):
        app = self.app("mortal", usual())
        terminal = self.start("--file-prefix=mortal")
        terminal.wait_for(r"received +\d")
        app.remove()
        text = terminal.wait_for("has ended; waiting", "received")  # The figures must remain.
        save("ended", text)
        self.app("mortal", usual(), INFO | {"pid": 4712})
        terminal.wait_for(r"pid 4712  \[live\]")

    def test_one_of_several_is_chosen(self):
        for name in ("first", "second"):
            self.app(name, usual(), INFO | {"pid": len(name)})
        self.app("dead", usual()).die()
        terminal = self.start()
        text = terminal.wait_for(r"second +DPDK 22.11.11, pid 6")
        self.assertNotIn("dead", text)
        save("apps", text)
        terminal.press("\x1bOB\r")
        terminal.wait_for(r"sluice-top  second, pid 6  \[live\]")
        terminal.press("a")
        terminal.wait_for("Enter chooses")
        terminal.press("\r")
        terminal.wait_for(r"sluice-top  first, pid 5  \[live\]")

    def test_hostile_answers_never_reach_the_terminal_raw(self):
        evil = usual(**{
            "/ethdev/xstats,0": {f"miss{HOSTILE}{n}": n + 1 for n in range(40)},
            "/ethdev/link_status,0": {"status": HOSTILE},
            "/sluice/stats": {"drop_" + HOSTILE: 3, "uptime_ms": 1},
            "/sluice/map": [HOSTILE],
            "/sluice/maglev/vips": {HOSTILE: {"address": HOSTILE, "pkts": HOSTILE}}})
        self.app("evil", evil, INFO | {"version": HOSTILE})
        terminal = self.start("--file-prefix=evil")
        for key in "123456a":
            terminal.press(key)
            for _ in range(6):
                terminal.read(0.05)
        terminal.wait_for(r"\?\]0;owned")
        terminal.press("q")
        self.assertEqual(terminal.end(), 0)
        self.assertNotIn(b"\x1b]", terminal.raw)
        self.assertNotIn(b"\x1b[6n", terminal.raw)
        self.assertNotIn(b"\x07", terminal.raw)
        self.assertRegex(terminal.raw, b"^" + ALLOWED.pattern + b"$")

    def test_answers_that_are_none(self):
        for name, answer, said in (("garbage", b"\xff\x00{", "bad answer: not JSON"),
                                   ("huge", b"x" * 150_000, "bad answer: a message is too long"),
                                   ("deep", b"[" * 100_000, "bad answer: not JSON")):
            self.app(name, usual(**{"/ethdev/list": answer}))
            terminal = self.start(f"--file-prefix={name}")
            terminal.wait_for(said)
            terminal.press("q")
            self.assertEqual(terminal.end(), 0)

    def test_one_that_hangs_stops_no_keys(self):
        self.app("hangs", usual(**{"/ethdev/list": lambda: time.sleep(60)}))
        terminal = self.start("--file-prefix=hangs")
        terminal.wait_for("connecting")
        terminal.press("h")
        terminal.wait_for("sort by the next")
        terminal.press("x")
        terminal.wait_for("does not answer; waiting")
        terminal.press("q")
        self.assertEqual(terminal.end(), 0)

    def test_other_sizes_and_terminals(self):
        self.app("sized", usual())
        terminal = self.start()
        terminal.wait_for(r"received +\d")
        for columns, lines in ((120, 40), (40, 8), (10, 2), (80, 24)):
            terminal.resize(columns, lines)
            os.kill(terminal.pid, signal.SIGWINCH)
            terminal.wait_for("sluice-top" if lines < 3 else "q quit")
        terminal.press("\x03")
        self.assertEqual(terminal.end(), 0)
        terminal = self.start(term="vt100")
        terminal.wait_for(r"received +\d")
        terminal.press("q")
        self.assertEqual(terminal.end(), 0)
        terminal = self.start(term="no-such-terminal")
        terminal.wait_for("try TERM=vt100")
        self.assertEqual(terminal.end(), 2)


@unittest.skipUnless(shutil.which("tmux"), "tmux is not installed: scripts/setup --all installs it")
class Tmux(unittest.TestCase):
    def test_in_80x24(self):
        with tempfile.TemporaryDirectory() as folder:
            self.addCleanup(FakeApp(folder, "inside", usual()).die)
            tmux = ["tmux", "-S", f"{folder}/tmux", "-f", "/dev/null"]

            def call(*command):
                return subprocess.run([*tmux, *command], check=True, capture_output=True, text=True,
                                      timeout=PATIENCE_S).stdout
            command = f"RUNTIME_DIRECTORY={folder} /usr/bin/python3 {TOP} --period_s=0.1"
            call("new-session", "-d", "-x", "80", "-y", "24", command)
            try:
                text = harness.wait_until(
                    lambda: re.search(r"received +\d", text := call("capture-pane", "-p")) and text,
                    lambda: call("capture-pane", "-p"), PATIENCE_S)
                self.assertIn("[live]", text)
                call("send-keys", "3")
                harness.wait_until(lambda: "75 %" in call("capture-pane", "-p"), "the queues",
                                   PATIENCE_S)
            finally:
                call("kill-server")


class CommandLine(unittest.TestCase):
    def run_top(self, *arguments, **environment):
        return subprocess.run([TOP, *arguments], capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=PATIENCE_S,
                              env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"} | environment)

    def test_bad_arguments_end_with_2_and_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            for arguments, words in ((["--period_s=0"], "--period_s=0: give 0.1 to 60"),
                                     (["--period_s=nan"], "--period_s=nan"),
                                     (["--page=Nope"], "--page=Nope: give one of Overview"),
                                     ([], "standard output is not a terminal: give --once"),
                                     (["--once"], "no DPDK process with telemetry"),
                                     (["--frobnicate"], "--frobnicate")):
                done = self.run_top(*arguments, RUNTIME_DIRECTORY=folder)
                self.assertEqual(done.returncode, 2, arguments)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertIn(words, done.stderr)
            done = self.run_top("--once", "--file-prefix=none", RUNTIME_DIRECTORY=folder)
            self.assertEqual((done.returncode, done.stderr), (1, "sluice-top: none has ended\n"))

    def test_lists_and_prints_once(self):
        with tempfile.TemporaryDirectory() as folder:
            self.addCleanup(FakeApp(folder, "one", usual()).die)
            done = self.run_top("--list", RUNTIME_DIRECTORY=folder)
            self.assertEqual(done.stdout, "one  DPDK 22.11.11, pid 4711\n")
            done = self.run_top("--once", "--period_s=0.1", "--page=Queues", RUNTIME_DIRECTORY=folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("75 %", done.stdout)


if __name__ == "__main__":
    unittest.main()
