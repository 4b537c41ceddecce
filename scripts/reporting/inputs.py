# SPDX-License-Identifier: BSD-3-Clause
"""Reads files of measurements: identifies the kind, and checks that the members for the page are
present. docs/report.md describes the kinds; other members are ignored."""
import json
import math
import os
import re

THROUGHPUT, GROWTH, PAPER, CURVES, ZERO_LOSS, CARD = (
    "throughput", "growth", "paper tables", "curves", "zero loss", "card")
NUMBER = (int, float)
MAX_BYTES = 1 << 28
LEAST, MOST = 1e-30, 1e30  # Limits on numbers, so that derived values stay finite.
ORIGINS = ("measured", "simulated")


class BadInput(Exception):
    """One line with the file, the place in it, and the fault."""


def kind_of(data):
    """Returns the kind by the members; None for unknown files."""
    if not isinstance(data, dict):
        return None
    if isinstance(data.get("curves"), list):
        return CURVES
    if isinstance(data.get("zero_loss"), list):
        return ZERO_LOSS
    if isinstance(data.get("card"), list):
        return CARD
    rows = data.get("rows")
    if not isinstance(rows, list) or not rows or not isinstance(rows[0], dict):
        return None
    if "inputs" in data:
        return PAPER
    if "axis" in rows[0]:
        return GROWTH
    return THROUGHPUT if "cycles_per_pkt" in rows[0] else None


def need(thing, members, where):
    """Checks types: a dict gives members by name, a list of one the type of items, a tuple of
    strings the permitted values. Numbers must be finite."""
    if isinstance(members, dict):
        if not isinstance(thing, dict):
            raise BadInput(f"{where} is not an object")
        for name, member in members.items():
            if name not in thing:
                raise BadInput(f"{where} has no '{name}'")
            need(thing[name], member, f"{where}, {name}")
    elif isinstance(members, list):
        if not isinstance(thing, list):
            raise BadInput(f"{where} is not a list")
        for number, item in enumerate(thing):
            need(item, members[0], f"{where} {number}")
    elif isinstance(members, tuple) and isinstance(members[0], str):
        if thing not in members:
            raise BadInput(f"{where} is not one of {', '.join(members)}")
    elif isinstance(thing, bool) and bool not in (members if isinstance(members, tuple)
                                                  else (members,)) \
            or not isinstance(thing, members):
        raise BadInput(f"{where} has a wrong type")
    elif isinstance(thing, float) and not math.isfinite(thing):
        raise BadInput(f"{where} is not a finite number")


def check_values(data, where):
    """Checks that numbers in a file can be computed with, and that texts can be written."""
    left = [data]
    while left:
        thing = left.pop()
        if isinstance(thing, dict):
            left += [*thing, *thing.values()]
        elif isinstance(thing, list):
            left += thing
        elif isinstance(thing, str):
            if any("\ud800" <= letter <= "\udfff" for letter in thing):
                raise BadInput(f"{where} has an incomplete character (a surrogate)")
        elif isinstance(thing, NUMBER) and thing != 0 and not LEAST <= abs(thing) <= MOST:
            raise BadInput(f"{where} has a number that is not between {LEAST:g} and {MOST:g}")


# Rows are rebuilt from their samples.
SAMPLE = {"app": str, "mode": str, "iface": str, "traffic": str, "round": int, "duration_s": NUMBER,
          "cycles_per_pkt": NUMBER, "mpps": NUMBER, "gbps": NUMBER}
# Results of one point on a card.
CARD_POINT = {"iface": str, "traffic": str, "workers": int, "mpps": NUMBER, "gbps": NUMBER,
              "setting": str, "batch": int, "message_pkts": (*NUMBER, type(None)), "latency_us": dict}
AXIS = {"label": str, "unit": str, "log": bool}
MEMBERS = {
    THROUGHPUT: {
        "manifest": {"cpu": str, "hugepages": bool, "git": str, "date": str, "dpdk": str,
                     "kernel": str, "controls": [{"stream_cycles": NUMBER,
                                                  "ping_pong_cycles": NUMBER}]},
        "rows": [{"app": str, "mode": str, "iface": str, "traffic": str, "verdict": str,
                  "cycles_per_pkt": NUMBER, "mpps": NUMBER, "gbps": NUMBER,
                  "samples": [SAMPLE]}]},
    GROWTH: {"manifest": {"cpu": str, "hugepages": bool, "git": str, "date": str, "dpdk": str,
                          "kernel": str},
             "rows": [{"app": str, "axis": str, "iface": str, "points": dict}]},
    PAPER: {"rows": [dict], "inputs": [dict]},
    CURVES: {"manifest": {"cpu": str, "git": str, "date": str},
             "curves": [{"name": str, "origin": ORIGINS, "x": AXIS, "y": AXIS,
                         "series": [{"name": str, "points": [[NUMBER]]}]}]},
    ZERO_LOSS: {"manifest": {"cpu": str, "git": str, "date": str},
                "zero_loss": [{"app": str, "iface": str, "traffic": str, "verdict": str,
                               "origin": ORIGINS, "loss_percent": NUMBER,
                               "low_mpps": NUMBER, "high_mpps": NUMBER,
                               "confidence": NUMBER}]},
    CARD: {"manifest": {"cpu": str, "git": str, "date": str, "hugepages": bool,
                        "device": {"on": str, "about": str},
                        "latency": [CARD_POINT | {"offered_mpps": NUMBER}],
                        "omitted": [{"point": str, "reason": str}]},
           "card": [CARD_POINT | {"app": str, "mode": str, "verdict": str, "worker_busy": NUMBER,
                                  "cycles_per_pkt": NUMBER, "link_bytes": dict,
                                  "link_gbps": dict, "nvml": dict, "samples": [SAMPLE]}]},
}


def read(path):
    """Returns (kind, data) of a file."""
    try:
        with open(path, encoding="utf-8") as file:
            # read() allocates its whole argument in advance, so do not request more than the file's
            # size.
            text = file.read(min(os.fstat(file.fileno()).st_size or MAX_BYTES, MAX_BYTES) + 1)
        if len(text) > MAX_BYTES:
            raise BadInput(f"{path}: larger than {MAX_BYTES >> 20} MiB")
        data = json.loads(text)
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: no JSON: {error}") from error
    kind = kind_of(data)
    if kind is None:
        raise BadInput(f"{path}: not a file of scripts/throughput, scripts/paper_tables or another "
                       "kind that docs/report.md describes")
    need(data, MEMBERS[kind], f"{path}: file")
    check_values(data, f"{path}: file")
    if kind == CURVES:
        check_points(data["curves"], path)
    if kind == GROWTH:
        for row in data["rows"]:
            where = f"{path}: {row['app']} by {row['axis']}"
            need(list(row["points"].values()), [[{"cycles_per_pkt": NUMBER}]], where)
            if wrong := [point for point in row["points"]
                         if not re.fullmatch("[1-9][0-9]{0,29}", point)]:
                raise BadInput(f"{where}: '{wrong[0][:20]}' is not a point")
    return kind, data


def check_points(curves, path):
    """Checks that points are two numbers that are at least 0, and above 0 on a logarithmic axis."""
    for curve in curves:
        for series in curve["series"]:
            for point in series["points"]:
                where = f"{path}: {curve['name']}, {series['name']}, point {point}"
                if len(point) != 2:
                    raise BadInput(f"{where} is not [x, y]")
                if any(value < 0 or axis["log"] and value == 0
                       for axis, value in zip((curve["x"], curve["y"]), point)):
                    raise BadInput(f"{where} is below 0, or 0 on a logarithmic axis")
