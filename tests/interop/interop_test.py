#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""interop_test.py NET_IPU NET_ENSO [--only=RE] [--list]: runs the programs of programs.toml over
both plugins and compares each verdict with the recorded one. Prints the table. The sources of
examples and Open vSwitch come from `scripts/setup --interop`, which this calls; rows that this
machine cannot run are reported as skipped.

interop_test.py --check-page | --write-page: compares docs/programs.md with the same table, or
writes it."""
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(pathlib.Path(__file__).resolve().parent)]
import harness
import openvswitch
import private_folder
import traffic

PAGE = ROOT / "docs/programs.md"
MARKS = ("<!-- programs -->\n", "<!-- end of programs -->\n")
SOURCES = ROOT / "build/deps/dpdk-examples"
BUILT = ROOT / "build/interop"
DRIVERS = ("net_ipu", "net_enso")
ENOUGH = 500
END_S = 10


def free_hugepages():
    folder = pathlib.Path("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages")
    return int(folder.read_text(encoding="ascii")) if folder.exists() else 0


def build(example):
    """Builds an example of DPDK's sources from the files in its Makefile, unless it is built.
    Returns the program's path."""
    where = SOURCES / example
    if not where.exists():
        where = SOURCES / "multi_process" / example
    target = BUILT / example
    if not target.exists():
        makefile = (where / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
        names = " ".join(re.findall(r"^SRCS-y *[:+]?= *(.*)$", makefile, re.MULTILINE)).split()
        flags = shlex.split(harness.sh("pkg-config", "--cflags", "--libs", "libdpdk"))
        BUILT.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cc", "-O1", "-w", "-DALLOW_EXPERIMENTAL_API", f"-I{SOURCES / 'common'}",
                        *(str(where / name) for name in names), "-o", str(target), *flags, "-lm",
                        "-lpthread"], check=True)
    return str(target)


def linked_mempools(program):
    """Returns the mempool drivers that a program is linked with. The program numbers them before
    the drivers that it loads, and pools in shared memory refer to them by number, so a secondary
    process must begin with the same drivers."""
    return re.findall(r"^\s*(librte_mempool_\w+\.so\.\d+)", harness.sh("ldd", shutil.which(program)),
                      re.MULTILINE)


class Output:
    """The output of a process in a file, so that it never waits for a reader."""

    def __init__(self, folder, name):
        self.path = pathlib.Path(folder) / name
        self.file = open(self.path, "wb")

    def text(self):
        return self.path.read_text(encoding="utf-8", errors="replace")


class Row:
    def __init__(self, name, row, driver, plugin, folder):
        self.name, self.row, self.driver, self.plugin = name, row, driver, plugin
        self.folder = pathlib.Path(folder)
        self.prefix = f"interop-{os.getpid()}"
        self.ports = [f"{driver}{i}" for i in range(row["ports"])]
        self.processes = []
        self.outputs = []

    # ------------------------------------------------------------ running

    def fill(self, text, process=0):
        for i, port in enumerate(self.ports):
            text = text.replace(f"{{port{i}}}", port)
        return text.replace("{folder}", str(self.folder)).replace("{process}", str(process))

    def vdevs(self):
        kind = self.row["traffic"]
        wire = "loopback"
        if kind != "none":
            capture = self.folder / f"{kind}.pcap"
            if not capture.exists():
                harness.write_capture(capture, traffic.FRAMES[kind]())
            wire = f"pcap:{capture}+loop=0+rate=20k"
        options = [list(self.row.get("options", [])) for _ in self.ports]
        options[0] += self.row.get("first", [])
        return [",".join([f"{port},wire={wire}", *more])
                for port, more in zip(self.ports, options)]

    def eal(self, secondary=False):
        huge = self.row.get("memory") == "huge"
        eal = [f"--lcores={self.row.get('lcores', '0@0,1@1')}", "--no-pci",
               f"--file-prefix={self.prefix}",
               *([] if huge else ("--no-huge", "-m", str(self.row.get("megabytes", 512)))),
               "-d", self.plugin]
        if secondary:
            return eal + ["--proc-type=secondary"]
        return eal + [f"--vdev={vdev}" for vdev in self.vdevs()] + self.row.get("eal", [])

    def start(self, program, arguments, environment=None):
        output = Output(self.folder, f"output{len(self.outputs)}")
        self.outputs.append(output)
        process = subprocess.Popen([program, *arguments], stdin=subprocess.PIPE, stdout=output.file,
                                   stderr=subprocess.STDOUT, cwd=self.folder,
                                   env={**os.environ, **(environment or {})})
        self.processes.append(process)
        return process

    def launch(self):
        program = self.row["program"]
        if program.startswith("examples/"):
            program = build(program.removeprefix("examples/"))
        for name, text in self.row.get("files", {}).items():
            (self.folder / name).write_text(self.fill(text), encoding="ascii")
        if self.row.get("beside"):
            self.start("dpdk-testpmd", [*self.eal(), "--", "--total-num-mbufs=8192", "--auto-start",
                                        "--forward-mode=io"])
            harness.wait_until(lambda: self.count()["ipackets"] > ENOUGH, self.said)
        for i in range(self.row.get("processes", 1)):
            arguments = [self.fill(argument, i) for argument in self.row["arguments"]]
            if i == 1:
                harness.wait_until(lambda: self.count()["ipackets"] >= 0, self.said)
            if not self.row.get("beside"):
                self.start(program, [*self.eal(i > 0), "--", *arguments])
                continue
            # These tools choose their lcores themselves; dpdk-dumpcap has no "--".
            eal = [f"--file-prefix={self.prefix}"]
            if program != "dpdk-dumpcap":
                eal += ["--no-pci", "--"]
            preloaded = [*linked_mempools("dpdk-testpmd"), self.plugin]
            self.start(program, [*eal, *arguments], {"LD_PRELOAD": ":".join(preloaded)})

    # ------------------------------------------------------------ output

    def said(self):
        return "".join(output.text() for output in self.outputs)

    def count(self):
        """Returns sums over all ports of the primary process: packets received, packets sent, and
        packets received by queue 1 of each port; −1 each if the process does not reply."""
        totals = {"ipackets": 0, "opackets": 0, "second": 0}
        try:
            for port in harness.ask(self.prefix, "/ethdev/list"):
                stats = harness.ask(self.prefix, "/ethdev/stats", str(port))
                stats["second"] = stats["q_ipackets"][1]
                for name in totals:
                    totals[name] += stats[name]
        except (OSError, KeyError, ValueError, TypeError):
            return dict.fromkeys(totals, -1)
        return totals

    def shows(self):
        how, _, what = self.row["shows"].partition(": ")
        if how == "says":
            return re.search(what, self.said()) is not None
        if how == "captures":
            path = self.folder / what
            data = path.read_bytes() if path.exists() else b""
            return any(frame in data for frame in traffic.FRAMES[self.row["traffic"]]())
        count = self.count()
        wanted = {"forwards": ("ipackets", "opackets"), "receives": ("ipackets",),
                  "sends": ("opackets",), "queue 1 receives": ("second",)}[how]
        if not all(count[name] >= ENOUGH for name in wanted):
            return False
        ratio = count["opackets"] / count["ipackets"] if what else None
        return ratio is None or abs(ratio / float(what) - 1) < 0.2

    def ended(self):
        # dpdk-proc-info and similar tools end by themselves; the primary testpmd does not.
        return self.processes[-1].poll() is not None

    def verdict(self):
        """Returns "runs" or "refused", and the reason."""
        self.launch()
        end = time.monotonic() + self.row.get("slow", 20)
        while time.monotonic() < end:
            if self.shows():
                return self.end()
            if self.ended():
                return "runs" if self.shows() else "refused"
            time.sleep(0.1)
        return "refused"

    def end(self, how=signal.SIGINT, patience_s=END_S):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(how)
                try:
                    process.wait(patience_s)
                except subprocess.TimeoutExpired:
                    return "does not end"
            killer = -process.returncode
            if killer > 0 and killer not in (signal.SIGINT, signal.SIGTERM):
                return f"killed by signal {killer}"
        return "runs"

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
        for output in self.outputs:
            output.file.close()


def why_skipped(row):
    if row.get("memory") == "huge" and (os.geteuid() != 0 or free_hugepages() < 600):
        return "needs root and 600 hugepages"
    program = row["program"]
    if program == "openvswitch":
        return openvswitch.why_missing()
    if program.startswith("examples/"):
        return None if SOURCES.exists() else "no sources of the examples"
    return None if shutil.which(program) else f"no {program}"


def judge(name, row, driver, plugin):
    """Returns the result, and whether it agrees with the table."""
    expected, _, why = row[driver].partition(": ")
    with tempfile.TemporaryDirectory(prefix="interop-") as folder:
        kind = openvswitch.Row if row["program"] == "openvswitch" else Row
        one = kind(name, row, driver, plugin, folder)
        try:
            verdict = one.verdict()
        except (TimeoutError, subprocess.SubprocessError, AssertionError) as failure:
            verdict = f"failed: {failure}"
        finally:
            one.close()
        said = one.said()
    good = verdict == expected and (expected == "runs" or re.search(why, said) is not None)
    if not good:
        print(f"--- {name} over {driver}: {verdict}, not {row[driver]}\n{said[-3000:]}\n---")
    return verdict, good


def page_with(rows):
    """Returns the page with the table of `rows`."""
    def cell(expected):
        verdict, _, why = expected.partition(": ")
        return verdict + (": `" + why.replace("|", "` or `") + "`" if why else "")
    table = "".join(f"| `{name}` | {cell(row['net_ipu'])} | {cell(row['net_enso'])} |\n"
                    for name, row in rows.items())
    before, rest = PAGE.read_text(encoding="utf-8").split(MARKS[0])
    head = "| row | `net_ipu` | `net_enso` |\n|---|---|---|\n"
    return before + MARKS[0] + head + table + MARKS[1] + rest.split(MARKS[1])[1]


def main():
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    only = next((argument.partition("=")[2] for argument in sys.argv if
                 argument.startswith("--only=")), ".")
    plugins = dict(zip(DRIVERS, map(private_folder.plugin, arguments)))
    with open(pathlib.Path(__file__).with_name("programs.toml"), "rb") as file:
        rows = {name: row for name, row in tomllib.load(file).items() if re.search(only, name)}
    if "--write-page" in sys.argv:
        PAGE.write_text(page_with(rows), encoding="utf-8")
        return 0
    if "--check-page" in sys.argv:
        if page_with(rows) == PAGE.read_text(encoding="utf-8"):
            return 0
        print("docs/programs.md is older than programs.toml: interop_test.py --write-page")
        return 1
    if "--list" in sys.argv:
        for name, row in rows.items():
            print(f"{name:22} {row['net_ipu']:30} {row['net_enso']}")
        return 0
    subprocess.run([ROOT / "scripts/setup", "--interop"], check=False)
    table, wrong, ran = [], 0, 0
    for name, row in rows.items():
        skipped = why_skipped(row)
        cells = []
        for driver in DRIVERS:
            if skipped is not None:
                cells.append(f"skipped: {skipped}")
                continue
            began = time.monotonic()
            verdict, good = judge(name, row, driver, plugins[driver])
            ran += 1
            wrong += not good
            cells.append(f"{verdict}{'' if good else ' (WRONG)'}, {time.monotonic() - began:.0f} s")
        table.append((name, *cells))
        print(f"{name:22} {cells[0]:34} {cells[1]}", flush=True)
    print(f"{ran} runs, {wrong} not as the table says, {2 * len(rows) - ran} skipped")
    return 1 if wrong else 0 if ran else 77


if __name__ == "__main__":
    sys.exit(main())
