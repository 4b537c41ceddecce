# SPDX-License-Identifier: BSD-3-Clause
"""Runs applications on the models of a card, and measures every point of card_plan. A point that
cannot be measured is omitted with a reason; the others are not affected."""
import os
import re
import subprocess
import time

import card_plan
import nvml
import rows
import run
from card_plan import APPLICATIONS, LATENCY, RATES, SECONDS, START_S
from measurement import Run

PATIENCE_S = 20    # Time allowed for the start and end of a run.
MOST_FAILURES = 2  # After this many failures in a row, an application is not run on the interface
                   # again.
TIME_LIMIT = "time limit"
PROBE_S = 0.2
# The statistic that counts messages about received frames, by interface. packetized is not listed,
# because it has one completion per frame.
MESSAGES = {"streaming": "rx_notifications", "bilateral": "link_swaps", "coherent": "line_answers"}
PERCENTILES = {"p50": "latency_p50_ns", "p99": "latency_p99_ns", "p99.9": "latency_p999_ns"}
LINK = "link_bytes_"
# The report members that a sample contains.
KEPT = ("duration_s", "rx_pkts", "tx_pkts", "consumed_pkts", "mpps", "gbps", "cycles_per_pkt",
        "worker_busy", "drops", "nic_dropped_pkts", "lost", "corrupted", "duplicated", "reordered",
        "ctx_switches", "memory", "failure", "device", "wire")


def siblings(cpu):
    """Returns the CPUs of the same core."""
    path = f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
    try:
        with open(path, encoding="utf-8") as file:
            found = []
            for part in file.read().strip().split(","):
                first, _, last = part.partition("-")
                found += range(int(first), int(last or first) + 1)
            return found
    except (OSError, ValueError):
        return [cpu]


def placement(available):
    """Returns CPUs for workers, in this order: one of each core before a second one of any."""
    chosen = {}
    for cpu in sorted(available):
        core = min(siblings(cpu))
        chosen[cpu] = sum(other < cpu and min(siblings(other)) == core for other in available)
    return sorted(chosen, key=lambda cpu: (chosen[cpu], cpu))


def lcores(cpus, workers):
    """The main thread, which sleeps, uses the last CPU."""
    return ",".join([f"0@{cpus[-1]}", *(f"{n + 1}@{cpus[n]}" for n in range(workers))])


def eal(driver, iface, wire, device, cpus, workers):
    """Returns EAL's arguments for an application on one model NIC."""
    return [f"--lcores={lcores(cpus, workers)}", "--no-pci",
            f"--vdev={driver},wire={wire},{card_plan.arguments(device, iface)}"]


def reason(error):
    """Returns a failed run's reason in one line."""
    if isinstance(error.__cause__, subprocess.TimeoutExpired):
        return f"no end after {error.__cause__.timeout:g} s"
    return run.last_words(str(error))


def derived(iface, report):
    """Returns figures about the card from a report: bytes on the link per frame to the host, frames
    per message about received frames, and latency."""
    device, wire = report.get("device") or {}, report.get("wire") or {}
    frames = device.get("rx_frames", 0)
    messages = device.get(MESSAGES[iface], 0) if iface in MESSAGES else frames
    return {"link_bytes": {name.removeprefix(LINK): count / max(frames, 1)
                           for name, count in device.items() if name.startswith(LINK)},
            "message_pkts": frames / messages if messages else None,
            "latency_us": {name: wire[key] / 1e3 for name, key in PERCENTILES.items()
                           if wire.get(key)}}


def table_rows(samples, hugepages):
    """Builds the rows of rates and applications, by application, traffic and workers. Rows of equal
    numbers of workers are compared."""
    found = []
    for workers in sorted({sample["workers"] for sample in samples}):
        found += rows.build_rows([s for s in samples if s["workers"] == workers], hugepages)
    order = list(dict.fromkeys((sample["app"], sample["traffic"]) for sample in samples))
    return sorted(found, key=lambda row: order.index((row["app"], row["traffic"])))


class CardJob(Run):
    """Measures all points, by priority. `save` is called after each."""

    def __init__(self, args, listing, folder, save):
        self.folder, self.save = folder, save
        self.drivers = {each["name"]: each["model"] for each in listing}
        self.cpus = placement(os.sched_getaffinity(0))
        self.link = nvml.Link(int((re.search(r"index=(\d+)", args.device) or [0, 0])[1]))
        self.about, self.samples, self.latency, self.omitted = "", [], [], []
        self.failures = {}  # The reasons for the last failures, by application and interface.
        self.failed = False  # Whether any run failed.
        self.wires = card_plan.wires(args.apps, folder)
        wanted = card_plan.WORKERS[:1] if args.quick else card_plan.WORKERS
        fitting = [count for count in wanted if count < len(self.cpus)]
        self.too_many = [count for count in wanted if count not in fitting]
        self.rates = card_plan.rates(args.ifaces, args.sizes, fitting if "echo" in args.apps else [])
        self.others = card_plan.applications(args.apps, args.ifaces)
        super().__init__(args)

    @property
    def measured(self):
        return bool(self.samples)

    @property
    def concluded(self):
        return self.measured

    def seconds(self, app):
        return self.args.duration_s or SECONDS

    def costs(self):
        again = card_plan.again(self.rates) * (self.args.repeats - 1)
        loads = card_plan.latencies(dict.fromkeys(self.args.ifaces, 100)) if self.rates else []
        return [START_S + self.seconds("echo")] * (
            1 + len(self.too_many) + len(self.rates + self.others + loads + again))

    def describe(self):
        """Starts models until one runs, and returns the description that its driver prints."""
        for iface in self.args.ifaces:
            done = run.execute(run.app_command("echo", iface, [], PROBE_S, eal(
                self.drivers[iface], iface, "gen:size=64", self.args.device, self.cpus, 1)),
                               PATIENCE_S)
            about = re.search(r"^net_\w+: the model runs on (.*)$", done.stderr, re.MULTILINE)
            if about:
                return about[1]
        raise run.RunError(run.last_words(done.stderr) or f"exit code {done.returncode}")

    def measure(self):
        self.about = self.describe()
        self.progress.step(self.about)
        for count in self.too_many:
            self.omit(card_plan.worker_words(count), f"this host has {len(self.cpus)} CPUs")
        self.visit(self.rates + self.others)
        loads = card_plan.latencies(self.highest())
        again = card_plan.again(self.rates)
        self.progress.expect([START_S + self.seconds("echo")]
                             * (len(loads) + len(again) * (self.args.repeats - 1)))
        self.visit(loads)
        for number in range(1, self.args.repeats):
            self.visit(again[::-1] if number % 2 else again, number)

    def highest(self):
        """Returns the rate of one worker with the smallest frames by interface, in Mpps."""
        return {s["iface"]: s["mpps"] for s in self.samples if s["kind"] == RATES
                and s["workers"] == 1 and s["traffic"] == card_plan.SMALLEST and s["mpps"]}

    def visit(self, points, number=0):
        for point in points:
            name = " ".join([point.app, point.iface, point.traffic,
                             card_plan.worker_words(point.workers),
                             *([f"at {point.mpps:g} Mpps"] if point.mpps else [])])
            why = self.why_omitted(point)
            if why:
                self.omit(name, why)
                continue
            failures = self.failures.setdefault((point.app, point.iface), [])
            try:
                found = self.sample(point) | {"round": number}
            except run.RunError as error:
                self.failed = True
                failures.append(reason(error))
                self.omit(name, failures[-1])
            else:
                failures.clear()
                (self.latency if point.kind == LATENCY else self.samples).append(found)
                self.progress.step(f"{name}: {found['mpps']:.2f} Mpps, "
                                   f"{found['cycles_per_pkt']:.1f} cycles/packet"
                                   + (f"; {found['failure']}" if "failure" in found else ""))
            self.save()

    def why_omitted(self, point):
        """Returns the reason for not running a point, or an empty string."""
        failures = self.failures.get((point.app, point.iface), [])
        if len(failures) >= MOST_FAILURES:
            return failures[-1]
        seconds = self.deadline - time.monotonic()
        return TIME_LIMIT if seconds < START_S + self.seconds(point.app) else ""

    def omit(self, name, why):
        self.omitted.append({"point": name, "reason": why})
        self.progress.step(f"{name}: omitted: {why}")

    def sample(self, point):
        wire = self.wires.get(point.app) or card_plan.generator(point)
        arguments = eal(self.drivers[point.iface], point.iface, wire, self.args.device, self.cpus,
                        point.workers)
        flags = [*card_plan.flags(point, self.folder), f"--workers={point.workers}"]
        with nvml.Sampler(self.link) as counters:
            report = run.app_sample(point.app, point.iface, flags, self.seconds(point.app),
                                    arguments, PATIENCE_S)
        mode = report.get("config", {}).get("mode") if point.app == "echo" else ""
        return {name: report[name] for name in KEPT if name in report} | \
            derived(point.iface, report) | counted(report) | {
                "nvml": counters.found(), "app": point.app, "mode": mode, "iface": point.iface,
                "traffic": point.traffic, "workers": point.workers, "kind": point.kind,
                "offered_mpps": point.mpps,
                "batch": card_plan.batch(self.args.device, point.iface),
                "setting": card_plan.setting_words(self.args.device, point.iface)}


def counted(report):
    """Returns Gb/s that crossed the link by the model's count, without headers of PCIe packets."""
    device = report.get("device") or {}

    def gbps(*kinds):
        return sum(device.get(LINK + kind, 0) for kind in kinds) * 8e-9 / report["duration_s"]
    return {"link_gbps": {"to_host": gbps("payload_to_host", "notifications"),
                          "from_host": gbps("payload_from_host", "descriptors", "registers")}}
