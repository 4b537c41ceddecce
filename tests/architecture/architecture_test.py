#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the layers of docs/architecture.md against the #include lines. A dependency in the wrong
direction fails and names the file and line. Also checks that each file has its licence, and that no
file names the machine that it was written on.

architecture_test.py --write-page writes the table of include rules into docs/architecture.md."""
import fnmatch
import functools
import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Maps each library to the headers by which it is included. All other headers belong to the standard
# library or the operating system, which every layer may use.
LIBRARIES = {
    "dpdk": ["rte_*.h", "ethdev_*.h", "bus_*driver.h", "dev_driver.h", "generic/rte_*.h"],
    "absl": ["absl/*"],
    "gflags": ["gflags/*"],
    "pcap": ["pcap.h", "pcap/*"],
    "json": ["nlohmann/*"],
    "curl": ["curl/*"],
    "context": ["boost/context/*"],
    "onednn": ["oneapi/*"],
    "hs": ["hs.h", "hs/*"],
    "re2": ["re2/*"],
    "simdjson": ["simdjson.h"],
    "pcre2": ["pcre2.h"],
    "prometheus": ["prometheus/*"],
    "lwip": ["lwip/*", "core/tcp.c"],
    "bpf": ["bpf/*"],
    "test": ["gtest/*", "gmock/*", "benchmark/*"],
}
# These DPDK headers contain only the layouts of wire formats.
WIRE_STRUCTS = ["rte_ether.h", "rte_ip.h", "rte_udp.h", "rte_tcp.h"]

# Headers for applications with clients on the wire of a model NIC.
WIRE = ["emulator/wire.h", "emulator/recording.h", "emulator/options.h", "emulator/client_counts.h"]
# Headers that an application with a session may include.
FRAME_APP = ["engine", "nic", "runtime", "host", "config", "packet", "dpdk", "gflags", "absl",
             "json"]
# Each entry is a layer and the headers that it may include besides the standard library: folders of
# the tree (names without .h), single headers of the tree, libraries, and single headers of
# libraries.
LAYERS = [
    ("lib/base", ["base"]),
    ("lib/cpu", ["cpu"]),
    ("lib/dpdk", ["dpdk"]),
    ("lib/regs", ["regs"]),
    ("lib/bar", ["bar"]),
    ("lib/swap", ["swap", "bar"]),
    ("lib/coherent", ["coherent", "bar"]),
    ("lib/fabric", ["fabric", "bar"]),
    ("lib/offload", ["offload", "bar", "swap"]),
    ("lib/sched_ext", ["sched_ext", "engine", "offload/item.h", "bpf"]),
    ("lib/simulation", ["simulation", "offload", "fabric", "bar", "engine", "context"]),
    ("lib/simulation/rpc", ["simulation", "device/rpc/*.h", "coherent", "fabric"]),
    ("lib/simulation/chain", ["simulation", "device/switch/*.h", "fabric", "bar"]),
    ("lib/simulation/barrier", ["simulation", "swap", "fabric", "bar"]),
    ("lib/simulation/tiering", ["simulation", "offload", "fabric", "bar", "engine", "packet",
                                "absl"]),
    ("lib/packet", ["packet", "pcap", *WIRE_STRUCTS]),
    ("lib/rpc", ["rpc", "packet"]),
    ("lib/transport", ["transport", "packet", "regs/transport.h"]),
    ("lib/transport/clients", ["transport", "packet", "engine/workload/*.h", "emulator/wire.h",
                               "emulator/options.h", "emulator/client_counts.h"]),
    ("lib/transport/lwip", ["lwip"]),
    ("lib/engine", ["engine", "packet", "absl"]),
    ("lib/engine/chain", ["engine", "device/switch/*.h", "config", "json"]),
    ("lib/engine/logmon", ["engine", "packet", "absl", "hs", "pcre2", "re2", "simdjson"]),
    ("lib/engine/logmon/config", ["engine", "config", "json"]),
    ("lib/engine/maglev/config", ["engine", "packet", "config", "json"]),
    ("lib/engine/telemetry/export", ["engine", "packet", "absl", "json"]),
    ("lib/engine/rpc", ["engine", "rpc", "packet", "device/rpc/*.h"]),
    ("lib/engine/sched", ["engine", "packet", "absl", "offload/item.h"]),
    ("lib/engine/transport", ["engine", "transport", "packet"]),
    ("include/sluice", ["sluice"]),
    ("examples", ["sluice", "dpdk"]),
    ("lib/c_api", ["c_api", "sluice", "engine", "packet", "config", "json"]),
    ("plugins/node_sluice", ["node_sluice", "sluice", "dpdk"]),
    ("lib/device", ["device", "regs", "bar", "swap", "coherent", "rpc", "packet"]),
    ("lib/device/transport", ["device", "regs", "bar", "transport", "packet"]),
    ("lib/device/grid", ["device/grid/*.h", "device/enso/counters.h", "device/ipu/*.h", "swap",
                         "coherent", "bar", "regs"]),
    ("lib/device/switch", ["device/switch/*.h"]),
    ("lib/device/stage", ["device/stage/*.h", "device/switch/*.h"]),
    ("lib/emulator", ["emulator", "device", "packet", "bar", "regs", "dpdk"]),
    ("lib/emulator/vfio_user", ["emulator", "device", "bar", "regs", "dpdk", "json"]),
    ("lib/nic", ["nic", "packet", "swap", "regs/transport.h", "net_*/rte_pmd_*.h", "dpdk"]),
    ("lib/config", ["config", "absl", "json"]),
    ("lib/host", ["host", "gflags", "absl", "json"]),
    ("lib/runtime", ["runtime", "host", "nic", "packet", "emulator/client_counts.h", "dpdk", "absl",
                     "gflags", "json", "prometheus", "regs", "device/enso/counters.h",
                     "emulator/wire_counters.h", "net_*/*_counters.h"]),
    ("lib/runtime/tcp", ["runtime", "nic/transport_unit.h", "engine/neighbor/*.h", "engine/transport/*.h", "transport",
                         "packet", "regs", "dpdk", "gflags", "json"]),
    ("lib/etcd", ["etcd", "config", "absl", "json", "curl"]),
    ("drivers/net_enso", ["net_enso", "regs", "bar", "device/enso/counters.h", "emulator/attach.h", "emulator/enso_model.h",
                          "emulator/options.h", "packet/frame_length.h", "packet/bytes.h",
                          "packet/parse.h", "packet/checksum.h", "dpdk"]),
    ("drivers/net_ipu", ["net_ipu", "regs", "bar", "swap", "coherent", "fabric", "emulator/attach.h",
                         "emulator/ipu_model.h", "emulator/options.h", "dpdk"]),
    ("apps", FRAME_APP),
    ("apps/echo", [*FRAME_APP, "transport/clients/*.h", *WIRE]),
    ("apps/maglev", [*FRAME_APP, "etcd", "curl"]),
    ("apps/kv_client", ["engine", "packet", "etcd", "config", "host", "gflags", "absl", "json"]),
    ("apps/logmon", [*FRAME_APP, "prometheus"]),
    ("apps/kv", [*FRAME_APP, "transport/clients/*.h", "etcd", *WIRE]),
    ("apps/sched", [*FRAME_APP, "sched_ext", "offload", "bar", "context", *WIRE]),
    ("apps/rpc", ["engine", "coherent", "rpc", "device", "bar", "packet", *WIRE, "host", "gflags",
                  "absl", "json"]),
    ("apps/rpc/frames", [*FRAME_APP, "rpc", "device/rpc/*.h"]),
    ("apps/telemetry", [*FRAME_APP, "prometheus"]),
    ("apps/chain", ["engine", "device/stage/*.h", "device/switch/*.h", "bar", "config", "host",
                    "gflags", "absl", "json"]),
    ("apps/chain/frames", [*FRAME_APP, *WIRE]),
    ("apps/chain/executors", ["engine", "dpdk", "onednn"]),
    ("apps/device", ["emulator", "host", "runtime/nic_drops.h", "runtime/port_stats.h",
                     "runtime/runtime_folder.h", "runtime/start_log.h", "dpdk", "json"]),
    ("tools/control", ["json"]),
    ("tools/pauses", ["gflags"]),
    ("tools/rpc_kernel", ["packet", "json"]),
    ("tools/simulation", ["simulation", "device/switch/*.h", "coherent", "fabric", "bar", "swap",
                          "engine", "gflags", "json"]),
]
# Every folder may include these, like the standard library.
FOR_ALL = {"base", "cpu"}
# The only processor-specific files of lib, drivers, apps and tools; each has a path for processors
# without the feature.
PROCESSOR_FILES = {
    "lib/cpu/clock.h", "lib/cpu/crc32c.h", "lib/cpu/vector.h",
    "lib/bar/fence.h", "lib/bar/pci_window.cc", "lib/coherent/wait.cc", "lib/device/grid/memory.h",
    "lib/engine/logmon/scan/line_ends.cc", "lib/engine/logmon/scan/text_copy.cc",
}
PROCESSOR = re.compile(r"\b_mm\d*_\w+|\b__m(?:128|256|512)i?\b|__builtin_(?:ia32|aarch64|neon)_\w+"
                       r"|\b__rdtsc\b|\bvld1q?_\w+|asm\s+volatile\s*\(\s*\"[^\"]"
                       r"|[\"<](?:\w*intrin|cpuid|arm_\w+)\.h[\">]")
# Maximum lines of a file of lib, drivers, apps or tools. Up to this limit a class has one .cc; a
# longer file contains more than one idea.
MAX_LINES = 800

# Headers are named relative to these folders.
INCLUDE_ROOTS = ("include", "lib", "drivers", "plugins")
# Matches a program that is built below tests/. Pages and scripts may run only benchmarks.
PROGRAM_OF_TESTS = re.compile(r"release/tests/[\w/-]+|\btests/[\w/]+/sluice-[\w-]+")

# The third column of the page's table: the reason for each rule that is not obvious.
WHY = {
    "lib/base": "file descriptors, the clock, pauses, seeds and tables of enumerations; uses only the "
                "standard library",
    "lib/cpu": "differences between processors: vectors, the counter, CRC32C",
    "lib/dpdk": "differences between DPDK releases, and ports that another process owns; for all "
                "files that include DPDK",
    "lib/config": "reads configuration files",
    "lib/host": "parts of every program that need no EAL: flags, processes, reports",
    "lib/coherent": "both ends of an endpoint; a service links only the host end",
    "lib/fabric": "a PCIe link in virtual time",
    "lib/offload": "decisions that agents on the NIC make, over a window",
    "lib/sched_ext": "a stock kernel's threads under an agent: a BPF program, and its host end",
    "lib/simulation": "whole systems in virtual time; a simulated processor is a coroutine",
    "lib/simulation/rpc": "the NIC's dispatcher, in virtual time",
    "lib/simulation/chain": "the programmable switch as a node of the PCIe model",
    "lib/simulation/barrier": "a barrier of N parties, by swaps or with time-outs",
    "lib/simulation/tiering": "memory tiering: a decision is an item; its channel is a template "
                              "parameter",
    "lib/packet": "wire formats, and human-readable quantities; only the capture reader includes libpcap",
    "lib/rpc": "ONC-RPC and XDR as pure functions, for models and hosts",
    "lib/transport": "TCP for one thread, without EAL; calls lwIP through a table of functions",
    "lib/transport/clients": "TCP clients as the wire of a model NIC; an application defines their "
                             "requests",
    "lib/transport/lwip": "a C library that contains lwIP; each stack loads a copy of it",
    "lib/engine": "no EAL, ethdev, mbufs, flags, logs or locks: pure functions of bytes and time",
    "lib/engine/chain": "compiles a policy graph into switch tables",
    "lib/engine/logmon": "matchers",
    "lib/engine/logmon/config": "filters in the operators' file formats",
    "lib/engine/maglev/config": "VIPs in the operators' file formats",
    "lib/engine/telemetry/export": "reports in other programs' formats",
    "examples": "programs outside the tree: they include only installed headers",
    "include/sluice": "C headers for programs outside the tree",
    "lib/c_api": "implements `include/sluice`",
    "plugins/node_sluice": "rte_graph nodes that use only the C API",
    "lib/engine/rpc": "services that both the NIC's RPC unit and a host run",
    "lib/engine/sched": "a decision is an item; its channel is a template parameter",
    "lib/engine/transport": "runs an engine for byte streams over frames",
    "lib/device": "models, which use neither DPDK nor drivers",
    "lib/device/transport": "terminates TCP connections in a model; wraps the model of a NIC",
    "lib/device/grid": "models as blocks of threads: clang compiles them for a GPU, g++ for tests",
    "lib/device/switch": "a model of the switch between devices; uses only the standard library",
    "lib/device/stage": "accelerators that the switch connects; the caller supplies their executors",
    "lib/emulator": "`attach.h` gives a driver registers and memory, as a PCI probe does",
    "lib/emulator/vfio_user": "a model as a function on another program's PCI bus",
    "lib/runtime": "the counter tables mark the statistics that count drops",
    "lib/runtime/tcp": "a run whose workers serve byte streams over TCP",
    "lib/nic": "the drivers' public headers, never their internals",
    "lib/etcd": "watches keys and keeps one key alive with a lease, over HTTP, on separate threads",
    "drivers/net_enso": "`frame_length.h` alone determines the length of a frame on a pipe; the other "
                        "headers are for offloads in software",
    "drivers/net_ipu": "`fabric` is the virtual-time back end of its window",
    "apps/echo": "TCP clients can be the wire of a model NIC",
    "apps/maglev": "health checks over HTTP",
    "apps/kv_client": "uses kernel sockets, not a NIC",
    "apps/logmon": "adds metrics to the common ones",
    "apps/kv": "its client can be the wire of a model NIC",
    "apps/sched": "tasks are coroutines or the kernel's threads, agents and host share a "
                  "`bar::ShmWindow`, and its clients are a wire",
    "apps/rpc": "it is the NIC, the operating system and the clients; a service is a process "
                "without DPDK",
    "apps/rpc/frames": "the same services on interfaces that carry frames, without processes",
    "apps/telemetry": "adds metrics to the common ones",
    "apps/chain": "it is the switch, the NIC and the CPU; a stage is a thread or a process",
    "apps/chain/frames": "chains on interfaces that carry frames; their clients are a wire",
    "apps/chain/executors": "executors for chain stages, independent of NICs and of the switch",
    "apps/device": "the only application that is a device and not a host",
    "tools/control": "measures this host's memory system; uses only the standard library",
    "tools/pauses": "measures this host's pauses, and the detection of dead processes",
    "tools/simulation": "programs that run lib/simulation and print tables or JSON",
    "tools/rpc_kernel": "clients of sluice-rpc, and a libtirpc server, without a NIC of Sluice",
}
TITLES = {"dpdk": "DPDK", "absl": "Abseil", "pcap": "libpcap", "json": "nlohmann JSON",
          "curl": "libcurl", "context": "Boost.Context", "onednn": "oneDNN", "bpf": "libbpf", "hs": "Hyperscan", "pcre2": "PCRE2", "re2": "RE2",
          "prometheus": "prometheus-cpp"}
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- include rules -->\n", "<!-- end of include rules -->\n"

TEXT = {".h", ".cc", ".c", ".py", ".md", ".build", ".txt", ".flags", ""}
MACHINE = re.compile(r"(?<![\w.>}$-])/(?:work|home|root|Users)/\w"
                     r"|\b(?:deb|archive|mirror|security|snapshot|ftp)\.[a-z]+\.(?:org|com|net)\b")


@functools.cache
def tracked():
    listing = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=False,
                             capture_output=True, text=True)
    if listing.returncode == 0:
        paths = [ROOT / line for line in listing.stdout.splitlines()]
    else: # The tree is an unpacked archive.
        paths = [p for p in ROOT.rglob("*") if p.relative_to(ROOT).parts[0] not in ("build", ".git")]
    return sorted(p for p in paths if p.is_file())


@functools.cache
def include_folders():
    return {p.name for base in INCLUDE_ROOTS for p in (ROOT / base).iterdir() if p.is_dir()}


@functools.cache
def includes(path):
    """Returns (line number, header) of every #include."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [(number, match[1]) for number, line in enumerate(lines, 1)
            if (match := re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line))]


def layer_of(name):
    """Returns the most specific layer that contains the file."""
    return max((layer for layer, _ in LAYERS if name.startswith(layer + "/")), key=len, default=None)


@functools.cache
def library_of(header):
    return next((name for name, patterns in LIBRARIES.items()
                 if any(fnmatch.fnmatch(header, p) for p in patterns)), None)


def allowed(header, may, own_folder):
    """Returns whether a layer with the permissions `may` is permitted to include `header`."""
    if any(fnmatch.fnmatch(header, entry) for entry in may if entry.endswith(".h")):
        return True
    if library := library_of(header):
        return library in may
    top = header.split("/")[0]
    if "/" in header and top in include_folders():
        return top in may or top in FOR_ALL
    return "/" not in header or top not in {"apps", "tests", "lib", "drivers", "tools"} or \
        header.startswith(own_folder)


def rules_table():
    """Returns LAYERS in the format of docs/architecture.md."""
    lines = ["| folder | may include | |", "|---|---|---|"]
    for layer, may in LAYERS:
        own = layer.split("/")[1] if "/" in layer else ""
        names = [f"`{x}`" for x in may if x not in LIBRARIES and x not in WIRE_STRUCTS and x != own]
        names += ["DPDK's wire structs"] * any(x in WIRE_STRUCTS for x in may)
        names += [TITLES.get(x, x) for x in may if x in LIBRARIES]
        lines.append(f"| `{layer}` | {', '.join(names) or 'nothing'} | {WHY.get(layer, '')} |")
    return "\n".join(lines) + "\n"


def page_with(table):
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    return head + BEGIN + table + END + rest.split(END)[1]


class Architecture(unittest.TestCase):
    def test_the_page_has_this_table(self):
        self.assertEqual(PAGE.read_text(encoding="utf-8"), page_with(rules_table()),
                         "tests/architecture/architecture_test.py --write-page fixes it")

    def test_arrows_point_down(self):
        wrong = []
        for layer, may in LAYERS:
            for path in tracked():
                name = str(path.relative_to(ROOT))
                if layer_of(name) != layer or path.suffix not in (".h", ".cc", ".c"):
                    continue
                wrong += [f"{name}:{line}: {layer} must not include {header}"
                          for line, header in includes(path) if not allowed(header, may, layer)]
        self.assertFalse(wrong, "\n" + "\n".join(wrong))

    def test_only_the_capture_reader_knows_libpcap(self):
        users = [p.name for p in tracked() if "lib/packet/" in str(p) and p.suffix in (".h", ".cc")
                 and any(library_of(h) == "pcap" for _, h in includes(p))]
        self.assertFalse([u for u in users if not u.startswith("capture")], users)

    def test_each_face_of_a_driver_is_known_to_one_file_of_nic(self):
        named = [(header, path.name) for path in tracked()
                 if "lib/nic/" in str(path) and path.suffix in (".h", ".cc")
                 for _, header in includes(path) if "rte_pmd_" in header]
        self.assertLessEqual({("net_enso/rte_pmd_enso.h", "enso_pipes.h"),
                              ("net_ipu/rte_pmd_ipu.h", "held_region.h"),
                              ("net_ipu/rte_pmd_ipu.h", "ipu_lines.h")}, set(named))
        self.assertLessEqual(len(named), 6, named)

    def test_releases_of_dpdk_are_told_apart_in_one_file(self):
        asking = {str(p.relative_to(ROOT)) for p in tracked() if p.suffix in (".h", ".cc", ".c")
                  and re.search(r"^\s*#.*\bRTE_VER", p.read_text(encoding="utf-8"), re.MULTILINE)}
        self.assertEqual(asking, {"lib/dpdk/release.h"})

    def test_an_arrow_the_wrong_way_is_seen(self):
        for layer, header in (("lib/engine", "rte_mbuf.h"), ("lib/device", "rte_ethdev.h"),
                              ("lib/device", "emulator/attach.h"), ("drivers/net_enso", "device/device.h"),
                              ("drivers/net_enso", "emulator/runner.h"), ("lib/nic", "engine/echo/echo.h"),
                              ("apps", "emulator/attach.h"), ("lib/bar", "gflags/gflags.h"),
                              ("lib/packet", "rte_mbuf.h"), ("lib/runtime", "engine/echo/echo.h"),
                              ("lib/engine", "re2/re2.h")):
            self.assertFalse(allowed(header, dict(LAYERS)[layer], layer), (layer, header))

    def test_every_source_folder_is_a_layer(self):
        layers = {layer for layer, _ in LAYERS}
        for base in INCLUDE_ROOTS:
            for folder in (ROOT / base).iterdir():
                if folder.is_dir() and any(folder.rglob("*.h")) or any(folder.rglob("*.cc")):
                    self.assertIn(f"{base}/{folder.name}", layers)

    def test_users_run_no_program_of_the_tests(self):
        # docs/extending.md is excluded, because it is for developers, who run the tree's tests.
        told = [p for p in tracked() if (p.suffix == ".md" and p.name != "extending.md")
                or "scripts" in p.relative_to(ROOT).parts[:1]]
        self.assertGreater(len(told), 20)
        programs = {match[0] for path in told
                    for match in PROGRAM_OF_TESTS.finditer(path.read_text(encoding="utf-8"))}
        self.assertFalse({p for p in programs if not p.endswith("bench")})


    def test_few_files_know_processors(self):
        sources = [p for p in tracked() if p.suffix in (".h", ".cc", ".c") and
                   p.relative_to(ROOT).parts[0] in ("lib", "drivers", "apps", "tools")]
        knowing = {str(p.relative_to(ROOT)) for p in sources
                   if PROCESSOR.search(p.read_text(encoding="utf-8"))}
        self.assertEqual(knowing, PROCESSOR_FILES)


class Files(unittest.TestCase):
    def test_apps_stay_thin(self):
        for path in (ROOT / "apps").rglob("main.cc"):
            self.assertLess(len(path.read_text(encoding="utf-8").splitlines()), 200, path)

    def test_every_program_opens_its_standard_streams_first(self):
        """The first call of each main() must open the standard streams, as ReadCommandLine does.
        lib/base/standard_streams.h explains the reason."""
        for path in [*(ROOT / "apps").rglob("main.cc"), *(ROOT / "tools").rglob("main.cc")]:
            main = path.read_text(encoding="utf-8").split("\nint main(")[1]
            first_call = re.search(r"(\w+)\(", main.split("{", 1)[1])[1]
            self.assertIn(first_call, ("OpenStandardStreams", "ReadCommandLine"), path)

    def test_no_file_grows_beyond_one_idea(self):
        sources = [p for p in tracked() if p.suffix in (".h", ".cc", ".c") and
                   p.relative_to(ROOT).parts[0] in ("lib", "drivers", "apps", "tools")]
        long = {str(p.relative_to(ROOT)): lines for p in sources
                if (lines := len(p.read_text(encoding="utf-8").splitlines())) > MAX_LINES}
        self.assertFalse(long)

    def test_what_the_harness_has_is_defined_there_alone(self):
        harness = ROOT / "tests" / "harness.py"
        names = set(re.findall(r"^def (\w+)\(", harness.read_text(encoding="utf-8"), re.MULTILINE))
        names.remove("run")  # Tests may define a method run() that adds arguments to harness.run().
        self.assertIn("wait_until", names)
        again = [f"{path.relative_to(ROOT)}: {name}" for path in tracked()
                 if path.suffix == ".py" and "tests" in path.parts and path != harness
                 for name in re.findall(r"^def (\w+)\(", path.read_text(encoding="utf-8"),
                                        re.MULTILINE) if name in names]
        self.assertFalse(again)

    def test_every_source_begins_with_its_licence(self):
        for path in tracked():
            head = path.read_bytes()[:200]
            source = path.suffix in (".h", ".cc", ".c", ".py", ".build") or head.startswith(b"#!") \
                or path.name in ("meson_options.txt", ".clang-format", ".clang-tidy",
                                     ".editorconfig")
            if source:
                lines = head.decode("utf-8", "replace").splitlines()[:2]
                self.assertTrue(any("SPDX-License-Identifier: BSD-3-Clause" in x for x in lines), path)

    def test_what_begins_as_a_program_can_be_run(self):
        for path in tracked():
            if path.read_bytes()[:2] == b"#!" and path.parent != ROOT / "debian":
                self.assertTrue(os.access(path, os.X_OK), f"{path}: chmod +x")

    def test_no_trace_of_a_machine(self):
        for path in tracked():
            if path.suffix not in TEXT or path.name == "LICENSE":
                continue
            text = path.read_bytes().decode("utf-8", "replace")
            for number, line in enumerate(text.splitlines(), 1):
                self.assertIsNone(MACHINE.search(line), f"{path}:{number}: {line.strip()}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write-page"]:
        PAGE.write_text(page_with(rules_table()), encoding="utf-8")
    else:
        unittest.main()
