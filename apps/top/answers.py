# SPDX-License-Identifier: BSD-3-Clause
"""Replies of an untrusted process: bounded in size and limited to printable ASCII before other code
sees them."""
import json
import math

MAX_TEXT = 200
MAX_ITEMS = 4096
MAX_DEPTH = 4
MAX_NUMBER = 1 << 64


class BadAnswer(Exception):
    """The reply does not have the format of DPDK's telemetry."""


def printable(text):
    """Returns the first MAX_TEXT characters. Characters that are not printable ASCII become ?."""
    return "".join(c if " " <= c <= "~" else "?" for c in text[:MAX_TEXT])


def clean(value, depth=0):
    """Truncates texts, lists and objects to the limits. Returns None for numbers that are too large
    or not finite, and for lists and objects below MAX_DEPTH."""
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
    """Parses and cleans the JSON of a message."""
    try:
        return clean(json.loads(message))
    except (ValueError, RecursionError, OverflowError) as error:
        raise BadAnswer("not JSON") from error


def number(value):
    """Converts numbers, including those that DPDK can only send as text; None for everything
    else."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if math.isfinite(value) else None


def table(value):
    """Returns the value if it is an object, otherwise an empty one."""
    return value if isinstance(value, dict) else {}


def items(value):
    """Returns the value if it is a list, otherwise an empty one."""
    return value if isinstance(value, list) else []
