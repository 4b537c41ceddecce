# SPDX-License-Identifier: BSD-3-Clause
"""Compares claims of the Ensō paper (OSDI'23) about its Figures 6 and 7 with measured curves. The
paper prints no numbers for its curves, so claims are judged with the tolerances of
docs/paper_tables.md, rows F6 and F7. Pure functions."""

PERCENTILES = ("p50", "p99", "p99.9")
STREAMING, PACKETIZED = "streaming", "packetized"
PER_PACKET, PREFETCHED = "streaming, one per packet", "streaming, prefetched"
# The paper's worker had two pipes; the other series have eight.
FEW, FEW_PREFETCHED = "streaming, 2 pipes", "streaming, 2 pipes, prefetched"
TWICE = 1.5           # Minimum ratio; the paper's rates are 100 and 50 Gb/s.
GROWS = 1.05          # Minimum.
LOWER = 1.25          # Minimum.
COMPARABLE = (0.67, 1.5)
HIGH = 0.9            # Highest compared load, as a share of the saturation.
MOST_FAILED = 0.1     # Maximum share of overloaded runs at up to HIGH times the saturation; above
                      # it, the curves are noise.
WHY = {
    "sustains": "in the paper, a notification for each packet fills the PCIe link; here a "
                "notification is a store into a cache that both cores share",
    "grows": "the model reads a stored head within one turn of its loop; across PCIe, this read "
             "needs a round trip, in which frames wait",
    "lower": "with more than five pipes the model with PCIe sees no gain either (paper_tables, F7b)",
    "lower, 2 pipes": "with PCIe and 2 pipes the model agrees (paper_tables, F7b): prefetching "
                      "hides the round trip of a stored head, which is a cache line between cores "
                      "here",
    "comparable": "here frames wait for the core that plays the NIC, and the cost of a "
                  "frame on that core differs between the models",
}


def medians(points, name, most):
    """Returns p50 by load, up to HIGH of a saturation."""
    return {load: us["p50"] for load, us in points.get(name, {}).items() if load <= HIGH * most}


def judged(points, saturation):
    """Returns (claim, finding, agreement, key of WHY) for each claim that can be judged."""
    found = []
    if STREAMING in saturation and PER_PACKET in saturation:
        ratio = saturation[STREAMING] / saturation[PER_PACKET]
        found.append(("Figure 6: reactive notifications sustain twice the load of one per packet",
                      f"{ratio:.2f}x", ratio >= TWICE, "sustains"))
    if own := medians(points, STREAMING, saturation.get(STREAMING, 0)):
        ratio = own[max(own)] / own[min(own)]
        if max(own) > min(own):
            found.append(("Figure 6: latency of reactive notifications grows with load",
                          f"{ratio:.2f}x from {min(own):.2f} to {max(own):.2f} Mpps",
                          ratio >= GROWS, "grows"))
    for pipes, key, one, other in ((8, "lower", STREAMING, PREFETCHED),
                                   (2, "lower, 2 pipes", FEW, FEW_PREFETCHED)):
        both = common(points, saturation, one, other)
        if both:
            load, ratio = max(both.items())
            found.append((f"Figure 7: prefetched notifications are significantly faster under load, "
                          f"{pipes} pipes", f"{ratio:.2f}x at {load:.2f} Mpps", ratio >= LOWER, key))
    both = common(points, saturation, PREFETCHED, PACKETIZED)
    if both:
        low, high = min(both.values()), max(both.values())
        found.append(("Figure 7: with prefetched notifications, latency is comparable to a "
                      "packetized NIC's",
                      f"{low:.2f}x to {high:.2f}x",
                      COMPARABLE[0] <= low and high <= COMPARABLE[1], "comparable"))
    return found


def common(points, saturation, one, other):
    """Returns p50 of one series over the other's, by common load."""
    most = min(saturation.get(one, 0), saturation.get(other, 0))
    ours, theirs = (medians(points, name, most) for name in (one, other))
    return {load: ours[load] / theirs[load] for load in ours.keys() & theirs.keys()}


def lines(points, saturation, eased=()):
    """Returns sentences for the terminal and for the page. `eased`: for runs at loads up to HIGH of
    a saturation, True if they carried the load."""
    failed = sum(not carried for carried in eased)
    if failed > MOST_FAILED * len(eased):
        return [f"Noise: {failed} of {len(eased)} runs at loads up to {HIGH:g} of saturation lost "
                "frames, so there is no verdict."]
    out = []
    for claim, ours, agrees, why in judged(points, saturation):
        out.append(f"{claim}: {ours}: " + ("agrees." if agrees else
                                           f"does not agree: {WHY[why]}."))
    return out or ["Nothing of the paper's Figures 6 and 7 can be judged."]
