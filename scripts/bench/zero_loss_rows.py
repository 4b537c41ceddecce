# SPDX-License-Identifier: BSD-3-Clause
"""Judges the searches of sluice-pktgen: rows of scripts/zero_loss. Pure functions."""
from typing import NamedTuple

# Above this share of the rate of the generator alone, either end could be the bottleneck.
GENERATOR_SHARE = 0.9
NO_FIGURE = {"low_mpps": 0.0, "high_mpps": 0.0, "confidence": 0.0, "trials": 0}


class Alone(NamedTuple):
    """Frames that the generator sends, receives and counts on a loopback."""
    mpps: float   # 0: no verdict.
    limits: bool  # False if the generator fills the line.


def alone_of(found):
    """Parses a search on a loopback."""
    noise = found["verdict"] or found["limit"] == "noise"
    return Alone(0.0 if noise else found["low_pps"] / 1e6, found["limit"] != "line")


def judged(found, alone):
    """Returns the figures of a row, or the reason for none (`verdict`). `found` is the result of a
    search; None if there was no search because the generator alone had no verdict."""
    if found is None:
        return NO_FIGURE | {"verdict": "noise: the generator alone gave no verdict"}
    low, high = found["low_pps"] / 1e6, found["high_pps"] / 1e6
    row = {"low_mpps": low, "high_mpps": high, "confidence": found["confidence"],
           "trials": len(found["trials"])}
    return row | {"verdict": why_none(found, low, high, alone)}


def why_none(found, low, high, alone):
    if found["limit"] == "noise" or found["verdict"]:
        return "noise: " + (found["verdict"].removeprefix("none: ")
                            or "trials contradict each other")
    if found["limit"] == "generator" or alone.limits and high > GENERATOR_SHARE * alone.mpps:
        return (f"the generator was the limit: at least {low:.3f} Mpps; alone, the generator "
                f"carries {alone.mpps:.3f}")
    return "" if low else "frames were lost at every rate"


def figure(row):
    return f"{row['low_mpps']:.3f}..{row['high_mpps']:.3f}"


def words(row):
    """Formats one row for the progress output."""
    return (f"{row['app']} {row['iface']} {row['traffic']}, loss up to {row['loss_percent']:g} %: "
            + (row["verdict"] or figure(row) + " Mpps"))


def lines(rows):
    """Returns a line for each row; NDR is the rate without loss, PDR the rate with the given
    loss."""
    form = "{:<10} {:<12} {:<12} {:<13} {:>16} {:>11} {:>7} {:>16}  {}"
    out = [form.format("app", "traffic", "iface", "rate", "Mpps", "confidence", "trials",
                       "generator alone", "no verdict because").rstrip()]
    for row in rows:
        loss = row["loss_percent"]
        shown = not row["verdict"]
        out.append(form.format(
            row["app"], row["traffic"], row["iface"],
            f"PDR, {loss:g} %" if loss else "NDR", figure(row) if shown else "-",
            f"{100 * row['confidence']:.0f} %" if shown else "-", row["trials"],
            f"{row['generator_mpps']:.3f}", row["verdict"]).rstrip())
    return out
