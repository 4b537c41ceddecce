# SPDX-License-Identifier: BSD-3-Clause
"""Formats the comparison of the cable with net_memif. Pure functions on the result of
cable_comparison.measure."""
from paired import ratio
from rows import envelope, spread_text

BASE = "net_memif"
TARGETS = {"packetized": 2, "streaming": 3, "bilateral": 4}  # Minimum ratio to net_memif's rate.
TARGET_BYTES = 64


def group(samples, path, size):
    """Returns the samples of one path and size by round."""
    return {s["round"]: s["mpps"] for s in samples if (s["path"], s["bytes"]) == (path, size)}


def over_memif(samples, path, size):
    """Returns the paired ratio of a path's rates to net_memif's; None without a common round."""
    ours, theirs = (group(samples, which, size) for which in (path, BASE))
    both = ours.keys() & theirs.keys()
    if not both:
        return None
    return ratio(*([rates[number] for number in both] for rates in (ours, theirs)))


def lines(samples):
    sizes = sorted({s["bytes"] for s in samples})
    paths = list(dict.fromkeys(s["path"] for s in samples))
    form = "{:<12}" + "{:>26}{:>20}" * len(sizes)
    heads = [part for size in sizes for part in (f"{size} B, Mpps", "over net_memif")]
    out = ["frames exchanged by two processes, each on one CPU that also runs the model:",
           form.format("", *heads)]
    for path in paths:
        cells = []
        for size in sizes:
            found = over_memif(samples, path, size)
            cells.append(spread_text(envelope(list(group(samples, path, size).values()), max)))
            cells.append(spread_text(found) if found and path != BASE else "")
        out.append(form.format(path, *cells).rstrip())
    return out


def verdicts(samples, hugepages):
    out = []
    for path, least in TARGETS.items():
        text = f"cable, {path}, {TARGET_BYTES} B, at least {least}x net_memif"
        found = over_memif(samples, path, TARGET_BYTES)
        if found is None:
            out.append(f"{text}: not measured in this run")
        elif not hugepages:
            out.append(f"{text}: {spread_text(found)}: no verdict without hugepages")
        else:
            out.append(f"{text}: {spread_text(found)}: "
                       + ("met" if found["value"] >= least else "NOT MET"))
    return out
