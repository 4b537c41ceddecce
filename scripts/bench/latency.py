# SPDX-License-Identifier: BSD-3-Clause
"""Latency against load, as the Ensō paper's Figures 6 and 7: sluice-pktgen on a loopback, whose
model has a CPU of its own, so that NIC and worker run at the same time. From a frame's scheduled
departure to the poll that finds it; loads from 1 % of the fastest to each one's own saturation."""
import ends
import latency_claims
import rows
import run
from latency_claims import (FEW, FEW_PREFETCHED, PER_PACKET, PERCENTILES, PREFETCHED,
                            STREAMING)
from measurement import START_S, Run

FRAMES = ["--frame_size=64", "--flows=1000", "--settle_s=0.1"]
SECONDS = 0.3  # Of a point.
PERCENT = (1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 100)
# Of the frames: beyond it a load is more than was carried.
OVERLOADED = 1e-3
# By series: device arguments. Pipes are small, because a notification for each packet needs a slot
# for each flit of them. Whether prefetching gains depends on their number.
PIPES = ",pipe_flits=2048,pipes="
NOTIFICATIONS = {STREAMING: "8", PER_PACKET: "8,notify=packet", PREFETCHED: "8,notify=prefetch",
                 FEW: "2", FEW_PREFETCHED: "2,notify=prefetch"}


def variants(listing, ifaces):
    """(interface, device arguments) by the name of the series."""
    found = {}
    for each in listing:
        if each["name"] not in ifaces:
            continue
        vdev = f"{each['model']}0,wire=loopback"
        if each["name"] == STREAMING:
            found |= {name: (STREAMING, vdev + PIPES + more)
                      for name, more in NOTIFICATIONS.items()}
        else:
            found[each["name"]] = (each["name"], vdev)
    return found


def loads(saturation, fastest):
    """Mpps of the points of a series: shares of the fastest one's saturation, so that series can be
    compared point by point, as far as its own goes, and that."""
    return [percent / 100 * fastest for percent in PERCENT
            if percent / 100 * fastest < 0.99 * saturation] + [saturation]


def point(report):
    """us by percentile of a run; None if more was offered than carried."""
    [stream] = report["streams"]
    due = stream["sent_pkts"] + stream["unsent_pkts"]
    if stream["received_pkts"] < (1 - OVERLOADED) * due:
        return None
    return {name: stream["latency_ns"][name] / 1e3 for name in PERCENTILES}


class Curves(Run):
    """Saturation of each variant, then rounds of all points of all. `found`: samples by variant and
    load."""
    KIND = "curves"

    def __init__(self, args, ifaces, hugepages):
        self.variants = variants(run.listing(ends.GENERATOR), ifaces)
        self.hugepages = hugepages
        self.saturation, self.found = {}, {}
        self.eased = []  # Of runs at loads that any of them should carry, whether they did.
        super().__init__(args)

    @property
    def measured(self):
        return bool(self.found)

    def costs(self):
        count = len(self.variants)
        return [START_S + SECONDS] * (count + count * len(PERCENT) * self.args.repeats)

    def measure(self):
        for name in self.variants:
            self.saturation[name] = max(self.carried(name) for _ in range(self.args.repeats))
            self.progress.step(f"{name}: {self.saturation[name]:.3f} Mpps at most")
        fastest = max(self.saturation.values())
        plan = [(name, load) for name in self.variants
                for load in loads(self.saturation[name], fastest)]
        self.progress.expect([START_S + SECONDS] * (len(plan) * self.args.repeats))
        for _ in range(self.args.repeats):
            for name, load in plan:
                found = point(self.sample(name, f"{1e6 * load:.0f}"))
                if load <= latency_claims.HIGH * self.saturation[name]:
                    self.eased.append(bool(found))
                if found:
                    self.found.setdefault(name, {}).setdefault(load, []).append(found)
                self.progress.step(f"{name} at {load:.3f} Mpps: " + (
                    f"p50 {found['p50']:.1f} us" if found else "more than it carries"))

    def sample(self, name, rate):
        iface, vdev = self.variants[name]
        model_cpu, _ = ends.cpus()
        return ends.generate(vdev, [f"--rate={rate}", f"--duration_s={SECONDS:g}", *FRAMES],
                             self.hugepages, ends.PATIENCE_S, iface=iface, model_cpu=model_cpu)

    def carried(self, name):
        return self.sample(name, "max")["streams"][0]["rx_mpps"]

    def points(self):
        """us by variant, load and percentile: of the samples of each, the quartile next to the best
        one, as noise only adds."""
        return {name: {load: {each: rows.envelope([sample[each] for sample in samples])["value"]
                              for each in PERCENTILES}
                       for load, samples in sorted(found.items())}
                for name, found in self.found.items()}

    def lines(self):
        points = self.points()
        form = "{:<26} {:>10}" + " {:>10}" * len(PERCENTILES)
        out = [form.format("", "Mpps", *(f"{name}, us" for name in PERCENTILES))]
        for name, found in points.items():
            out += [form.format(name, f"{load:.3f}", *(f"{us[each]:.1f}" for each in PERCENTILES))
                    for load, us in found.items()]
        return out + ["", *self.claims(points)]

    def claims(self, points):
        return latency_claims.lines(points, self.saturation, self.eased)

    def figures(self):
        """A picture for each percentile; what agrees with the paper stands below the first."""
        points = self.points()
        said = " ".join(self.claims(points))

        def series(each):
            return [{"name": name, "points": [[load, us[each]] for load, us in found.items()]}
                    for name, found in points.items()]
        return [{"name": f"Latency against load, 64 bytes, {each}", "origin": "measured",
                 "note": said if each == PERCENTILES[0] else "",
                 "x": {"label": "load", "unit": "Mpps", "log": False},
                 "y": {"label": f"{each} of latency", "unit": "us", "log": True},
                 "series": series(each)}
                for each in PERCENTILES]
