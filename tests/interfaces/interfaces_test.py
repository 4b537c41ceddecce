#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""interfaces_test.py NET_IPU NET_ENSO PROGRAM…: public names stay the same, or the version changes.

report.json, params.json and socket.json contain the names and meanings of the last release, by
version. A removal or change requires a higher major version, an addition at least a higher minor
one; `interfaces_test.py --record …` then rewrites the files. tests/library/abi_test.py checks the C
API."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(HERE.parent))
# pylint: disable=wrong-import-position
from harness import MEMORY, PATIENCE_S, free_port, wait_until
from testpmd import pmd_info

ARGUMENTS = [argument for argument in sys.argv[1:] if argument != "--record"]
PLUGINS = ARGUMENTS[:2]
PROGRAMS = {pathlib.Path(path).name.removeprefix("sluice-"): path for path in ARGUMENTS[2:]}

# Arguments that make each program report all of its members, in addition to its interfaces.
SHORT = ("--duration_s=0.3", "--json=-")
RUNS = {
    **{f"echo, {iface}": ("echo", *MEMORY, "--", f"--iface={iface}", *SHORT)
       for iface in ("packetized", "streaming", "bilateral", "coherent")},
    **{app: (app, *MEMORY, "--", *SHORT) for app in ("kv", "logmon", "maglev", "pktgen", "telemetry")},
    "sched": ("sched", *MEMORY, "--", "--policy=fifo_central", "--mode=swap", *SHORT),
    "rpc": ("rpc", *SHORT),
    "rpc, packetized": ("rpc", *MEMORY, "--", "--iface=packetized", *SHORT),
    "chain": ("chain", *SHORT),
    "chain, packetized": ("chain", *MEMORY, "--", "--iface=packetized", *SHORT),
}
# Objects whose names are not part of the report: flags, attributes of a port, nonzero counters.
OPEN = re.compile(r".*: (config|device|wire|nic_drops|runs\[\]\.(host\.statuses|agent\.refused)"
                  r"|stages\[\]\.refused|logmon\.minutes\[\]\.series\[\]\.dimensions)"
                  r"|chain: drops")
# Objects whose names come from a configuration; all have the same members.
NAMED = re.compile(r"maglev: vips(\.\*\.backends)?")


# --- versions and names --------------------------------------------------------------------------

def numbers(version):
    return tuple(map(int, version.split(".")))


def fault(before, now):
    """Returns why the version of `now` does not match the changes since `before`; "" if it does.
    Both are (version, {name: meaning})."""
    (old, meant), (new, means) = before, now
    gone = [name for name in meant if name not in means]
    changed = [name for name in meant if name in means and means[name] != meant[name]]
    added = [name for name in means if name not in meant]
    if gone or changed:
        if numbers(new)[0] > numbers(old)[0]:
            return ""
        return f"{new} after {old}, but gone: {gone}, changed: {changed}: a higher major version"
    if added:
        return "" if numbers(new) > numbers(old) else \
            f"{new} after {old}, but added: {added}: a higher minor version"
    return "" if new == old else f"{new} after {old}, but nothing changed"


# --- the JSON reports ----------------------------------------------------------------------------

def kind(value):
    return {bool: "truth", int: "number", float: "number", str: "text", dict: "object",
            list: "list", type(None): "null"}[type(value)]


def members(value, path):
    """Returns {path: kind} of all members of a report; `path` begins with the program and ": ".
    unit_notes define the meaning of numbers, so their text is the kind."""
    found = {}
    if isinstance(value, list):
        for item in value:
            if isinstance(item, (dict, list)):
                found |= members(item, path + "[]")
    if isinstance(value, dict):
        for name, inner in value.items():
            if re.fullmatch(r"le_\d+", name):  # A nonempty histogram.
                continue
            dot = "" if path.endswith(" ") else "."
            inside = path + dot + ("*" if NAMED.fullmatch(path) else name)
            note = (path + dot).endswith(" unit_notes.") or name == "unit_notes" and \
                isinstance(inner, str)
            found[inside] = inner if note else kind(inner)
            if not OPEN.fullmatch(inside) and not note:
                found |= members(inner, inside)
    return found


def report_of(app, *arguments):
    """Returns the report however the run ended: on a busy machine some programs lose expected
    frames."""
    done = subprocess.run([PROGRAMS[app], *arguments], capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False)
    assert done.returncode in (0, 1) and done.stdout, f"{app} {arguments}: {done.stderr}"
    return json.loads(done.stdout)


def device_report():
    with tempfile.TemporaryDirectory() as folder:
        return report_of("device", *SHORT, f"--socket={folder}/nic.sock")


def client_report():
    """Returns the report of sluice-kv-client, which needs a server: Debian's memcached."""
    port = free_port()
    user = ("-u", "root") if os.geteuid() == 0 else ()
    with subprocess.Popen(["memcached", "-l", "127.0.0.1", "-p", str(port), "-U", str(port), *user],
                          stderr=subprocess.DEVNULL) as server:
        try:
            wait_until(lambda: f":{port:04X} " in pathlib.Path("/proc/net/udp").read_text(),
                       "memcached")
            return report_of("kv-client", f"--server=127.0.0.1:{port}", "--items=10",
                             "--protocol=memcached-binary", *SHORT)
        finally:
            server.terminate()
            server.wait(PATIENCE_S)


# Report members that all programs have in common.
COMMON = {"app", "duration_s", "version", "report_version", "lost"}


def reports():
    """Returns (version, {"member": kind}); each member comes from the program that writes it."""
    written = {name: report_of(*command) for name, command in RUNS.items()}
    written |= {"device": device_report(), "kv-client": client_report()}
    versions = {report["report_version"] for report in written.values()}
    assert len(versions) == 1, versions
    for name, report in written.items():
        assert report["app"] == name.split(",")[0], f"{name}: \"app\" is {report['app']}"
        assert COMMON <= report.keys(), f"{name} lacks {COMMON - report.keys()}"
    return versions.pop(), {path: meaning for name, report in written.items()
                            for path, meaning in members(report, name + ": ").items()}


def without_samples(before, now):
    """Returns `before` without members that the run of `now` lacks by chance: numbers of empty sets
    are null, and an empty list does not show the kind of its items."""
    kept = {}
    for name, meaning in before.items():
        seen = now.get(name)
        if "null" in (seen, meaning) and seen is not None:
            meaning = seen
        empty = any(now.get(name[:at.start()]) == "list" and
                    not any(other.startswith(name[:at.end()]) for other in now)
                    for at in re.finditer(r"\[\]", name))
        if not empty:
            kept[name] = meaning
    return kept


# --- device arguments ----------------------------------------------------------------------------

def params():
    lines = [line for plugin in PLUGINS for line in pmd_info(plugin).values()]
    versions = {line["params_version"] for line in lines}
    assert len(versions) == 1, versions
    return versions.pop(), {f"{line['name']}: {name}": values for line in lines
                            for name, values in (word.split("=", 1)
                                                 for word in line["params"].split())}


# --- the device socket ---------------------------------------------------------------------------

def code(path):
    """Returns a header without comments, with single blanks."""
    text = re.sub(r"//[^\n]*", "", (ROOT / "lib" / path).read_text())
    return re.sub(r"\s+", " ", text)


def layout(text, head):
    """Returns the text between the braces after `head`, without functions."""
    start = text.index("{", text.index(head)) + 1
    depth, end = 1, start
    while depth:
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    return text[start:end - 1].strip()


def socket():
    message, queue, attach = (code(path) for path in ("emulator/message.h", "bar/posted_queue.h",
                                                      "emulator/attach.h"))
    names = {head: layout(message, head) for head in ("enum class Kind", "struct Request",
                                                      "struct Reply", "struct StatisticEntry")}
    names |= {f"PostedQueue, {head}": layout(queue, head) for head in ("struct Entry", "struct Lane")}
    # The members of a queue follow the functions of its class.
    names["PostedQueue"] = re.search(r"std::atomic<uint32_t> link_.*? lanes_;", queue)[0]
    constants = re.findall(r"constexpr [\w:]+ (k\w+) = ([^;]+);", message)
    constants += re.findall(r"constexpr [\w:]+ (kDepth|kLanes) = ([^;]+);", queue)
    constants += re.findall(r"constexpr [\w:]+ (kMaxModelSettings) = ([^;]+);", attach)
    version = dict(constants).pop("kProtocolVersion")
    return version, names | {name: value for name, value in constants if name != "kProtocolVersion"}


# --- comparison ----------------------------------------------------------------------------------

def recorded(name):
    """Returns (version, {name: meaning}) of the last release."""
    text = json.loads((HERE / f"{name}.json").read_text())
    return text["version"], {f"{owner}: {member}" if owner else member: meaning
                             for group in text["groups"] for owner in group["of"]
                             for member, meaning in group["members"].items()}


def record(name, version, names):
    """Writes members with the same owners only once."""
    owners = {}
    for full, meaning in names.items():
        owner, colon, member = full.rpartition(": ") if name != "socket" else ("", "", full)
        owners.setdefault((member, meaning), []).append(owner if colon else "")
    groups = {}
    for (member, meaning), of in owners.items():
        groups.setdefault(tuple(of), {})[member] = meaning
    text = {"version": version, "groups": [{"of": list(of), "members": found}
                                           for of, found in groups.items()]}
    (HERE / f"{name}.json").write_text(json.dumps(text, indent=1) + "\n")


class Interfaces(unittest.TestCase):
    def test_reports(self):
        (old, meant), (new, means) = recorded("report"), reports()
        self.assertGreater(len(meant), 300)
        self.assertEqual(fault((old, without_samples(meant, means)),
                               (new, without_samples(means, meant))), "")

    def test_device_arguments(self):
        self.assertGreater(len(recorded("params")[1]), 20)
        self.assertEqual(fault(recorded("params"), params()), "")

    def test_the_page_has_the_version_of_device_arguments(self):
        [version] = re.findall(r"version (\d+\.\d+)", (ROOT / "docs/devargs.md").read_text())
        self.assertEqual(version, params()[0])

    def test_the_device_socket(self):
        self.assertIn("uint64_t bus", socket()[1]["struct Request"])
        self.assertEqual(fault(recorded("socket"), socket()), "")

    def test_the_changelog_names_the_versions(self):
        sections = (ROOT / "CHANGELOG.md").read_text().split("\n## ")[1:]
        section = sections[0]
        released = [text.split(",")[0] for text in sections if not text.startswith("Unreleased\n")]
        project = re.search(r"version: '([\d.]+)'", (ROOT / "meson.build").read_text())[1]
        self.assertEqual(released[0], project)
        header = (ROOT / "include/sluice/engines.h").read_text()
        api = ".".join(re.search(rf"#define SLUICE_ENGINES_{part} (\d+)", header)[1]
                       for part in ("MAJOR", "MINOR"))
        report = re.search(r'kReportVersion = "([\d.]+)"',
                           (ROOT / "lib/host/report.h").read_text())[1]
        self.assertIn(f"JSON report {report}, device arguments {params()[0]}, C API {api}, "
                      f"device socket {socket()[0]}.", " ".join(section.split()))


class Judgement(unittest.TestCase):
    """Tests the version rules themselves."""
    BEFORE = ("1.4", {"a": "number", "b": "text"})

    def test_cases(self):
        for version, names, fine in (
                ("1.4", {"a": "number", "b": "text"}, True),
                ("1.5", {"a": "number", "b": "text"}, False),
                ("1.4", {"a": "number"}, False), ("1.5", {"a": "number"}, False),
                ("2.0", {"a": "number"}, True),
                ("1.5", {"a": "text", "b": "text"}, False),
                ("2.0", {"a": "text", "b": "text"}, True),
                ("1.4", {"a": "number", "b": "text", "c": "list"}, False),
                ("1.5", {"a": "number", "b": "text", "c": "list"}, True),
                ("1.10", {"a": "number", "b": "text", "c": "list"}, True)):
            with self.subTest(version=version, names=names):
                self.assertEqual(fault(self.BEFORE, (version, names)) == "", fine)

    def test_members_of_a_report(self):
        report = {"app": "x", "drops": {"short": 1}, "config": {"flag": "y"},
                  "runs": [{"name": "a", "bytes": 1.5}], "unit_notes": {"mpps": "10^6 per second"}}
        self.assertEqual(members(report, "x: "), {
            "x: app": "text", "x: drops": "object", "x: drops.short": "number",
            "x: config": "object", "x: runs": "list", "x: runs[].name": "text",
            "x: runs[].bytes": "number", "x: unit_notes": "object",
            "x: unit_notes.mpps": "10^6 per second"})
        vips = {"vips": {name: {"backends": {"one": {"pkts": 1}}} for name in ("a", "b")}}
        self.assertEqual(list(members(vips, "maglev: ")), [
            "maglev: vips", "maglev: vips.*", "maglev: vips.*.backends",
            "maglev: vips.*.backends.*", "maglev: vips.*.backends.*.pkts"])

    def test_an_empty_list_hides_nothing_else(self):
        before = {"list": "list", "list[].name": "text", "gone": "text", "p99": "number"}
        now = {"list": "list", "p99": "null"}
        self.assertEqual(without_samples(before, now), {"list": "list", "gone": "text", "p99": "null"})


if __name__ == "__main__":
    if "--record" in sys.argv:
        record("report", *reports())
        record("params", *params())
        record("socket", *socket())
    else:
        unittest.main(argv=sys.argv[:1])
