# SPDX-License-Identifier: BSD-3-Clause
"""Figures of two snapshots: the growth of counters and their rates. Pure functions."""
import re

from answers import items, number, table
from app_pages import name_of

# The last part of a counter's name is its unit. A counter without a unit counts drops
# (lib/nic/queue_counters.h).
UNITS = ("_pkts", "_bytes", "_cycles", "_ms", "_flits", "_s", "_ns")
PORT_DROPS = ("imissed", "ierrors", "oerrors", "rx_nombuf")
DROP_WORDS = re.compile(r"drop|discard|miss|error|fail|full|lost|nombuf|no_mbuf|desync", re.I)
LAYER_1_BYTES = 24  # FCS, preamble and inter-frame gap, which DPDK's byte counters exclude.
MAX_QUEUES = 256


def rate(before, now, seconds):
    """Returns the growth per second; None if it is unknown, or if the counter was reset."""
    before, now = number(before), number(now)
    if before is None or now is None or seconds is None or seconds <= 0 or now < before:
        return None
    return (now - before) / seconds


def seconds_between(before, now):
    return now.time_s - before.time_s if before else None


class Pair:
    """Two snapshots of one process; `before` may be None."""

    def __init__(self, before, now):
        self.before, self.now, self.seconds = before, now, seconds_between(before, now)

    def port(self, port, what, name):
        """Returns (total, per second) of a counter of a port."""
        now = self.now.ports.get(port, {}).get(what, {}).get(name)
        before = self.before and self.before.ports.get(port, {}).get(what, {}).get(name)
        return number(now), rate(before, now, self.seconds)

    def sluice(self, name):
        """Returns (total, per second) of a counter of /sluice/stats."""
        now, before = self.now.sluice.get(name), self.before and self.before.sluice.get(name)
        return number(now), rate(before, now, self.seconds)

    def page(self, command, *path):
        """Returns (total, per second) of a number in a reply of the application; `path` consists of
        names and list indices."""
        now = dig(self.now.pages.get(command), path)
        before = self.before and dig(self.before.pages.get(command), path)
        return number(now), rate(before, now, self.seconds)


def dig(value, path):
    for step in path:
        if isinstance(value, list):
            value = value[step] if isinstance(step, int) and step < len(value) else None
        else:
            value = table(value).get(step)
    return value


def gigabits(pkts, octets):
    """Returns the rate at layer 1 in Gb/s; None if an argument is unknown."""
    return None if pkts is None or octets is None else (octets + LAYER_1_BYTES * pkts) * 8 / 1e9


def busy_share(pair):
    """Returns the busy fraction of the workers' time, 0 to 1. Other programs than ours have lcores
    instead of workers. Returns None if their DPDK is too old to count busy cycles."""
    _, busy = pair.sluice("busy_cycles")
    _, total = pair.sluice("total_cycles")
    if total is None:
        busy, total = (usage_rate(pair, name) for name in ("busy_cycles", "total_cycles"))
    return min(busy / total, 1) if total and busy is not None else None


def usage_rate(pair, name):
    """Returns a rate of /eal/lcore/usage, summed over lcores."""
    def summed(snapshot):
        values = list(map(number, items(snapshot.lcores.get(name)))) if snapshot else []
        return sum(values) if values and None not in values else None
    return rate(summed(pair.before), summed(pair.now), pair.seconds)


def drops(pair):
    """Returns (reason, the module that counts it, total, per second) for all drops so far."""
    found = []
    for name in pair.now.sluice:
        if name.endswith(UNITS):
            continue
        kind = "app" if name.startswith("drop_") else "NIC" if name.startswith("nic_drop_") \
            else "queue"
        found.append((name.removeprefix("nic_").removeprefix("drop_"), kind, *pair.sluice(name)))
    for port, answered in pair.now.ports.items():
        for name in PORT_DROPS:
            if name in answered.get("stats", {}):
                found.append((name, f"port {port}", *pair.port(port, "stats", name)))
        for name in answered.get("xstats", {}):
            if DROP_WORDS.search(name):
                found.append((name, f"port {port}", *pair.port(port, "xstats", name)))
    return [one for one in found if one[2]]


def queues(pair, port):
    """Returns (number, received per second, sent per second, total received) of a port's queues
    that exist, or have received or sent a packet."""
    answered = pair.now.ports.get(port, {})
    received = items(answered.get("stats", {}).get("q_ipackets"))[:MAX_QUEUES]
    configured = number(answered.get("info", {}).get("nb_rx_queues")) or 0
    before = pair.before and pair.before.ports.get(port, {}).get("stats", {})

    def of(name, queue):
        now = items(answered["stats"].get(name))
        then = items(table(before).get(name))
        return rate(then[queue] if queue < len(then) else None,
                    now[queue] if queue < len(now) else None, pair.seconds)
    return [(queue, of("q_ipackets", queue), of("q_opackets", queue), number(total))
            for queue, total in enumerate(received) if queue < configured or number(total)]


def imbalance(rates):
    """Returns the rate of the busiest queue divided by the mean rate; None if no packets arrive."""
    known = [one for one in rates if one is not None]
    return max(known) * len(known) / sum(known) if known and sum(known) else None


def latencies(snapshot):
    """Returns for each name the known ones of count, mean, p50, p99, p999 and max (ns), and
    `buckets`: (upper bound, count) in order. The sources are objects in replies with p50_ns or
    buckets, and xstats like NAME_p50_ns."""
    found = {}
    for command, answer in snapshot.pages.items():
        for name, value in table(answer).items():
            if isinstance(value, dict) and ("p50_ns" in value or bucket_names(value)):
                of = {part.removesuffix("_ns"): number(value.get(part)) for part in
                      ("count", "mean_ns", "p50_ns", "p99_ns", "p999_ns", "max_ns")}
                buckets = sorted((int(bound[3:]), number(value[bound]) or 0)
                                 for bound in bucket_names(value))
                known = found.setdefault(f"{command.split('/')[2]} {name_of(name, value)}", {})
                known |= {part: x for part, x in of.items() if x is not None}
                if buckets:
                    known["buckets"] = buckets
    for port, answered in snapshot.ports.items():
        for name, value in answered.get("xstats", {}).items():
            if match := re.fullmatch(r"(.+)_(p50|p99|p999|max)_ns", name):
                found.setdefault(f"port {port} {match[1]}", {})[match[2]] = number(value)
    return found


def bucket_names(value):
    """Returns the members le_NANOSECONDS. Each counts the values up to this bound and above the
    previous bound."""
    return [name for name in value if re.fullmatch(r"le_\d{1,20}", name)]
