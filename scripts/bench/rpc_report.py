# SPDX-License-Identifier: BSD-3-Clause
"""Formats round trips of a null RPC. Pure functions on the result of rpc_comparison."""
from paired import at_most, cost_ratio
from rows import MAX_UNSETTLED, envelope, spread_text

COHERENT, PACKETIZED = "coherent", "packetized"
SHARE = 0.2  # Maximum ratio of coherent's instructions to packetized's.


def group(samples, path, figure):
    """Returns the samples of one path by round."""
    return {s["round"]: s[figure] for s in samples if s["path"] == path}


def paths_of(samples):
    return list(dict.fromkeys(s["path"] for s in samples))


def compared(samples, ours, theirs, figure="p50"):
    """Returns the paired ratio of our times to theirs; None without a common round."""
    mine, other = (group(samples, path, figure) for path in (ours, theirs))
    both = mine.keys() & other.keys()
    if not both:
        return None
    return cost_ratio(*([times[number] for number in both] for times in (mine, other)))


def is_noisy(samples, path):
    spread = envelope(list(group(samples, path, "p50").values()))
    return spread["value"] > MAX_UNSETTLED * spread["low"]


def lines(samples, counts, line):
    """`line` is the path without an RPC."""
    form = "{:<16}{:>24}{:>28}{:>24}{:>16}"
    out = ["round trip of a null RPC, one at a time: quartile (best..median) of samples, in us",
           form.format("", "p50", "p99", "p50 over coherent", "instructions")]
    for path in paths_of(samples):
        p50, p99 = (spread_text(envelope(list(group(samples, path, figure).values())))
                    for figure in ("p50", "p99"))
        found = compared(samples, path, COHERENT)
        text = spread_text(found) if found and path not in (COHERENT, line) else ""
        count = f"{counts[path]:.0f}" if path in counts else ""
        out.append((form.format(path, p50, p99, text, count)
                    + ("  noisy" if is_noisy(samples, path) else "")).rstrip())
    return out + ["instructions: of the host for each call, without waiting; the kernel's part is "
                  "not counted"]


def verdicts(samples, counts):
    out = []
    for path in paths_of(samples):
        found = compared(samples, COHERENT, path)
        if path == COHERENT or path not in counts or not found:
            continue
        keeps = at_most(found, 1)
        word = "noisy" if keeps is None else "met" if keeps else "NOT MET"
        out.append(f"coherent's p50 at most that of {path}: {spread_text(found)}: {word}")
    if COHERENT in counts and PACKETIZED in counts:
        share = counts[COHERENT] / counts[PACKETIZED]
        out.append(f"coherent's instructions at most {SHARE:g} of {PACKETIZED}'s: {share:.2f}: "
                   + ("met" if share <= SHARE else "NOT MET"))
    return out


def curves(samples):
    """Returns a picture for scripts/report."""
    return [{"name": "Round trip of a null RPC", "origin": "measured",
             "x": {"label": "percentile", "unit": "%", "log": False},
             "y": {"label": "round trip", "unit": "us", "log": True},
             "series": [{"name": path,
                         "points": [[percent, envelope(list(
                             group(samples, path, figure).values()))["value"]]
                                    for percent, figure in ((50, "p50"), (99, "p99"))]}
                        for path in paths_of(samples)]}]
