# SPDX-License-Identifier: BSD-3-Clause
"""Answers of a process that nobody vouches for: bounded, and of printable ASCII alone, before
anything else sees them."""
import json
import math

MAX_TEXT = 200
MAX_ITEMS = 4096
MAX_DEPTH = 4
MAX_NUMBER = 1 << 64


class BadAnswer(Exception):
    """It is not what DPDK's telemetry answers."""


def printable(text):
    """? stands for everything else, escape sequences and wide characters included."""
    return "".join(c if " " <= c <= "~" else "?" for c in text[:MAX_TEXT])


def clean(value, depth=0):
    """Numbers, texts, lists and objects within the limits; None stands for what is not."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, (int, float)):
        return value if math.isfinite(value) and abs(value) <= MAX_NUMBER else None
    if depth == MAX_DEPTH:
        return None
    if isinstance(value, list):
        return [clean(item, depth + 1) for item in value[:MAX_ITEMS]]
    return {printable(name): clean(item, depth + 1)
            for name, item in list(value.items())[:MAX_ITEMS]}


def read(message):
    """A message's JSON, cleaned."""
    try:
        return clean(json.loads(message))
    except (ValueError, RecursionError, OverflowError) as error:
        raise BadAnswer("no JSON") from error


def number(value):
    """What DPDK can only carry as text is a number, too; None of anything else."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if math.isfinite(value) else None


def table(value):
    """An object, whatever came."""
    return value if isinstance(value, dict) else {}


def items(value):
    """A list, whatever came."""
    return value if isinstance(value, list) else []
