# SPDX-License-Identifier: BSD-3-Clause
"""Helpers of end-to-end tests of several applications. Import it before reading the last argument:
it removes --full from sys.argv. Programs use a DPDK runtime folder of this test
(private_folder.py). With `lcores`, polling programs stay on the CPU `CPU`, so that
`run_on_all_cpus` can run a test on each CPU."""
import concurrent.futures
import itertools
import json
import os
import pathlib
import queue
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parent))
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "scripts" / "bench"))
import private_folder  # pylint: disable=wrong-import-position,unused-import
from telemetry import ask  # pylint: disable=wrong-import-position,unused-import

# With these arguments, EAL uses private memory instead of hugepages.
MEMORY = ("--no-huge", "-m", "512")
PATIENCE_S = 60
CPU = int(os.environ.get("SLUICE_TEST_CPU", min(os.sched_getaffinity(0))))


def lcores(count):
    """Returns EAL's option for this number of lcores, all on `CPU`."""
    return "--lcores=" + ",".join(f"{i}@{CPU}" for i in range(count))


def wait_until(condition, what, patience_s=PATIENCE_S):
    """Returns the result of `condition` once it is true. `what` describes the condition, or is a
    function that returns the description."""
    end = time.monotonic() + patience_s
    while not (value := condition()):
        if time.monotonic() > end:
            what = what() if callable(what) else what
            raise TimeoutError(f"waited {patience_s} s in vain: {what}")
        time.sleep(0.02)
    return value


def free_port():
    """Returns a port that is free for both UDP and TCP."""
    while True:
        with socket.socket(type=socket.SOCK_DGRAM) as udp, socket.socket() as tcp:
            udp.bind(("127.0.0.1", 0))
            try:
                tcp.bind(udp.getsockname())
            except OSError:
                continue
            return udp.getsockname()[1]


def sh(*command, text=None):
    """Returns the standard output of a command that succeeds; `text` is its input."""
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=PATIENCE_S,
                          check=False)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


def run(*command, until=(), patience_s=PATIENCE_S, code=0):
    """Runs an application with --json=-; other output goes to standard error. It ends by itself,
    or, with `until`, by a signal once lines have matched each of these expressions in order.
    Returns the report and the lines up to the signal. `code` is the expected exit code."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    watchdog = threading.Timer(patience_s, process.kill)
    watchdog.start()
    left, said = list(until), []
    while left and (line := process.stderr.readline()):
        said.append(line)
        if re.search(left[0], line):
            del left[0]
    if until:
        process.send_signal(signal.SIGTERM)
    stdout, stderr = process.communicate()
    watchdog.cancel()
    assert process.returncode == code, f"exit {process.returncode}: " + "".join(said) + stderr
    return json.loads(stdout), said


def for_each(cases, function):
    """Returns pairs of a case and its result of `function`, a few at a time: for runs that end at
    once and do not poll."""
    cases = list(cases)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(zip(cases, pool.map(function, cases)))


def fails(*command, patience_s=PATIENCE_S):
    """Returns the exit code and standard error of a run that must end by itself."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=patience_s, check=False)
    return done.returncode, done.stderr


def write_capture(path, frames):
    """Writes a pcap file: magic, version 2.4, zone, accuracy, snapshot length, link type 1;
    records: time, lengths, bytes."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for i, frame in enumerate(frames):
            file.write(struct.pack("<IIII", i // 1_000_000, i % 1_000_000, len(frame), len(frame)))
            file.write(frame)


def listing(binary, what):
    """Returns a table of the build: `--list=WHAT`."""
    done = subprocess.run([binary, f"--list={what}"], capture_output=True, text=True, timeout=30,
                          check=True)
    return json.loads(done.stdout)


def interfaces(binary):
    """Returns the interfaces that an application was built with."""
    return [interface["name"] for interface in listing(binary, "interfaces")]


FULL = "--full" in sys.argv
if FULL:
    sys.argv.remove("--full")


def each(*axes):
    """Returns rows in which each value of each axis occurs, as many as the longest axis has. With
    --full (suite slow) it returns the product of the axes."""
    if FULL:
        return list(itertools.product(*axes))
    return [tuple(axis[i % len(axis)] for axis in axes) for i in range(max(map(len, axes)))]


def names_of(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from names_of(test)
        else:
            yield test.id().removeprefix("__main__.")


def run_on_all_cpus():
    """Runs unittest.main() with each method in a separate process, as many in parallel as there are
    CPUs, each with a different `CPU`. If the first argument is a method, runs only that one."""
    if "SLUICE_TEST_CPU" in os.environ:
        unittest.main()
    names = list(names_of(unittest.defaultTestLoader.loadTestsFromName("__main__")))
    program = sys.orig_argv.index(sys.argv[0]) + 1  # The following arguments are the program's.
    cpus = queue.SimpleQueue()
    for cpu in os.sched_getaffinity(0):
        cpus.put(cpu)

    def run_method(name):
        cpu = cpus.get()
        try:
            return subprocess.run([*sys.orig_argv[:program], name, *sys.orig_argv[program:]],
                                  env={**os.environ, "SLUICE_TEST_CPU": str(cpu)}, check=False,
                                  stderr=subprocess.PIPE, text=True)
        finally:
            cpus.put(cpu)

    failed, skipped = 0, 0
    with concurrent.futures.ThreadPoolExecutor(cpus.qsize()) as pool:
        for done in pool.map(run_method, names):
            if done.returncode != 0:
                failed += 1
                print(done.stderr, file=sys.stderr, flush=True)
            elif found := re.search(r"skipped=(\d+)", done.stderr):
                skipped += int(found[1])
    counts = [f"{what}={count}" for what, count in (("failed", failed), ("skipped", skipped))
              if count]
    print(f"Ran {len(names)} tests\n\n{'FAILED' if failed else 'OK'}"
          + (f" ({', '.join(counts)})" if counts else ""), file=sys.stderr)
    sys.exit(failed > 0)


def has_tcp(program):
    """Returns whether an application was built with TCP: scripts/setup may not have found lwIP."""
    tried = subprocess.run([program, *MEMORY, "--no-pci", "--", "--transport=tcp", "--ip=10.0.0.2",
                            "--port=no-such-port"],
                           capture_output=True, text=True, check=False, timeout=60)
    return "this build has no TCP" not in tried.stderr
