# SPDX-License-Identifier: BSD-3-Clause
"""A sluice-maglev on the embedded NIC that is changed and queried while it runs. Import harness
first."""

import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile

import harness
from harness import PATIENCE_S, wait_until

EAL = (*harness.MEMORY, harness.lcores(2))
SAMPLE = pathlib.Path(__file__).resolve().parents[2] / "configs" / "maglev-sample.json"


def sample():
    text = SAMPLE.read_text(encoding="utf-8")
    return json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))


class Running:
    """A balancer that runs until it is stopped."""

    def __init__(self, binary, config, *flags):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "maglev.json")
        self.write(config)
        self.prefix = f"sluice-maglev-{os.getpid()}"
        self.log = open(os.path.join(self.folder.name, "log"), "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [binary, *EAL, f"--file-prefix={self.prefix}", "--", f"--config={self.path}",
             "--json=-", "--stats_period_s=0.05", *flags],
            stdout=subprocess.PIPE, stderr=self.log, text=True)
        wait_until(lambda: "Mpps" in self.said() or self.process.poll() is not None, "traffic")
        assert self.process.poll() is None, self.said()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        self.log.close()
        self.folder.cleanup()

    def write(self, config, name="maglev.json"):
        """Writes a configuration atomically, since the balancer may read it at any time. Returns
        its path."""
        path = os.path.join(self.folder.name, name)
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(config, file)
        os.replace(path + ".new", path)
        return path

    def said(self):
        return pathlib.Path(self.log.name).read_text(encoding="utf-8")

    def ask(self, command, parameters=""):
        return harness.ask(self.prefix, f"/sluice/maglev/{command}", parameters)

    def pkts(self, vip="web"):
        return {name: b["pkts"] for name, b in self.ask("backends", vip).items()}

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        stdout, _ = self.process.communicate(timeout=PATIENCE_S)
        assert self.process.returncode == 0, self.said()
        return json.loads(stdout)
