# SPDX-License-Identifier: BSD-3-Clause
"""Builds Sluice and finds the highest rates that applications forward without loss.

Runs each application on each interface at one end of a cable, and sluice-pktgen at the other end.
docs/zero_loss.md explains the table.
"""
import os
import sys
import tempfile

import accuracy
import ending
import ends
import host
import latency
import output
import run
import under_test
import zero_loss_rows
from ending import MEASURED, PAGE
from measurement import Run
from report import Parser

PROGRAM = "zero_loss"
SETTLE_S = 0.2  # A cable delays frames for less than this.
SEARCH_TRIALS = (22, 15)  # Numbers of full trials and of probes in a typical search.
MOST_TRIALS = 200
PROBES = 5  # A trial is as long as this many probes.
LINE = ["--line_gbps=100"]
ALONE = ["--precision_percent=5"]  # A coarse precision suffices, because verdicts are given only
                                   # below 0.9 times the rate of the generator alone.
ANY_MAC = "02:00:00:00:00:01"  # A loopback accepts any address.


def parse_arguments():
    parser = Parser(prog=PROGRAM, description=__doc__.splitlines()[0])
    comma = lambda text: [part for part in text.split(",") if part]
    parser.add_argument("--app", type=comma, default=["echo"],
                        help=f"applications to test: {','.join(under_test.FLAGS)}, or all; "
                        "default: echo")
    parser.add_argument("--iface", type=comma, default=["all"],
                        help="interfaces to test; default: all; sluice-echo --list=interfaces "
                        "prints them")
    parser.add_argument("--frame_size", default="64",
                        help="frame size: 64 to 1518, imix or random; kv ignores it; default: 64, "
                        "1518 for logmon")
    parser.add_argument("--trial_s", type=float, default=2,
                        help="seconds of a trial that decides; RFC 2544 requires 60; default: 2")
    parser.add_argument("--precision_percent", type=float, default=1,
                        help="width of the interval of a rate, in percent; default: 1")
    parser.add_argument("--loss_percent", type=float, default=0.5,
                        help="loss that the partial drop rate (PDR) allows; 0: measure only the "
                        "rate without loss; default: 0.5")
    parser.add_argument("--latency", action="store_true",
                        help="instead of the rates, measure latency by load of each interface, "
                        "from 1 %% of saturation to saturation, as the Ensō paper's Figures 6 and "
                        "7; --repeats applies")
    parser.add_argument("--accuracy", action="store_true",
                        help="instead of the rates, measure how exact the generator's rates and "
                        "gaps are, by the clock of a receiver")
    parser.add_argument("--repeats", type=int, default=5,
                        help="with --latency: runs of each point; default: 5")
    parser.add_argument("--json", metavar="FILE",
                        help="file of the results; default: zero_loss.json, or latency.json, in "
                        f"{MEASURED}, where scripts/report finds them")
    parser.add_argument("--page", metavar="FILE", default=PAGE,
                        help="HTML page of all results in the default folder of --json, with "
                        f"this run; 'none' omits it; default: {PAGE}")
    args = parser.parse_args()
    check(parser, args)
    args.limit_s = 0
    return args


def check(parser, args):
    size = args.frame_size
    if size not in ("imix", "random") and not (size.isdigit() and 64 <= int(size) <= 1518):
        parser.error(f"--frame_size={size}: give 64 to 1518, imix or random")
    if args.app == ["all"]:
        args.app = list(under_test.FLAGS)
    for app in args.app:
        if app not in under_test.FLAGS:
            parser.error(f"--app={app}: give some of {','.join(under_test.FLAGS)}, or all")
    if "logmon" in args.app and not size.isdigit():
        parser.error(f"--frame_size={size}: give logmon one size, 64 to 1518")
    for name, least, most in (("trial_s", 0.1, 3600), ("precision_percent", 0.1, 50),
                              ("loss_percent", 0, 50), ("repeats", 1, 1000)):
        value = getattr(args, name)
        if not least <= value <= most:
            parser.error(f"--{name}={value:g}: give {least:g} to {most:g}")
    if args.latency and args.accuracy:
        parser.error("--accuracy conflicts with --latency: omit one of them")
    ending.check_files(parser, args, ("json", "page"))
    args.json = args.json or f"{MEASURED}/{'latency' if args.latency else 'zero_loss'}.json"


def chosen(asked, known):
    """Returns the interfaces to measure."""
    if asked == ["all"]:
        return list(known)
    for name in asked:
        if name not in known:
            print(f"zero_loss: --iface={name}: give some of {','.join(known)}, or all",
                  file=sys.stderr)
            sys.exit(2)
    return asked


class Searches(Run):
    """Measures the generator alone, then each application on each interface. `wire` adds device
    arguments at the application's end."""
    KIND = "zero_loss"  # The kind of the file (docs/report.md).

    def __init__(self, args, ifaces, hugepages, wire=""):
        self.ifaces, self.hugepages, self.wire, self.rows = ifaces, hugepages, wire, []
        self.losses = [0.0] + [args.loss_percent] * (args.loss_percent > 0)
        super().__init__(args)

    @property
    def measured(self):
        return bool(self.rows)

    @property
    def concluded(self):
        return any(not row["verdict"] for row in self.rows)

    def costs(self):
        full, probes = SEARCH_TRIALS
        search = full * (self.args.trial_s + SETTLE_S) + \
            probes * (self.args.trial_s / PROBES + SETTLE_S)
        return [search] * (len(self.args.app) * (1 + len(self.ifaces) * len(self.losses)))

    def measure(self):
        for app in self.args.app:
            alone = self.generator_alone(app)
            for iface in self.ifaces:
                self.search(app, iface, alone)

    def lines(self):
        return zero_loss_rows.lines(self.rows)

    def figures(self):
        return self.rows

    def size(self, app):
        return "1518" if (app, self.args.frame_size) == ("logmon", "64") else self.args.frame_size

    def search_flags(self, loss=0.0, generator_mpps=0.0):
        args = self.args
        return ["--rfc2544=throughput", f"--trial_s={args.trial_s:g}",
                f"--probe_s={args.trial_s / PROBES:g}", f"--settle_s={SETTLE_S:g}",
                f"--precision_percent={args.precision_percent:g}", f"--loss_percent={loss:g}",
                f"--generator_mpps={generator_mpps:g}", *LINE]

    def generate(self, vdev, flags):
        """Returns the generator's report."""
        patience_s = MOST_TRIALS * (self.args.trial_s + 2 * SETTLE_S + 1)
        return ends.generate(vdev, flags, self.hugepages, patience_s)

    def offer(self, app, iface, flags):
        """Returns the generator's report with an application at the other end."""
        model = ends.models(ends.GENERATOR)[ends.GENERATOR_IFACE]
        with tempfile.TemporaryDirectory() as folder, \
                ends.device(app, iface, under_test.FLAGS[app](folder), self.hugepages, folder,
                            self.wire) as device:
            traffic = under_test.offered(app, device.mac, self.size(app), folder)
            return self.generate(ends.cable(model, folder), [*flags, *traffic])

    def generator_alone(self, app):
        """Returns the generator's report for the same frames on a loopback."""
        model = ends.models(ends.GENERATOR)[ends.GENERATOR_IFACE]
        with tempfile.TemporaryDirectory() as folder:
            traffic = under_test.offered(app, ANY_MAC, self.size(app), folder)
            found = self.generate(f"{model}0,wire=loopback,device_cpu=worker,pause=off",
                                  [*self.search_flags(), *ALONE, *traffic])
        alone = zero_loss_rows.alone_of(found["rfc2544"])
        self.progress.step(f"the generator alone: {alone.mpps:.3f} Mpps" if alone.mpps else
                           "the generator alone: no verdict")
        return alone

    def search(self, app, iface, alone):
        for loss in self.losses:
            row = {"app": app, "iface": iface,
                   "traffic": under_test.traffic(app, self.size(app)), "origin": "measured",
                   "loss_percent": loss, "generator_mpps": alone.mpps}
            found = self.offer(app, iface, self.search_flags(loss, alone.limits * alone.mpps))["rfc2544"] \
                if alone.mpps else None
            self.rows.append(row | zero_loss_rows.judged(found, alone))
            self.progress.step(zero_loss_rows.words(self.rows[-1]))


def main():
    args = parse_arguments()
    os.chdir(host.ROOT)
    apps = ["echo"] if args.accuracy else [] if args.latency else args.app
    hugepages = host.prepare([f"apps/{app}/sluice-{app}" for app in (*apps, ends.GENERATOR)])
    if args.accuracy:
        return accuracy.main(hugepages)
    ifaces = chosen(args.iface, run.interfaces(ends.GENERATOR))
    job = latency.Curves(args, ifaces, hugepages) if args.latency else \
        Searches(args, ifaces, hugepages)
    job.run()
    if job.measured:
        tell(args, host.manifest_of(hugepages) | {"stopped": job.stopped}, job)
    return ending.ended(PROGRAM, args, job)


def tell(args, manifest, job):
    """Prints the results, and writes them to the folder that scripts/report reads."""
    print(f"\n{manifest['cpu']}, {manifest['cpus']} CPUs, DPDK {manifest['dpdk']}, "
          f"{'hugepages' if manifest['hugepages'] else 'NO HUGEPAGES'}, {manifest['git'][:12]}\n")
    print("\n".join(job.lines()))
    output.write_json(args.json, manifest, job.figures(), job.KIND)
    ending.print_written(PROGRAM, args, [args.json])


if __name__ == "__main__":
    ending.run_main(PROGRAM, main)
