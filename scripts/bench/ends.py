# SPDX-License-Identifier: BSD-3-Clause
"""The two ends of a cable: an application, and the generator that measures it. Each has one CPU,
shared by its worker and the model of its NIC. Neither end waits for the other: frames that do not
fit in a full ring are lost, and counted there."""
import contextlib
import os
import signal
import subprocess
import time

import run
import telemetry

GENERATOR = "pktgen"
GENERATOR_IFACE = "bilateral"  # The interface with the cheapest worker; all measurements use it.
PATIENCE_S = 60


def cpus():
    """Returns the CPUs of the generator and of the device."""
    found = sorted(os.sched_getaffinity(0))[:2]
    if len(found) < 2:
        raise run.RunError("two processes that poll need two CPUs")
    return found


def models(app):
    """Returns the name of the model of each of an application's interfaces, by interface."""
    return {each["name"]: each["model"] for each in run.listing(app)}


def command(app, cpu, other, vdev, hugepages, *flags):
    """Returns the command of an application with one worker, on `cpu`; its main thread, which
    sleeps, uses the other CPU. The application itself creates and removes its runtime folder."""
    memory = [] if hugepages else ["--no-huge", "-m", "512"]
    return [f"{run.RELEASE}/apps/{app}/sluice-{app}", f"--lcores=0@{other},1@{cpu}", "--no-pci",
            *memory, f"--vdev={vdev}", "--log-level=lib.eal:error", "--", *flags]


def cable(model, folder, more=""):
    """Returns the device arguments of one end."""
    return f"{model}0,wire=cable:{folder}/cable,device_cpu=worker,pause=off{more}"


class Device:
    """An application at one end. `mac` is its NIC's address."""

    def __init__(self, app, iface, flags, hugepages, folder, wire=""):
        generator_cpu, cpu = cpus()
        self.app, self.iface = app, iface
        self.said = f"{folder}/said.txt"
        with open(self.said, "w", encoding="utf-8") as said:
            self.process = subprocess.Popen(
                command(app, cpu, generator_cpu, cable(models(app)[iface], folder, wire),
                        hugepages, f"--iface={iface}", *flags),
                stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT)

    def words(self):
        with open(self.said, encoding="utf-8", errors="replace") as said:
            return said.read()

    def wait(self):
        """Waits until it polls, which a line of statistics shows."""
        end = time.monotonic() + PATIENCE_S
        while " s  rx " not in self.words():
            if self.process.poll() is not None or time.monotonic() > end:
                raise run.RunError(f"{self.app} on {self.iface} does not start:\n"
                                   f"{self.words()[-2000:]}")
            time.sleep(0.05)

    @property
    def mac(self):
        return self.ask("/ethdev/info", "0")["mac_addr"]

    def ask(self, question, parameters=""):
        return telemetry.ask(f"sluice-{self.app}-{self.process.pid}", question, parameters)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@contextlib.contextmanager
def device(*given, **named):
    """Yields a device that polls; it ends with the block."""
    under_test = Device(*given, **named)
    try:
        under_test.wait()
        yield under_test
    finally:
        under_test.end()


def generator_command(vdev, flags, hugepages, iface=GENERATOR_IFACE, model_cpu=None):
    """`model_cpu` runs the thread of the model; the worker then uses the other CPU."""
    cpu, other = cpus()
    if model_cpu is not None:
        cpu, other = other, model_cpu
        vdev += f",device_cpu={model_cpu}"
    return command(GENERATOR, cpu, other, vdev, hugepages, f"--iface={iface}", "--json=-",
                   "--stats_period_s=0", *flags)


def generate(vdev, flags, hugepages, patience_s, **named):
    """Runs the generator and returns its report."""
    done = run.execute(generator_command(vdev, flags, hugepages, **named), patience_s)
    return report_in(done.stdout, done.stderr, done.returncode)


@contextlib.contextmanager
def generator(vdev, flags, hugepages):
    """Yields a running generator; it ends with the block."""
    process = subprocess.Popen(generator_command(vdev, flags, hugepages), text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def report_of(process):
    """Waits, at most PATIENCE_S, until a generator has ended; returns its report."""
    try:
        said, errors = process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired as error:
        raise run.RunError(f"sluice-{GENERATOR}: {error}") from error
    return report_in(said, errors, process.returncode)


def report_in(said, errors, code):
    if "{" not in said:
        raise run.RunError(f"sluice-{GENERATOR}: exit code {code}\n{errors[-2000:]}")
    return run.last_json(said)
