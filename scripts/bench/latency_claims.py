# SPDX-License-Identifier: BSD-3-Clause
"""What the Ensō paper (OSDI'23) says of its Figures 6 and 7, held against measured curves. The
paper prints no figures of its curves, so claims are judged with the tolerances of
docs/paper_tables.md, rows F6 and F7. Pure."""

PERCENTILES = ("p50", "p99", "p99.9")
STREAMING, PACKETIZED = "streaming", "packetized"
PER_PACKET, PREFETCHED = "streaming, one per packet", "streaming, prefetched"
# With as many pipes as the paper's worker had; the others have eight.
FEW, FEW_PREFETCHED = "streaming, 2 pipes", "streaming, 2 pipes, prefetched"
TWICE = 1.5           # At least; the paper's own ratio is 100 over 50 Gb/s.
GROWS = 1.05          # At least.
LOWER = 1.25          # At least.
COMPARABLE = (0.67, 1.5)
HIGH = 0.9            # Of a saturation: the highest load that is compared.
MOST_FAILED = 0.1     # Of the runs up to there; above it noise is all that was measured.
WHY = {
    "sustains": "the paper's halving is of a PCIe link that a notification for each packet fills; "
                "here it is a store into a cache that both cores share",
    "grows": "the model hears of a stored head in one turn of its loop; across PCIe that takes a "
             "round trip, in which frames wait",
    "lower": "with more than five pipes the model with PCIe sees no gain either (paper_tables, F7b)",
    "lower, 2 pipes": "with PCIe and 2 pipes the model agrees (paper_tables, F7b): what prefetching "
                      "hides is the round trip of a stored head, a cache line between cores here",
    "comparable": "here frames wait for the core that plays the NIC, and the models differ in what "
                  "a frame costs it",
}


def medians(points, name, most):
    """p50 by load, up to HIGH of a saturation."""
    return {load: us["p50"] for load, us in points.get(name, {}).items() if load <= HIGH * most}


def judged(points, saturation):
    """(claim, what was found, whether they agree, the key of WHY) of those that can be judged."""
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
        found.append(("Figure 7: with them latency is comparable to a packetized NIC's",
                      f"{low:.2f}x to {high:.2f}x",
                      COMPARABLE[0] <= low and high <= COMPARABLE[1], "comparable"))
    return found


def common(points, saturation, one, other):
    """p50 of one over the other's, by the loads that both have."""
    most = min(saturation.get(one, 0), saturation.get(other, 0))
    ours, theirs = (medians(points, name, most) for name in (one, other))
    return {load: ours[load] / theirs[load] for load in ours.keys() & theirs.keys()}


def lines(points, saturation, eased=()):
    """Sentences, for the terminal and below the picture. `eased`: of runs at loads up to HIGH of a
    saturation, whether they carried them."""
    failed = sum(not carried for carried in eased)
    if failed > MOST_FAILED * len(eased):
        return [f"Noise: {failed} of {len(eased)} runs at loads up to {HIGH:g} of saturation lost "
                "frames, so nothing is judged."]
    out = []
    for claim, ours, agrees, why in judged(points, saturation):
        out.append(f"{claim}: {ours}: " + ("agrees." if agrees else
                                           f"does not agree: {WHY[why]}."))
    return out or ["Nothing of the paper's Figures 6 and 7 can be judged."]
