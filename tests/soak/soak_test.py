#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""soak_test.py MINUTES DEVICE APP...: applications in parallel, each with its traffic,
continuously queried by telemetry and by Prometheus. Once their tables are full, anonymous memory,
descriptors and the files of DPDK's runtime folder must not grow from the first quarter of the run
to the last. Works without root and without hugepages."""

import dataclasses
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "scripts" / "bench")]
import private_folder  # noqa: E402,F401
import telemetry  # noqa: E402

MINUTES = float(sys.argv[1])
DEVICE, *APPS = sys.argv[2:]
EAL = ["--no-huge", "-m", "512", "--no-pci"]
FLAGS = {
    # Use one policy and one channel for the whole run. By default, the application plays many of
    # them and then ends.
    "sluice-sched": ["--policy=fifo_central", "--mode=swap", "--requests=network"],
    # The items exceed the memory, so that the store is full after the warm-up. A store touches
    # pages only when items reach these pages.
    "sluice-kv": ["--memory_mb=4", "--items=20000",
                  "--client=items=200000+get=0.5+zipf=0.99+outstanding=1024"],
}
PATIENCE_S = 120
ASK_S = 0.5  # Time between two rounds of queries.
WARM_UP_S = 600
REST_S = 10  # Processes are warm if none has gained GROWTH_BYTES for this long.
# A heap may gain this much because of fragmentation. A leak of 1 KB per second is found in 30
# minutes.
GROWTH_BYTES = 1 << 20


@dataclasses.dataclass
class Sample:
    """The resources of a process at one point in time."""
    memory: int       # Anonymous resident memory, in bytes.
    descriptors: int
    files: frozenset  # Names and sizes in the runtime folder.


class Process:
    def __init__(self, program, arguments, folder):
        self.name = os.path.basename(program)
        self.log = pathlib.Path(folder, f"{self.name}-{len(os.listdir(folder))}.log")
        with open(self.log, "w", encoding="utf-8") as log:
            self.child = subprocess.Popen([program, *arguments], stdout=log,
                                          stderr=subprocess.STDOUT)
        self.samples = []

    def sample(self):
        process = pathlib.Path("/proc", str(self.child.pid))
        memory = re.search(r"RssAnon:\s+(\d+) kB", (process / "status").read_text())
        self.samples.append(Sample(int(memory[1]) * 1024, len(os.listdir(process / "fd")),
                                   self.files()))

    def files(self):
        return frozenset()

    def ask(self):
        """Runs one round of operators' queries."""

    def said(self, pattern):
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            found = re.search(pattern, self.log.read_text(encoding="utf-8"))
            if found:
                return found[1]
            if self.child.poll() is not None:
                break
            time.sleep(0.1)
        raise AssertionError(f"{self.name} did not begin:\n{self.log.read_text()[-3000:]}")


class App(Process):
    """A suite application with a unique --file-prefix."""
    def __init__(self, program, arguments, folder):
        name = os.path.basename(program)
        eal = [] if "--" in arguments else ["--"]
        super().__init__(program, [*EAL, *eal, *arguments, "--metrics=0", *FLAGS.get(name, [])],
                         folder)
        self.prefix = f"{name}-{self.child.pid}"
        self.folder = pathlib.Path(telemetry.path(self.prefix)).parent
        self.url = self.said(r"metrics: (http\S+)")
        self.commands = [command for command in telemetry.ask(self.prefix, "/")
                         if command.startswith("/sluice/") and not command.endswith("/plan")]
        # The metrics page is served before the workers begin.
        deadline = time.monotonic() + PATIENCE_S
        while b"sluice_rx_packets_total" not in self.metrics():
            assert time.monotonic() < deadline, f"{name}: no metrics"
            time.sleep(0.1)

    def files(self):
        return frozenset((entry.name, entry.stat().st_size) for entry in os.scandir(self.folder))

    def ask(self):
        for command in self.commands:
            telemetry.ask(self.prefix, command)
        assert b"sluice_rx_packets_total" in self.metrics()

    def metrics(self):
        with urllib.request.urlopen(self.url, timeout=PATIENCE_S) as answer:
            return answer.read()


class Soak(unittest.TestCase):
    def test_what_is_held_does_not_grow(self):
        with tempfile.TemporaryDirectory() as folder:
            processes = []
            try:
                self.start(processes, folder)
                self.warm_up(processes)
                self.run_for(processes, 60 * MINUTES)
                for process in processes:
                    with self.subTest(process=process.log.stem):
                        self.judge(process)
            finally:
                self.stop(processes)
            for process in processes:
                with self.subTest(process=process.log.stem):
                    self.assertEqual(process.child.returncode, 0,
                                     process.log.read_text(encoding="utf-8")[-3000:])
                    if isinstance(process, App):
                        self.assertFalse(process.folder.exists(), "the runtime folder is left")

    def start(self, processes, folder):
        for program in APPS:
            processes.append(App(program, [], folder))
        sock = os.path.join(folder, "nic.sock")
        processes.append(Process(DEVICE, [f"--socket={sock}", "--wire=gen:size=64"], folder))
        echo = next(program for program in APPS if program.endswith("sluice-echo"))
        self.await_file(sock)
        processes.append(App(echo, [f"--vdev=net_ipu0,device={sock}", "--", "--iface=bilateral"],
                             folder))

    def await_file(self, path):
        deadline = time.monotonic() + PATIENCE_S
        while not os.path.exists(path):
            self.assertLess(time.monotonic(), deadline, f"{path}: nobody listens")
            time.sleep(0.1)

    def warm_up(self, processes):
        deadline = time.monotonic() + WARM_UP_S
        while True:
            self.run_for(processes, REST_S)
            growing = [process.log.stem for process in processes
                       if process.samples[-1].memory - process.samples[0].memory >= GROWTH_BYTES]
            if not growing:
                return
            self.assertLess(time.monotonic(), deadline, f"{growing}: memory keeps growing")

    def run_for(self, processes, seconds):
        """Runs for this many seconds, and keeps only their samples."""
        for process in processes:
            process.samples.clear()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for process in processes:
                self.assertIsNone(process.child.poll(),
                                  process.log.read_text(encoding="utf-8")[-3000:])
                process.ask()
                process.sample()
            time.sleep(ASK_S)

    def judge(self, process):
        count = len(process.samples)
        self.assertGreaterEqual(count, 8, "too few looks: give more minutes")
        early = process.samples[:count // 4]
        late = process.samples[count - count // 4:]

        def typical(samples, what):
            return statistics.median(what(sample) for sample in samples)
        memory = [typical(part, lambda sample: sample.memory) for part in (early, late)]
        descriptors = [typical(part, lambda sample: sample.descriptors) for part in (early, late)]
        print(f"{process.log.stem}: {count} looks, memory {memory[0] / 1e6:.1f} to "
              f"{memory[1] / 1e6:.1f} MB, descriptors {descriptors[0]:.0f} to "
              f"{descriptors[1]:.0f}, {len(late[-1].files)} files", flush=True)
        self.assertLessEqual(memory[1] - memory[0], GROWTH_BYTES, "anonymous memory grows")
        self.assertLessEqual(descriptors[1], descriptors[0], "descriptors are not closed")
        self.assertEqual(late[-1].files, early[0].files, "files of the runtime folder")

    def stop(self, processes):
        for process in reversed(processes):  # An application ends before its device.
            if process.child.poll() is None:
                process.child.send_signal(signal.SIGTERM)
            try:
                process.child.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.child.kill()
                process.child.wait()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
