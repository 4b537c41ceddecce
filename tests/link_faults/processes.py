# SPDX-License-Identifier: BSD-3-Clause
"""A NIC model in one process and sluice-echo in another, for tests that inject faults."""

import json
import os
import pathlib
import queue
import re
import signal
import subprocess
import sys
import threading
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import private_folder  # pylint: disable=wrong-import-position,unused-import

PATIENCE_S = 60  # On a loaded machine, EAL may take a long time to start.


class Process:
    """A child whose lines are read as they arrive."""

    def __init__(self, command):
        self.popen = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      text=True)
        self.lines, self.stdout = queue.Queue(), []
        self.readers = [threading.Thread(target=self.read_errors, daemon=True),
                        threading.Thread(target=self.read_output, daemon=True)]
        for reader in self.readers:
            reader.start()
        self.log = []

    def read_errors(self):
        for line in self.popen.stderr:
            self.lines.put(line)

    def read_output(self):
        self.stdout.append(self.popen.stdout.read())

    def wait_for(self, pattern, patience_s=PATIENCE_S):
        """Returns the first match among the lines from now on."""
        deadline = time.monotonic() + patience_s
        while True:
            try:
                line = self.lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no '{pattern}' in:\n{''.join(self.log)}") from None
            self.log.append(line)
            if match := re.search(pattern, line):
                return match

    def skip(self):
        """Discards the lines so far."""
        while not self.lines.empty():
            self.log.append(self.lines.get())

    def signal(self, number):
        self.popen.send_signal(number)

    def kill(self):
        self.popen.kill()
        self.close()

    def close(self):
        """Reads the last output of a process that has ended or is ending."""
        self.popen.wait(timeout=PATIENCE_S)
        for reader in self.readers:
            reader.join()
        for stream in (self.popen.stdout, self.popen.stderr):
            stream.close()

    def stop(self):
        """Stops it as a user does; returns its report."""
        self.signal(signal.SIGTERM)
        self.close()
        code = self.popen.returncode
        while not self.lines.empty():
            self.log.append(self.lines.get())
        assert code == 0, f"exit code {code}:\n{''.join(self.log)}"
        return json.loads(self.stdout[0])

    def end(self):
        """Kills the process if it still runs."""
        if self.popen.poll() is None:
            self.kill()


TRAFFIC = r" rx +(?!0\.000)\S+ Mpps"  # Matches a line for a period with traffic.


def device(binary, socket, *arguments, eal=(), prefix=()):
    process = Process([*prefix, binary, "--no-huge", "-m", "256", "--no-pci", *eal, "--", "--model=ipu",
                       f"--socket={socket}", "--json=-", "--stats_period_s=0.05", *arguments])
    process.wait_for("listens at")
    return process


def echo(binary, socket, name, iface="bilateral"):
    """Starts sluice-echo, whose DPDK file prefix is `name`, and waits for its first statistics
    line. Returns the process."""
    process = Process([binary, "--no-huge", "-m", "512", "--no-pci", "--lcores=0@0,1@0",
                       f"--file-prefix={name}", f"--vdev=net_ipu0,device={socket}", "--",
                       f"--iface={iface}", "--mode=reflect", "--json=-", "--stats_period_s=0.05"])
    process.wait_for("Mpps")
    return process


def own_socket(folder):
    return os.path.join(folder, "nic.sock")
