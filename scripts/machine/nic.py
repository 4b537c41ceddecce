# SPDX-License-Identifier: BSD-3-Clause
"""A model NIC of a guest: a sluice-device process that serves a device on the guest's bus."""
import json
import os
import signal
import subprocess
import time

import child

MODELS = ("enso", "ipu")
EAL_OPTIONS = ("vdev",)
PATIENCE_S = 60


class NicFailed(Exception):
    """One line that describes an error of a NIC."""


class Nic:
    """`options` are flags of sluice-device by name, and EAL's `vdev` for a port that the wire
    names. The process ends with `stop`, or with this process."""

    def __init__(self, binary, folder, index, model, options):
        self.model = model
        self.name = f"nic{index}"
        self.socket = folder / f"{self.name}.sock"
        self.log = folder / f"{self.name}.log"
        self.report_file = folder / f"{self.name}.json"
        eal = [f"--{key}={value}" for key, value in options if key in EAL_OPTIONS]
        flags = [f"--{key}={value}" for key, value in options if key not in EAL_OPTIONS]
        # A killed process leaves EAL's runtime files; they are removed with the guest's folder.
        self.environment = {**os.environ, "RUNTIME_DIRECTORY": str(folder)}
        self.command = [binary, *eal, "--", f"--vfio_user={self.socket}", f"--model={model}",
                        f"--json={self.report_file}", *flags]
        self.process = None

    def start(self):
        """Returns once a guest can connect."""
        self.socket.unlink(missing_ok=True)  # A killed process leaves its socket.
        with open(self.log, "ab") as log:
            self.process = child.start(self.command, stdin=subprocess.DEVNULL, stdout=log,
                                       stderr=subprocess.STDOUT, env=self.environment)
        end = time.monotonic() + PATIENCE_S
        while not self.socket.exists():
            if self.process.poll() is not None or time.monotonic() > end:
                raise NicFailed(f"{self.name} ({self.model}): {self.last_line()}")
            time.sleep(0.02)

    def last_line(self):
        lines = self._lines()
        return lines[-1] if lines else "sluice-device does not start"

    def kill(self):
        """Kills the process, as in a crash."""
        child.end(self.process, signal.SIGKILL)
        self.process = None

    def _lines(self):
        """Returns the complete lines of its log."""
        return self.log.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]

    def events(self):
        """Returns its log without the lines of statistics."""
        return [line for line in self._lines() if "Mpps" not in line]

    def await_quiet(self):
        """Returns when two consecutive lines of statistics, from now on, show no traffic. For wires
        whose traffic ends."""
        begin = len(self._lines())
        while len(last := self._lines()[begin:][-2:]) < 2 \
                or any(line.count(" 0.000 Mpps") != 2 for line in last):
            if self.process.poll() is not None:
                raise NicFailed(f"{self.name} ({self.model}): {self.last_line()}")
            time.sleep(0.2)

    def report(self):
        """Returns its final report, after it was stopped."""
        return json.loads(self.report_file.read_text(encoding="utf-8"))

    def stop(self):
        if self.process is not None:
            child.end(self.process, signal.SIGTERM)
            self.process = None
