# SPDX-License-Identifier: BSD-3-Clause
"""Pages of our applications: the telemetry command of each page, and the displayed members of its
reply. Commands that change state, such as a drain, are excluded."""
from typing import NamedTuple

from answers import items, number, table

PER_ANSWER = 80   # Entries per reply to a command that accepts the number of the first entry.
MAX_ANSWERS = 16


class AppPage(NamedTuple):
    title: str
    command: str
    columns: tuple       # (title, member of the entry, kind of pages.Table); () shows all counters.
    entry: str = ""      # Title of the column of names; empty if entries are numbered.
    about: str = ""      # The command that lists the page's subjects; the page shows one of them.
    about_member: str = ""   # The member that names a subject; empty: the key.
    counted: bool = False    # The command accepts ,FIRST and returns up to PER_ANSWER entries.


TRAFFIC = (("pps", "pkts", "per_s"), ("Gb/s", "bytes", "gbit_per_s"))
APP_PAGES = (
    AppPage("VIPs", "/sluice/maglev/vips",
            (("address", "address", "text"), ("port", "port", "text"),
             ("proto", "protocol", "text"), ("encap", "encapsulation", "text"),
             ("backends", "backends", "count"), *TRAFFIC, ("failed open", "failed_open", "text")),
            "VIP"),
    AppPage("Backends", "/sluice/maglev/backends",
            (("state", "state", "text"), ("weight", "weight", "count"), *TRAFFIC,
             ("share", "share", "share"), ("slots", "slots", "share"),
             ("connections", "connections", "count")),
            "backend", "/sluice/maglev/vips", counted=True),
    AppPage("Store", "/sluice/kv/stats", ()),
    AppPage("Partitions", "/sluice/kv/partitions",
            (("worker", "worker", "count"), ("items", "items", "count"),
             ("bytes", "item_bytes", "count"), ("evicted/s", "evicted", "per_s"),
             ("refused/s", "refused", "per_s"), ("index", "index_load_percent", "percent"),
             ("memory", "memory_load_percent", "percent")), "partition"),
    AppPage("Filters", "/sluice/logmon/filters",
            (("filter", "name", "text"), ("events", "events", "count"),
             ("events/s", "events", "per_s"))),
    AppPage("Sources", "/sluice/logmon/sources", ()),
    AppPage("Flows", "/sluice/telemetry/top",
            (("flow", "flow", "text"), ("packets", "packets", "count"),
             ("+-", "packets_bound", "count"), ("bytes", "bytes", "count")),
            "", "/sluice/telemetry/epoch", "key"),
    AppPage("Keys", "/sluice/telemetry/epoch",
            (("key", "key", "text"), ("heavy hitters", "heavy_hitters", "count"),
             ("changes", "changes", "count"), ("flows", "distinct_flows", "count"),
             ("entropy, bits", "entropy_bits", "number"))),
    AppPage("Streams", "/sluice/pktgen/streams",
            (("stream", "name", "text"), ("tx pps", "sent_pkts", "per_s"),
             ("Gb/s", "sent_bytes", "gbit_per_s"), ("rx pps", "received_pkts", "per_s"),
             ("unsent", "unsent_pkts", "count"), ("missing", "lost", "count"),
             ("corrupt", "corrupted", "count"), ("twice", "duplicated", "count"),
             ("reorder", "reordered", "count"))),
    AppPage("Policy", "/sluice/sched/stats", ()),
    AppPage("Policies", "/sluice/sched/results",
            (("policy", "policy", "text"), ("mode", "mode", "text"),
             ("requests/s", "requests_per_s", "count"), ("busy", "busy", "share"),
             ("refused", "decisions_refused", "count"), ("preempted", "preemptions", "count"))),
)


def name_of(key, entry):
    """Returns the name of an entry. DPDK restricts the characters of keys, so entries with
    other names contain a member `name`."""
    name = table(entry).get("name")
    return name if isinstance(name, str) else key


def choices_of(page, answer):
    """Returns the subjects of a page from the reply to its `about`."""
    if not page.about_member:
        return [name_of(key, entry) for key, entry in table(answer).items()]
    members = [table(entry).get(page.about_member) for entry in table(answer).values()]
    return [member for member in members if isinstance(member, str)]


def ask_page(ask, page, wish):
    """Returns the reply to a page's command, and (its subject, all possible subjects)."""
    if not page.about:
        return ask(page.command), ("", [])
    choices = choices_of(page, ask(page.about))
    if not choices:
        return None, ("", [])
    about = wish if wish in choices else choices[0]
    if not page.counted:
        return ask(page.command, about), (about, choices)
    found = table(ask(page.command, about))
    for number_of in range(1, MAX_ANSWERS):
        if len(found) < number_of * PER_ANSWER:
            break
        found |= table(ask(page.command, f"{about},{len(found)}"))
    return found, (about, choices)


def entries(page, answer):
    """Returns (name, path, entry) of every entry of a reply that is an object or a list of
    objects."""
    if isinstance(answer, list):
        return [(str(place), (place,), table(entry)) for place, entry in enumerate(items(answer))]
    return [(name_of(key, entry), (key,), entry) for key, entry in table(answer).items()
            if isinstance(entry, dict)]


def counters(answer):
    """Returns (name, path, value) of every number of a reply, one level deep."""
    found = []
    for name, value in table(answer).items():
        inner = [(f"{name}.{part}", (name, part), each) for part, each in value.items()] \
            if isinstance(value, dict) else [(name, (name,), value)]
        found += [one for one in inner if number(one[2]) is not None]
    return found
