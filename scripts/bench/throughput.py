# SPDX-License-Identifier: BSD-3-Clause
"""Builds Sluice and measures which NIC interface a workload deserves.

Every app runs on every interface with every traffic on the embedded model NICs, interleaved,
beside stock DPDK peers; prints one table and the verdict on each target. docs/performance.md
explains the columns.
"""
import argparse
import datetime
import hashlib
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

import growth
import instructions
import kv_comparison
import kv_report
import logmon_report
import output
import paper_ratios
import rows
import run
import targets
import telemetry_report
import workloads

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEFAULT_CAPTURE = "build/deps/captures/tcpdump.pcap"
HUGEPAGES = 1024
QUICK = {"apps": ["echo"], "mode": ["increment"], "sizes": ["64", "1518", "imix"], "pcap": "none",
         "peers": False, "limit_s": 90}
PCAP_HEADER_BYTES = 24
ENGINE_REPEATS = 5  # Of an engine without an interface, which takes up to ten seconds.


def parse_arguments():
    parser = argparse.ArgumentParser(prog="throughput", description=__doc__.splitlines()[0])
    comma = lambda text: [part for part in text.split(",") if part]
    parser.add_argument("--apps", type=comma, default=["echo"],
                        help=f"of {','.join(workloads.MODES)}; default: echo")
    parser.add_argument("--ifaces", type=comma, default=[],
                        help="default: all; sluice-echo --list=interfaces names them")
    parser.add_argument("--mode", type=comma, default=[],
                        help="default: all; echo has increment,reflect, telemetry has sketch,univmon")
    parser.add_argument("--sizes", type=comma, default=["64", "512", "1518", "imix", "random"],
                        help="of echo: frame sizes, imix, random; default: 64,512,1518,imix,random")
    parser.add_argument("--pcap", default=DEFAULT_CAPTURE,
                        help="of echo: traffic of the rows 'capture' and, as far as every NIC can "
                        "send it, 'capture-ipv4'; 'none' leaves them out")
    parser.add_argument("--duration_s", type=float, default=0,
                        help="of one sample; default: "
                        + ", ".join(f"{s:g} for {app}" for app, s in workloads.SECONDS.items()))
    parser.add_argument("--repeats", type=int, default=9, help="samples of each row; default: 9")
    parser.add_argument("--limit_s", type=float, default=420,
                        help="no new round after this long; 0 = no limit; default: 420")
    parser.add_argument("--quick", action="store_true",
                        help="two minutes: echo, --mode=increment --sizes=64,1518,imix --pcap=none "
                        "--no-peers --limit_s=90")
    parser.add_argument("--peers", action=argparse.BooleanOptionalAction, default=True,
                        help="measure stock testpmd beside echo, and memcached beside kv")
    parser.add_argument("--growth", action="store_true",
                        help="instead of the table: what a packet costs while flows, pipes, frames, "
                        "tables and workers grow; --ifaces, --duration_s, --repeats, --limit_s and --json "
                        "apply")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--csv", metavar="FILE")
    parser.add_argument("--plot", metavar="FILE", help="PNG")
    args = parser.parse_args()
    if args.quick and args.growth:
        parser.error("--growth takes no --quick: give --repeats=1")
    if args.quick:
        vars(args).update(QUICK)
    if args.growth:
        args.apps = growth.APPS
    if args.repeats < 1 or not 0 <= args.duration_s <= 3600:
        parser.error("--repeats must be at least 1, and --duration_s within 0 and 3600")
    for size in args.sizes:
        if size not in ("imix", "random") and not (size.isdigit() and 64 <= int(size) <= 1518):
            parser.error(f"--sizes: '{size}' is neither 64..1518 nor imix nor random")
    for name in ("pcap", "json", "csv", "plot"): # Everything runs in the source tree.
        path = getattr(args, name)
        if path and path not in ("none", DEFAULT_CAPTURE):
            setattr(args, name, os.path.abspath(path))
    if args.pcap not in ("none", DEFAULT_CAPTURE) and not os.path.isfile(args.pcap):
        parser.error(f"--pcap: no file {args.pcap}")
    check_apps(parser, args)
    return args


def check_apps(parser, args):
    for app in args.apps:
        if app not in workloads.MODES:
            parser.error(f"--apps: no app '{app}'; there is {', '.join(workloads.MODES)}")
        if not workloads.modes_of(app, args.mode):
            parser.error(f"--mode: {app} has only {', '.join(workloads.MODES[app])}")
    modes = {mode for app in args.apps for mode in workloads.MODES[app]}
    if unknown := sorted(set(args.mode) - modes):
        parser.error(f"--mode: no '{unknown[0]}', only {', '.join(sorted(modes))}")


def prepare(args):
    """Build, hugepages. Returns whether hugepages can be used."""
    print("building build/release ...", flush=True)
    benches = growth.TARGETS if args.growth else \
        instructions.BENCHES.values() if "echo" in args.apps else []
    done = subprocess.run(["scripts/build", "release", *run.targets(args.apps), *benches],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit((done.stdout + done.stderr)[-4000:] + "\nthroughput: the build failed")
    if os.geteuid() == 0:
        subprocess.run(["scripts/host_setup", "hugepages", str(HUGEPAGES)],
                       stdout=subprocess.DEVNULL, check=False)
    free = subprocess.run(["scripts/host_setup", "hugepages"], capture_output=True, text=True,
                          check=False).stdout.strip()
    hugepages = os.geteuid() == 0 and bool(free) and not free.endswith(" 0 free")
    print(f"memory: {free}" if hugepages else
          "memory: no hugepages; no verdict on speed (root, or reserved hugepages, would give one)")
    return hugepages


def choose_interfaces(asked, known):
    if unknown := sorted(set(asked) - set(known)):
        print(f"throughput: --ifaces: no '{unknown[0]}', only {', '.join(known)}", file=sys.stderr)
        sys.exit(2)
    return asked or known


def prepare_captures(args):
    """Traffic by the name of its row: the capture, and its part that every NIC can send."""
    if args.pcap == "none" or "echo" not in args.apps:
        return {}
    if args.pcap == DEFAULT_CAPTURE: # scripts/setup has made both.
        return {"capture": args.pcap, "capture-ipv4": args.pcap.replace(".pcap", "-ipv4.pcap")}
    part = f"build/{pathlib.Path(args.pcap).stem}-ipv4.pcap"
    subprocess.run(["scripts/merge_captures", "--ipv4", part, args.pcap], check=True)
    empty = os.path.getsize(part) <= PCAP_HEADER_BYTES
    return {"capture": args.pcap} | ({} if empty else {"capture-ipv4": part})


def command_output(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def manifest_of(args, hugepages):
    cpuinfo = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = re.search(r"model name\s*: (.*)", cpuinfo)
    capture = None
    if args.pcap != "none" and "echo" in args.apps:
        path = pathlib.Path(args.pcap)
        origin = path.with_name(path.name + ".origin")
        capture = {"file": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
                   "origin": origin.read_text().strip() if origin.exists() else str(path)}
    git_id = command_output("git", "rev-parse", "HEAD") or "unknown"
    if command_output("git", "status", "--porcelain", "--untracked-files=no"):
        git_id += "-dirty"
    return {"git": git_id, "cpu": model[1] if model else "unknown",
            "cpus": len(os.sched_getaffinity(0)), "hugepages": hugepages,
            "dpdk": command_output("pkg-config", "--modversion", "libdpdk"), "capture": capture,
            "command": shlex.join(sys.argv), "kernel": os.uname().release,
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")}


class Progress:
    """One line that is overwritten on a terminal; lines in a log."""

    def __init__(self, total):
        self.total, self.done = total, 0
        self.end = "\r" if sys.stderr.isatty() else "\n"

    def step(self, sample):
        self.done += 1
        rate = f"{sample['mpps']:.2f} Mpps, " if sample["mpps"] else ""
        text = (f"[{self.done}/{self.total}] {sample['app']} {sample['mode']} {sample['iface']} "
                f"{sample['traffic']}: {rate}{sample['cycles_per_pkt']:.1f} cycles/packet")
        print(f"{text:<79}", end=self.end, file=sys.stderr, flush=True)


class Job:
    """The plan of a run and the samples it has gathered."""

    def __init__(self, args, flags, hugepages):
        self.args, self.flags, self.hugepages = args, flags, hugepages
        self.samples, self.controls = [], [run.control()]
        self.plan = [(app, mode, iface, traffic) for app, mode, traffic in flags
                     for iface in args.ifaces]
        if args.peers and "echo" in args.apps:
            self.plan += [("testpmd", "macswap", name, "64") for name in run.PEERS]
        self.progress = Progress(len(self.plan) * args.repeats)
        self.deadline = time.monotonic() + (args.limit_s or float("inf"))

    def sample(self, group, round_number):
        app, mode, iface, traffic = group
        if app == "testpmd":
            report = run.peer_sample(iface, self.hugepages)
        else:
            report = run.app_sample(app, iface, self.flags[app, mode, traffic],
                                    self.args.duration_s or workloads.SECONDS[app])
        report |= {"app": app, "mode": mode, "iface": iface, "traffic": traffic,
                   "round": round_number}
        self.samples.append(report)
        self.progress.step(report)

    def run_rounds(self):
        began = time.monotonic()
        for number in range(self.args.repeats):
            round_s = (time.monotonic() - began) / max(number, 1)
            if number and time.monotonic() + round_s > self.deadline:
                print(f"\ntime limit: {number} of {self.args.repeats} rounds", file=sys.stderr)
                break
            for group in self.plan:
                self.sample(group, number)
            self.controls.append(run.control())


def main():
    args = parse_arguments()
    os.chdir(ROOT)
    hugepages = prepare(args)
    args.ifaces = choose_interfaces(args.ifaces, run.interfaces(args.apps[0]))
    manifest = manifest_of(args, hugepages)
    if args.growth:
        return print_growth(args, manifest)
    captures = prepare_captures(args)
    # Before the samples: if it fails, none of them are lost.
    counts = {iface: instructions.count(bench, instructions.BURST)
              for iface, bench in instructions.BENCHES.items()
              if "echo" in args.apps and iface in args.ifaces}
    with tempfile.TemporaryDirectory() as folder:
        if "logmon" in args.apps:
            run.write_log_texts(folder)
        job = Job(args, workloads.flags(args, captures, folder), hugepages)
        job.run_rounds()
    alone = min(args.repeats, ENGINE_REPEATS)
    engines = {app: [run.engine_sample(app) for _ in range(alone)]
               for app in args.apps if app in run.ENGINES}
    comparison = kv_comparison.measure(args.ifaces, alone,
                                       args.duration_s or workloads.SECONDS["kv"]) \
        if args.peers and "kv" in args.apps else None
    # Applications decide for themselves and report it.
    hugepages = all(s.get("memory", "hugepages") == "hugepages" for s in job.samples) and hugepages
    manifest["hugepages"] = hugepages
    table_rows = rows.build_rows(job.samples, hugepages)
    report(args, manifest | {"controls": job.controls, "instructions": counts}, table_rows, engines,
           comparison)
    return 1 if any(row["verdict"] == "FAILED" for row in table_rows) else 0


def print_growth(args, manifest):
    deadline = time.monotonic() + (args.limit_s or float("inf"))
    played = growth.play_workers(run.program_says)
    bare = growth.measure_bare(run.program_says)
    progress = Progress(len(growth.plan(args.ifaces)) * args.repeats)
    with tempfile.TemporaryDirectory() as folder:
        found = growth.measure(args.ifaces, args.repeats, args.duration_s, deadline, folder,
                               run.app_sample, progress.step)
    print(f"\n\n{manifest['cpu']}, DPDK {manifest['dpdk']}, "
          f"{'hugepages' if manifest['hugepages'] else 'NO HUGEPAGES'}, {manifest['git'][:12]}\n")
    print("\n".join([*growth.lines(found, bare), "", *growth.worker_lines(played)]))
    if args.json:
        output.write_json(args.json, manifest | {"workers": played}, [
            {"app": growth.CURVES[curve].app, "axis": growth.CURVES[curve].axis, "iface": iface,
             "points": points, "bare_ns": bare.get(curve)}
            for (curve, iface), points in found.items()])
    return 0


def report(args, manifest, table_rows, engines, comparison):
    controls = manifest["controls"]
    ping_pong = [c["ping_pong_cycles"] for c in controls]
    print(f"\n\n{manifest['cpu']}, {manifest['cpus']} CPUs, DPDK {manifest['dpdk']}, "
          f"{'hugepages' if manifest['hugepages'] else 'NO HUGEPAGES'}, {manifest['git'][:12]}; "
          f"line ping-pong {min(ping_pong):.0f}..{max(ping_pong):.0f} cycles a round trip\n")
    print(output.side_by_side(table_rows))
    print()
    print(output.table(table_rows))
    print()
    print(output.footer(table_rows, controls))
    if counts := manifest["instructions"]:
        print(f"instructions per 64-byte packet, burst {instructions.BURST}, the same on every run: "
              + ", ".join(f"{iface} {count:.1f}" for iface, count in counts.items()))
    if comparison:
        print("\n" + "\n".join(kv_report.lines(comparison)))
    table = {rows.key(row): row for row in table_rows}
    for app, lines in (("logmon", logmon_report.lines), ("telemetry", telemetry_report.lines)):
        if app in args.apps:
            print("\n" + "\n".join(lines(table, engines[app])))
    if found := paper_ratios.lines(table_rows):
        print("\n" + "\n".join(found))
    print("\nTargets (worker TSC cycles or time):")
    stream_cycles = sorted(c["stream_cycles"] for c in controls)[len(controls) // 2]
    for line in targets.verdicts(table_rows, manifest["hugepages"], stream_cycles, engines,
                                 comparison):
        print("  " + line)
    if args.json:
        output.write_json(args.json, manifest | {"engines": engines, "comparison": comparison},
                          table_rows)
    if args.csv:
        output.write_csv(args.csv, table_rows)
    if args.plot:
        import plot # Late: matplotlib takes a second.
        plot.plot(args.plot, table_rows, f"{manifest['cpu']}, DPDK {manifest['dpdk']}, "
                  f"{'hugepages' if manifest['hugepages'] else 'no hugepages'}, {manifest['date']}")
    written = [path for path in (args.json, args.csv, args.plot) if path]
    if written:
        print("\nwritten: " + ", ".join(written))


if __name__ == "__main__":
    # As an interrupt, so that processes and namespaces end with us; but for nohup's.
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
    try:
        sys.exit(main())
    except run.RunError as error:
        sys.exit(f"\nthroughput: {error}")
    except KeyboardInterrupt:
        sys.exit("\nthroughput: interrupted")
