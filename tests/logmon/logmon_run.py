# SPDX-License-Identifier: BSD-3-Clause
"""Runs sluice-logmon, whose file name is the last argument of a test."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import harness

LOGMON = sys.argv.pop()
EAL = (*harness.MEMORY, "--no-pci", harness.lcores(3))
PATIENCE_S = harness.PATIENCE_S


class Running:
    """A run; its report is on standard output."""

    count = 0

    def __init__(self, *flags, eal=()):
        Running.count += 1
        self.prefix = f"sluice-logmon-{os.getpid()}{Running.count:04}"
        self.process = subprocess.Popen(
            [LOGMON, *EAL, *eal, f"--file-prefix={self.prefix}", "--", "--json=-",
             "--stats_period_s=0.05", *flags],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.watchdog = threading.Timer(PATIENCE_S, self.process.kill)
        self.watchdog.start()
        self.said = []
        self.reader = threading.Thread(target=lambda: self.said.extend(self.process.stderr))
        self.reader.start()
        try:
            self.find(r" Mpps ")
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.watchdog.cancel()
        self.reader.join()
        self.process.stdout.close()
        self.process.stderr.close()

    def wait(self, condition):
        def done():
            assert self.process.poll() is None, "".join(self.said)
            return condition()
        return harness.wait_until(done, lambda: "".join(self.said))

    def find(self, pattern):
        """Waits until the standard error matches `pattern`. Returns the match."""
        return self.wait(lambda: re.search(pattern, "".join(self.said)))

    def ask(self, command):
        return harness.ask(self.prefix, f"/sluice/logmon/{command}")

    def taken(self):
        sources = self.ask("sources")
        return sources["syslog_messages"] + sources["line_datagrams"] + sources["tcp_segments"]

    def take_all(self):
        """Waits until the capture was replayed to its end. Returns the number of its frames."""
        frames = int(self.find(r" (\d+) frames loaded")[1])
        self.wait(lambda: self.taken() >= frames)
        return frames

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        report = json.loads(self.process.stdout.read())
        self.process.wait()
        self.reader.join()
        assert self.process.returncode == 0, "".join(self.said)
        return report


def say(*arguments, text=b""):
    """Returns exit code, standard output and standard error of a run that ends by itself."""
    result = subprocess.run([LOGMON, *arguments], input=text, capture_output=True,
                            timeout=PATIENCE_S, check=False)
    return result.returncode, result.stdout.decode(), result.stderr.decode()


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, content):
        path = self.folder / name
        if isinstance(content, dict):
            content = json.dumps(content).encode()
        path.write_bytes(content)
        return path

    def replay(self, text, *flags, config=None):
        """Returns the report of a run that receives the text once, and the number of frames."""
        if config is not None:
            flags = (f"--filters={self.file('filters.json', config)}", *flags)
        with Running("--log_once", f"--log={self.file('log', text)}", *flags) as run:
            frames = run.take_all()
            self.replayed(run)
            report = run.stop()
        self.law(report, frames)
        return report

    def replayed(self, run):
        """A hook: waits for further events before the run ends."""

    def law(self, report, frames):
        self.assertEqual(report["rx_pkts"], frames)
        self.assertEqual(report["rx_pkts"] + report["sent_pkts"],
                         report["tx_pkts"] + report["consumed_pkts"]
                         + sum(report["drops"].values()))
        self.assertEqual(sum(report["drops"].values()), 0)
        self.assertEqual(report["tx_pkts"],
                         frames if report["config"]["pass_on"] == "true" else 0)
