# SPDX-License-Identifier: BSD-3-Clause
"""A run of scripts/throughput: its plan, and its results at the end, after completion, an interrupt
or the failure of a program."""
import time

import growth
import kv_comparison
import run
import workloads
from progress import Progress

ENGINE_REPEATS = 5  # Number of measurements of each engine without an interface.
START_S = 0.4       # Estimated startup time of a process, for the remaining time.
ENGINE_S = 8.0
SERVER_S = 15.0
INTERRUPTED = "interrupted"


class Run:
    """The base of all runs. `stopped` is the reason of an early end, or empty."""

    def __init__(self, args):
        self.args, self.stopped = args, ""
        self.deadline = time.monotonic() + (args.limit_s or float("inf"))
        self.progress = Progress(self.costs())

    def costs(self):
        """Returns the costs of all remaining steps in seconds."""
        raise NotImplementedError

    def measure(self):
        raise NotImplementedError

    @property
    def measured(self):
        """Returns whether there are results to keep."""
        raise NotImplementedError

    @property
    def concluded(self):
        """Returns whether a complete run produced any of the expected results."""
        return True

    def run(self):
        try:
            self.measure()
        except KeyboardInterrupt:
            self.stopped = INTERRUPTED
        except run.RunError as error:
            self.stopped = str(error)
        self.progress.close()

    def seconds(self, app):
        """Returns the duration of a sample."""
        return self.args.duration_s or workloads.SECONDS[app]

    def tell(self, sample):
        rate = f"{sample['mpps']:.2f} Mpps, " if sample.get("mpps") else ""
        self.progress.step(f"{sample['app']} {sample['mode']} {sample['iface']} "
                           f"{sample['traffic']}: {rate}{sample['cycles_per_pkt']:.1f} "
                           "cycles/packet")


class Job(Run):
    """Runs rounds of every row, engines without an interface, and sluice-kv with memcached."""

    def __init__(self, args, flags, hugepages):
        self.flags, self.hugepages = flags, hugepages
        self.samples, self.controls, self.engines, self.comparison = [], [], {}, None
        self.alone = min(args.repeats, ENGINE_REPEATS)
        self.compares = args.peers and "kv" in args.apps
        self.plan = [(app, mode, iface, traffic) for app, mode, traffic in flags
                     for iface in args.ifaces]
        if args.peers and "echo" in args.apps:
            self.plan += [("testpmd", "macswap", name, "64") for name in run.PEERS]
        self.rounds_left = args.repeats
        super().__init__(args)

    @property
    def measured(self):
        return bool(self.samples)

    def costs(self):
        one_round = [START_S + (self.seconds(app) if app in workloads.SECONDS else
                                1 + run.PEER_SECONDS) for app, *_ in self.plan]
        engines = [ENGINE_S] * (self.alone * sum(app in run.ENGINES for app in self.args.apps))
        servers = kv_comparison.count(self.args.ifaces) if self.compares else 0
        return one_round * self.rounds_left + engines + \
            [SERVER_S + self.alone * self.seconds("kv")] * servers

    def measure(self):
        self.run_rounds()
        for app in self.args.apps:
            for _ in range(self.alone if app in run.ENGINES else 0):
                self.engines.setdefault(app, []).append(run.engine_sample(app))
                self.progress.step(f"{app}'s engine alone")
        if self.compares:
            self.comparison = kv_comparison.empty()
            kv_comparison.measure(self.comparison, self.args.ifaces, self.alone,
                                  self.seconds("kv"), self.progress.step)

    def run_rounds(self):
        self.controls.append(run.control())
        began = time.monotonic()
        for number in range(self.args.repeats):
            self.rounds_left = self.args.repeats - number
            if number:
                round_s = (time.monotonic() - began) / number
                fit = max(int((self.deadline - time.monotonic()) // round_s), 0) \
                    if self.args.limit_s else self.rounds_left
                self.rounds_left = min(self.rounds_left, fit)
                self.progress.expect(self.costs())
                if not self.rounds_left:
                    self.progress.say(f"time limit: {number} of {self.args.repeats} rounds")
                    break
            # Reverse every other round, so that neither of two neighbors always runs first.
            for group in self.plan[::-1] if number % 2 else self.plan:
                self.sample(group, number)
            self.controls.append(run.control())

    def sample(self, group, round_number):
        app, mode, iface, traffic = group
        if app == "testpmd":
            report = run.peer_sample(iface, self.hugepages)
        else:
            report = run.app_sample(app, iface, self.flags[app, mode, traffic], self.seconds(app))
        report |= {"app": app, "mode": mode, "iface": iface, "traffic": traffic,
                   "round": round_number}
        self.samples.append(report)
        self.tell(report)


class GrowthJob(Run):
    """Runs rounds of every point of every curve."""

    def __init__(self, args, folder):
        self.folder, self.found, self.bare, self.workers = folder, {}, {}, {}
        super().__init__(args)

    @property
    def measured(self):
        return bool(self.found)

    def costs(self):
        return [START_S + self.seconds(curve.app)
                for curve, *_ in growth.plan(self.args.ifaces)] * self.args.repeats

    def measure(self):
        growth.measure(self.found, self.args.ifaces, self.args.repeats, self.args.duration_s,
                       self.deadline, self.folder, run.app_sample, self.tell)
        self.workers = growth.play_workers(run.program_says)
        self.bare = growth.measure_bare(run.program_says)
