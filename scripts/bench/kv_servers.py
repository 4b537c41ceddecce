# SPDX-License-Identifier: BSD-3-Clause
"""Servers of memcached's protocol as processes, observed while they serve: the number of responses,
and the CPU time. No process outlives its `with` block or this process."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import run
import telemetry

PATIENCE_S = 60
PRELOAD_PATIENCE_S = 300
MEMCACHED = shutil.which("memcached") or "/usr/bin/memcached"
# The fastest settings over UDP. -R is the number of requests that are processed before the next
# poll. Background threads are disabled, and the index need not grow. (-C, which disables
# compare-and-swap, changes little.)
MEMCACHED_FLAGS = ["-t", "1", "-R", "1000", "-o", "no_modern,hashpower=20", "-m", "1024", "-C"]
KV = f"{run.RELEASE}/apps/kv/sluice-kv"
WORKER_THREAD = re.compile(r"(lcore|rte)-worker-?\d+$")
TICKS = os.sysconf("SC_CLK_TCK")


def cpus():
    """Returns the CPUs of the client and of the server."""
    mine = sorted(os.sched_getaffinity(0))
    return mine[0], mine[1 % len(mine)]


def cpu_s(stat):
    """Returns user plus system time (fields 14 and 15, proc(5)) from a stat file."""
    fields = pathlib.Path(stat).read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def wait_until(condition, process, what, patience_s=PATIENCE_S):
    """Waits until `condition` holds. Raises an error with the last output if the process exits or
    is too slow."""
    deadline = time.monotonic() + patience_s
    while not condition():
        if process.poll() is not None or time.monotonic() > deadline:
            raise run.RunError(f"{what}:\n{process.last_words()}")
        time.sleep(0.05)


class Process(subprocess.Popen):
    """A process whose output goes to a file. It dies with this process."""

    def __init__(self, command, user=None):
        become = ["--reuid", user, "--regid", user, "--clear-groups"] if user else []
        self.output = tempfile.TemporaryFile("w+", encoding="utf-8")
        super().__init__(["setpriv", "--pdeathsig", "KILL", *become, *command],
                         stdin=subprocess.DEVNULL, stdout=self.output, stderr=subprocess.STDOUT)

    def said(self):
        # Do not seek and read here: the child shares the file position.
        size = os.fstat(self.output.fileno()).st_size
        return os.pread(self.output.fileno(), size, 0).decode()

    def last_words(self):
        return self.said()[-2000:]

    def __exit__(self, *_):
        self.kill()
        self.wait()
        self.output.close()


class Memcached(Process):
    name, path = "memcached", "kernel UDP"
    flags = " ".join(["memcached", *MEMCACHED_FLAGS])

    def __init__(self, address):
        self.server = (address, free_port(address))
        port = str(self.server[1])
        super().__init__(["taskset", "-c", str(cpus()[1]), MEMCACHED, "-l", address, "-p", port,
                          "-U", port, *MEMCACHED_FLAGS],
                         user="65534" if os.geteuid() == 0 else None)

    def wait_for_start(self):
        def answers():
            with contextlib.suppress(OSError):
                return bool(self.statistics())
            return False
        wait_until(answers, self, "memcached does not answer")

    def statistics(self):
        with socket.create_connection(self.server, timeout=PATIENCE_S) as tcp:
            tcp.sendall(b"stats\r\n")
            said = b""
            while not said.endswith(b"END\r\n"):
                more = tcp.recv(1 << 16)
                if not more:
                    raise ConnectionError("memcached hung up")
                said += more
        return dict(re.findall(r"STAT (\S+) (\S+)\r\n", said.decode()))

    def read(self):
        stats = self.statistics()
        return {"time_s": time.monotonic(), "process_s": cpu_s(f"/proc/{self.pid}/stat"),
                "requests": int(stats["cmd_get"]) + int(stats["cmd_set"])}


class SluiceKv(Process):
    """Runs one worker. `arguments` are flags, and EAL's before `--`."""

    flags = ""

    def __init__(self, name, path, *arguments):
        self.name, self.path = name, path
        super().__init__([KV, *arguments])

    def ask(self, command):
        """Returns the answer to a telemetry command; None until the workers run."""
        return telemetry.ask(f"sluice-kv-{self.pid}", command)

    def statistics(self):
        return (self.ask("/sluice/kv/stats") or {}).get("memcached")

    def wait_for(self, what, condition):
        """Waits until `condition` holds for its statistics."""
        def holds():
            with contextlib.suppress(OSError):
                counters = self.statistics()
                return counters is not None and condition(counters)
            return False
        wait_until(holds, self, f"sluice-kv: {what}", PRELOAD_PATIENCE_S)

    def worker(self):
        """Returns the /proc folder of the worker thread, which EAL names. Other threads may start
        and end meanwhile."""
        for task in pathlib.Path(f"/proc/{self.pid}/task").iterdir():
            with contextlib.suppress(OSError):
                if WORKER_THREAD.match((task / "comm").read_text(encoding="utf-8")):
                    return task
        raise run.RunError("sluice-kv has no worker")

    def read(self):
        cycles, worker = self.ask("/sluice/stats"), self.worker()
        return {"time_s": time.monotonic(), "process_s": cpu_s(f"/proc/{self.pid}/stat"),
                "requests": self.statistics()["requests"],
                "worker_s": cpu_s(worker / "stat"), "busy_cycles": cycles["busy_cycles"],
                "total_cycles": cycles["total_cycles"]}


def free_port(address):
    """Returns a port that is free for both protocols."""
    while True:
        with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
            tcp.bind((address, 0))
            with contextlib.suppress(OSError):
                udp.bind(tcp.getsockname())
                return tcp.getsockname()[1]


def windows(server, count, duration_s):
    """Returns the differences between readings: requests, seconds, CPU seconds of all threads
    (`process_s`) and of a worker while it had packets (`busy_s`; unknown for memcached)."""
    found = []
    before = server.read()
    for _ in range(count):
        time.sleep(duration_s)
        after = server.read()
        grown = {name: after[name] - before[name] for name in after}
        window = {"requests": grown["requests"], "seconds": grown["time_s"],
                  "process_s": grown["process_s"]}
        if "busy_cycles" in grown:
            # Scale the worker's CPU time, because the cycles include time in which other processes
            # used the CPU.
            window["busy_s"] = grown["worker_s"] * grown["busy_cycles"] / grown["total_cycles"]
        found.append(window)
        before = after
    return found


@contextlib.contextmanager
def client(server, *flags, inside=()):
    """Yields sluice-kv-client after it has set all items. `inside` is the command prefix that
    enters its namespace. The yielded object has the report after the block."""
    report = {}
    command = [*inside, "taskset", "-c", str(cpus()[0]),
               f"{run.RELEASE}/apps/kv_client/sluice-kv-client", f"--server={server[0]}:{server[1]}",
               "--duration_s=0", "--stats_period_s=0", "--json=-", *flags]
    with Process(command) as process:
        wait_until(lambda: "preloaded" in process.said(), process,
                   "sluice-kv-client sets no items", PRELOAD_PATIENCE_S)
        yield report
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired as error:
            raise run.RunError("sluice-kv-client does not end") from error
        if process.returncode != 0:
            raise run.RunError(f"sluice-kv-client: exit code {process.returncode}:\n"
                               f"{process.last_words()}")
        report.update(run.last_json(process.said()))
