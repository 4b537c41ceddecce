# SPDX-License-Identifier: BSD-3-Clause
"""Formats the decisions of a run as sentences: the interface to use on this host, and advice for
workloads without a verdict. Pure functions."""
from decision import ERROR
from rows import device_bound

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def listed(words):
    """Formats "one", "one and two" or "one, two and three"."""
    *front, end = words
    return f"{', '.join(front)} and {end}" if front else end


def workload(decision):
    return f"{decision.mode} {decision.traffic}"


def costs(decision):
    """Returns the worker's cost on each interface in one workload, the chosen ones first."""
    names = list(decision.choice)
    figures = {row["iface"]: f"{row['cycles_per_pkt']:.0f}" for row in decision.rows}
    cost = " costs" if len(names) == 1 else ", which cannot be told apart, cost"
    chosen = (f"{listed(names)}{cost} the {decision.app} worker "
              f"{listed([figures[name] for name in names])} cycles a packet ({workload(decision)})")
    return ", ".join([chosen, *(f"{name} {figure}" for name, figure in figures.items()
                                if name not in names)])


def rates(decision):
    """Compares streaming's rate with packetized's, and names the bottleneck of both."""
    found = {row["iface"]: row for row in decision.rows}
    ratio = found.get("packetized", {}).get("mpps_ratio")
    words = [f"streaming delivers {ratio['value']:.1f} ({ratio['low']:.1f}…{ratio['high']:.1f}) times "
             "packetized's rate"] if ratio else []
    bound = [name for name, row in found.items() if device_bound(row)]
    if bound:
        words.append("the core that plays the NIC limits "
                     + (f"all {NUMBERS[len(bound)]}" if len(bound) == len(found) and
                        2 < len(bound) < len(NUMBERS) else listed(bound)))
    return words


def choices(found):
    """Returns the number of workloads for each choice."""
    counts = {}
    for one in found:
        choice = " or ".join(one.choice) or "no verdict"
        counts[choice] = counts.get(choice, 0) + 1
    return (f"of {len(found)} workloads: " + ", ".join(f"{choice} in {count}"
                                                      for choice, count in counts.items()))


def sentence(app, found):
    """Summarizes the decisions of one application: the first one's figures, and how many agree."""
    example = next((one for one in found if one.choice), None)
    if not example:
        return f"On this host no interface can be chosen for {app}: {found[0].why}."
    words = [f"On this host {costs(example)}", *rates(example)]
    if len(found) > 1:
        words.append(choices(found))
    return "; ".join(words) + "."


def sentences(found):
    """Returns a sentence for each application."""
    by_app = {}
    for one in found:
        by_app.setdefault(one.app, []).append(one)
    return [sentence(app, own) for app, own in by_app.items()]


def error(found):
    """Returns the joint error probability of a page's verdicts."""
    pairs = sum(one.pairs for one in found)
    judged = sum(bool(one.pairs) for one in found)
    verdicts = sum(bool(one.choice) for one in found)
    return (f"{pairs} pairs of interfaces were compared in {judged} workloads. In each workload the "
            f"chance that any order is wrong is at most {100 * ERROR:.0f} %, so of the {verdicts} "
            f"verdicts at most {ERROR * judged:.2f} are expected to be wrong.")


def advice(found):
    """Returns advice for workloads without a verdict; empty if all have one."""
    missing = [one for one in found if not one.choice]
    if not missing:
        return ""
    samples = max((len(row["samples"]) for one in missing for row in one.rows), default=0)
    apps = ",".join(dict.fromkeys(one.app for one in missing))
    where = "; ".join(f"{one.app} {workload(one)} ({one.why})" for one in missing)
    return (f"No verdict: {where}. Repeat with more samples, ./scripts/throughput --apps={apps} "
            f"--repeats={max(2 * samples, 9)} --limit_s=0, after scripts/host_setup check has named "
            "the disturbances of this host.")
