# SPDX-License-Identifier: BSD-3-Clause
"""Builds Sluice and measures which NIC interface suits a workload best.

Runs every app on every interface with every traffic on the embedded model NICs, interleaved and
together with stock DPDK peers. Prints one table and the verdict on each target. docs/performance.md
explains the columns.
"""
import argparse
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile

import cable_comparison
import card
import card_plan
import ending
import growth
import host
import instructions
import kv_report
import logmon_report
import output
import paper_ratios
import rows
import rpc_comparison
import run
import targets
import telemetry_report
import workloads
from ending import MEASURED, PAGE
from measurement import GrowthJob, Job

PROGRAM = "throughput"
DEFAULT_CAPTURE = "build/deps/captures/tcpdump.pcap"
QUICK = {"apps": ["echo"], "mode": ["increment"], "sizes": ["64", "1518", "imix"], "pcap": "none",
         "peers": False, "limit_s": 90}
PCAP_HEADER_BYTES = 24


def parse_arguments():
    parser = argparse.ArgumentParser(prog=PROGRAM, description=__doc__.splitlines()[0])
    comma = lambda text: [part for part in text.split(",") if part]
    parser.add_argument("--apps", type=comma, default=[],
                        help=f"of {','.join(workloads.MODES)}; default: echo, and with --device "
                        "all")
    parser.add_argument("--ifaces", type=comma, default=[],
                        help="interfaces to measure; default: all; sluice-echo --list=interfaces "
                        "prints them")
    parser.add_argument("--mode", type=comma, default=[],
                        help="modes to measure; default: all (echo: increment,reflect; telemetry: "
                        "sketch,univmon)")
    parser.add_argument("--sizes", type=comma, default=["64", "512", "1518", "imix", "random"],
                        help="frames of echo: sizes, imix or random; default: "
                        "64,512,1518,imix,random")
    parser.add_argument("--pcap", default=DEFAULT_CAPTURE,
                        help="capture that is the traffic of echo's rows 'capture' and (its frames "
                        "that every NIC can send) 'capture-ipv4'; 'none' omits these rows")
    parser.add_argument("--duration_s", type=float, default=0,
                        help="seconds per sample; default: "
                        + ", ".join(f"{s:g} for {app}" for app, s in workloads.SECONDS.items()))
    parser.add_argument("--repeats", type=int,
                        help=f"samples per row; default: 9, and with --device {card_plan.ROUNDS}")
    parser.add_argument("--limit_s", type=float,
                        help="seconds after which no new round begins, or with --device no new "
                        f"sample; 0: no limit; default: 420, and with --device {card_plan.LIMIT_S}")
    parser.add_argument("--quick", action="store_true",
                        help="measure echo for two minutes: --mode=increment --sizes=64,1518,imix "
                        "--pcap=none --no-peers --limit_s=90")
    parser.add_argument("--peers", action=argparse.BooleanOptionalAction,
                        default=not host.is_bundle(),
                        help="compare echo with stock testpmd, and kv with memcached; default: "
                        "yes, but no in a bundle, which contains neither")
    parser.add_argument("--growth", action="store_true",
                        help="instead of the table, measure the cost of a packet with growing "
                        "numbers of flows, pipes, frames, table entries and workers; --ifaces, "
                        "--duration_s, --repeats, --limit_s, "
                        "--json and --page apply")
    parser.add_argument("--cable", action="store_true",
                        help="instead of the table, measure two processes that are connected by a "
                        "cable between model NICs, on each interface, and by net_memif; "
                        "--duration_s, --repeats and "
                        "--json apply")
    parser.add_argument("--rpc", action="store_true",
                        help="instead of the table, measure the round trip of a null RPC on each "
                        "interface, and compare it with libtirpc over the kernel's UDP and with a "
                        "cache line between two cores; --duration_s, --repeats, --json and --page "
                        "apply")
    parser.add_argument("--device", metavar="gpu|threads",
                        help="instead of the table, measure models on a GPU, across PCIe: rates by "
                        "workers, applications, latency, and bytes on the link; with options, such "
                        "as gpu:batch=512 (docs/gpu.md). threads executes the models on CPUs, to "
                        "test this script. --apps, --ifaces, --sizes, --duration_s, --repeats, "
                        "--limit_s, --quick (echo with one worker), --json and --page apply")
    parser.add_argument("--json", metavar="FILE",
                        help="file of the results; default: throughput.json, growth.json, "
                        f"cable.json, rpc.json or card.json in {MEASURED}")
    parser.add_argument("--csv", metavar="FILE")
    parser.add_argument("--plot", metavar="FILE", help="PNG")
    parser.add_argument("--page", metavar="FILE", default=PAGE,
                        help="HTML page of all results in the default folder of --json, with "
                        f"this run; 'none' omits it; default: {PAGE}")
    args = parser.parse_args()
    kinds = [kind for kind in ("rpc", "cable", "growth", "device") if getattr(args, kind)]
    if len(kinds) > 1:
        parser.error(f"--{kinds[0]} conflicts with --{kinds[1]}: give one of them")
    if args.quick and kinds not in ([], ["device"]):
        parser.error(f"--{kinds[0]} conflicts with --quick: give --repeats=1")
    if args.device and not card_plan.DEVICE.fullmatch(args.device):
        parser.error(f"--device: '{args.device}' is neither gpu nor threads, with options as in "
                     "gpu:batch=512+receivers=8")
    if args.quick:
        vars(args).update(QUICK)
    if args.growth:
        args.apps = growth.APPS
    args.apps = args.apps or (list(workloads.MODES) if args.device else ["echo"])
    args.repeats, args.limit_s = (
        usual if given is None else given for given, usual in
        ((args.repeats, card_plan.ROUNDS if args.device else 9),
         (args.limit_s, card_plan.LIMIT_S if args.device else 420)))
    if args.repeats < 1 or not 0 <= args.duration_s <= 3600:
        parser.error("--repeats must be at least 1, and --duration_s 0 to 3600")
    for size in args.sizes:
        if size not in ("imix", "random") and not (size.isdigit() and 64 <= int(size) <= 1518):
            parser.error(f"--sizes: '{size}' is neither 64..1518 nor imix nor random")
    ending.check_files(parser, args, ("pcap", "json", "csv", "plot", "page"))
    kind = "card" if args.device else kinds[0] if kinds else "throughput"
    args.json = args.json or f"{MEASURED}/{kind}.json"
    if args.pcap not in ("none", DEFAULT_CAPTURE) and not os.path.isfile(args.pcap):
        parser.error(f"--pcap: no file {args.pcap}")
    check_apps(parser, args)
    return args


def check_apps(parser, args):
    for app in args.apps:
        if app not in workloads.MODES:
            parser.error(f"--apps: no app '{app}'; give some of {', '.join(workloads.MODES)}")
        if not workloads.modes_of(app, args.mode):
            parser.error(f"--mode: {app} has only {', '.join(workloads.MODES[app])}")
    modes = {mode for app in args.apps for mode in workloads.MODES[app]}
    if unknown := sorted(set(args.mode) - modes):
        parser.error(f"--mode: no '{unknown[0]}', only {', '.join(sorted(modes))}")


def built(args):
    """Returns the build targets."""
    if args.cable:
        return [cable_comparison.VOLLEY]
    if args.rpc:
        return rpc_comparison.TARGETS
    if args.device:
        return [run.program_of(app) for app in {"echo", *args.apps}]
    benches = growth.TARGETS if args.growth else \
        instructions.BENCHES.values() if counts_instructions(args) else []
    return [*run.targets(args.apps), *benches]


def counts_instructions(args):
    """Returns whether instructions can be counted: a bundle contains neither valgrind nor the
    benches."""
    return "echo" in args.apps and not host.is_bundle()


def choose_interfaces(asked, known):
    if unknown := sorted(set(asked) - set(known)):
        print(f"throughput: --ifaces: no '{unknown[0]}', only {', '.join(known)}", file=sys.stderr)
        sys.exit(2)
    return asked or known


def prepare_captures(args):
    """Returns the captures by the name of the traffic: the capture, and its part that every NIC can
    send."""
    if args.pcap == "none" or "echo" not in args.apps:
        return {}
    if args.pcap == DEFAULT_CAPTURE: # scripts/setup wrote both; a bundle has only the IPv4 one.
        part = {"capture-ipv4": args.pcap.replace(".pcap", "-ipv4.pcap")}
        return part if host.is_bundle() else {"capture": args.pcap} | part
    if host.is_bundle(): # A bundle lacks Scapy, which is needed to extract the IPv4 part.
        return {"capture": args.pcap}
    part = f"build/{pathlib.Path(args.pcap).stem}-ipv4.pcap"
    subprocess.run(["scripts/merge_captures", "--ipv4", part, args.pcap], check=True)
    empty = os.path.getsize(part) <= PCAP_HEADER_BYTES
    return {"capture": args.pcap} | ({} if empty else {"capture-ipv4": part})


def capture_of(args):
    """Returns the description of the capture that is sent; None if none is sent."""
    if args.pcap == "none" or "echo" not in args.apps:
        return None
    path = pathlib.Path(args.pcap)
    origin = path.with_name(path.name + ".origin")
    return {"file": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "origin": origin.read_text().strip() if origin.exists() else str(path)}


def main():
    args = parse_arguments()
    os.chdir(host.ROOT)
    hugepages = host.prepare(built(args), card_plan.HUGEPAGES if args.device else host.HUGEPAGES)
    if args.cable:
        return cable_comparison.main(args, host.manifest_of(hugepages, capture_of(args)))
    if args.rpc:
        return rpc_comparison.main(args, host.manifest_of(hugepages))
    args.ifaces = choose_interfaces(args.ifaces, run.interfaces(args.apps[0]))
    if args.device:
        return card.main(args, host.manifest_of(hugepages))
    manifest = host.manifest_of(hugepages, capture_of(args))
    with tempfile.TemporaryDirectory() as folder:
        return measure_growth(args, manifest, folder) if args.growth else \
            measure_rows(args, manifest, folder)


def measure_rows(args, manifest, folder):
    # Count before sampling, so that a failure here does not lose any samples.
    counts = {iface: instructions.count("build/release", iface, instructions.BURST)
              for iface in instructions.BENCHES
              if counts_instructions(args) and iface in args.ifaces}
    if "logmon" in args.apps:
        run.write_log_texts(folder)
    job = Job(args, workloads.flags(args, prepare_captures(args), folder), manifest["hugepages"])
    job.run()
    if not job.measured:
        return ending.ended(PROGRAM, args, job)
    # Each application decides whether it uses hugepages, and reports it.
    manifest["hugepages"] = manifest["hugepages"] and \
        all(s.get("memory", "hugepages") == "hugepages" for s in job.samples)
    manifest |= {"controls": job.controls, "instructions": counts, "stopped": job.stopped}
    table_rows = rows.build_rows(job.samples, manifest["hugepages"])
    report(args, manifest, table_rows, job.engines, job.comparison)
    failed = any(row["verdict"] == "FAILED" for row in table_rows)
    return ending.ended(PROGRAM, args, job) or (1 if failed else 0)


def measure_growth(args, manifest, folder):
    job = GrowthJob(args, folder)
    job.run()
    if not job.measured:
        return ending.ended(PROGRAM, args, job)
    manifest |= {"stopped": job.stopped}
    print(f"\n{manifest['cpu']}, DPDK {manifest['dpdk']}, "
          f"{'hugepages' if manifest['hugepages'] else 'NO HUGEPAGES'}, {manifest['git'][:12]}\n")
    print("\n".join(growth.lines(job.found, job.bare)))
    if job.workers:
        print("\n" + "\n".join(growth.worker_lines(job.workers)))
    output.write_json(args.json, manifest | {"workers": job.workers}, [
        {"app": growth.CURVES[curve].app, "axis": growth.CURVES[curve].axis, "iface": iface,
         "points": points, "bare_ns": job.bare.get(curve)}
        for (curve, iface), points in job.found.items()])
    ending.print_written(PROGRAM, args, [args.json])
    return ending.ended(PROGRAM, args, job)


def report(args, manifest, table_rows, engines, comparison):
    controls = manifest["controls"]
    ping_pong = [c["ping_pong_cycles"] for c in controls]
    print(f"\n{manifest['cpu']}, {manifest['cpus']} CPUs, DPDK {manifest['dpdk']}, "
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
            print("\n" + "\n".join(lines(table, engines.get(app, []))))
    if found := paper_ratios.lines(table_rows):
        print("\n" + "\n".join(found))
    print("\nTargets (worker TSC cycles or time):")
    stream_cycles = sorted(c["stream_cycles"] for c in controls)[len(controls) // 2]
    for line in targets.verdicts(table_rows, manifest["hugepages"], stream_cycles, engines,
                                 comparison):
        print("  " + line)
    output.write_json(args.json, manifest | {"engines": engines, "comparison": comparison},
                      table_rows)
    if args.csv:
        output.write_csv(args.csv, table_rows)
    if args.plot:
        import plot # Import late: importing matplotlib takes a second.
        plot.plot(args.plot, table_rows, f"{manifest['cpu']}, DPDK {manifest['dpdk']}, "
                  f"{'hugepages' if manifest['hugepages'] else 'no hugepages'}, {manifest['date']}")
    ending.print_written(PROGRAM, args, [path for path in (args.json, args.csv, args.plot) if path])


if __name__ == "__main__":
    ending.run_main(PROGRAM, main)
