# SPDX-License-Identifier: BSD-3-Clause
"""Measures latency over load, as in Figures 6 and 7 of the Ensō paper: sluice-pktgen on a loopback
whose model has a dedicated CPU, so that NIC and worker run in parallel. Latency is measured from a
frame's scheduled departure to the poll that receives it; loads range from 1 % of the fastest series
to each series' saturation."""
import ends
import latency_claims
import rows
import run
from latency_claims import (FEW, FEW_PREFETCHED, PER_PACKET, PERCENTILES, PREFETCHED,
                            STREAMING)
from measurement import START_S, Run

FRAMES = ["--frame_size=64", "--flows=1000", "--settle_s=0.1"]
SECONDS = 0.3  # Duration of a point.
PERCENT = (1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 100)
# Maximum share of frames that are lost. Above it, the load exceeds the capacity.
OVERLOADED = 1e-3
# Device arguments by series. Pipes are small, because a notification for each packet needs a slot
# for each flit. The gain from prefetching depends on the number of pipes.
PIPES = ",pipe_flits=2048,pipes="
NOTIFICATIONS = {STREAMING: "8", PER_PACKET: "8,notify=packet", PREFETCHED: "8,notify=prefetch",
                 FEW: "2", FEW_PREFETCHED: "2,notify=prefetch"}


def variants(listing, ifaces):
    """Returns (interface, device arguments) by the name of the series."""
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
    """Returns the loads of a series in Mpps: shares of the fastest series' saturation up to this
    series' saturation, and that saturation. Thus series can be compared point by point."""
    return [percent / 100 * fastest for percent in PERCENT
            if percent / 100 * fastest < 0.99 * saturation] + [saturation]


def point(report):
    """Returns us by percentile of a run; None if more was offered than carried."""
    [stream] = report["streams"]
    due = stream["sent_pkts"] + stream["unsent_pkts"]
    if stream["received_pkts"] < (1 - OVERLOADED) * due:
        return None
    return {name: stream["latency_ns"][name] / 1e3 for name in PERCENTILES}


class Curves(Run):
    """Measures the saturation of each variant, then rounds of all points of all variants. `found`
    contains the samples by variant and load."""
    KIND = "curves"

    def __init__(self, args, ifaces, hugepages):
        self.variants = variants(run.listing(ends.GENERATOR), ifaces)
        self.hugepages = hugepages
        self.saturation, self.found = {}, {}
        self.eased = []  # For each run at up to HIGH times the saturation: whether the load was
                         # carried.
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
                    f"p50 {found['p50']:.1f} us" if found else "more than the interface carries"))

    def sample(self, name, rate):
        iface, vdev = self.variants[name]
        model_cpu, _ = ends.cpus()
        return ends.generate(vdev, [f"--rate={rate}", f"--duration_s={SECONDS:g}", *FRAMES],
                             self.hugepages, ends.PATIENCE_S, iface=iface, model_cpu=model_cpu)

    def carried(self, name):
        return self.sample(name, "max")["streams"][0]["rx_mpps"]

    def points(self):
        """Returns us by variant, load and percentile. Each is the quartile of the samples next to
        the best one, because noise only adds."""
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
        """Returns a figure for each percentile; the comparison with the paper follows the first."""
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
