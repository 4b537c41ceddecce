# SPDX-License-Identifier: BSD-3-Clause
"""Runs one sample of an app, a peer, or the control; returns its report as a dict."""
import json
import os
import re
import subprocess
import time

from workloads import LOGMON_CHUNK

PEERS = ["net_null", "net_memif"]
PEER_SECONDS = 1.0
RELEASE = "build/release"
LOGMON_BENCH = "tests/logmon/sluice-logmon-bench"
CONTROL = "tools/control/sluice-control"
# "member" is librte_member's sketch on the same keys; it does not use an interface.
TELEMETRY_CONTESTANTS = {"sketch": "sluice_p0.01", "univmon": "sluice_p0.01_univmon",
                         "member": "rte_member_p0.01"}
MAGLEV_CASES = {"16 flows": "BM_Balancer/16", "2^20 flows": "BM_Balancer/1048576"}
# Lines that EAL prints, and the last line that a model on a card prints.
AFTERWARDS = re.compile(r"EAL: |TELEMETRY: |net_\w+: (the model runs|microseconds until) ")


class RunError(Exception):
    """A process failed; the message contains its command and its last output."""


def execute(command, timeout_s):
    """Runs a command to completion."""
    try:
        return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=timeout_s, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RunError(f"{' '.join(command)}: {error}") from error


def last_json(text):
    """Returns the report at the end of an app's output: the last line that begins an object."""
    try:
        return json.loads(text[text.rfind("\n{") + 1:])
    except json.JSONDecodeError as error:
        raise RunError(f"no JSON report in:\n{text[-500:]}") from error


def program_of(app):
    """Returns the path of an application below the build folder."""
    return f"apps/{app}/sluice-{app}"


def targets(apps):
    """Returns the build targets."""
    return [program_of(app) for app in apps] + [CONTROL] + \
        [ENGINES[app][0] for app in apps if app in ENGINES] + \
        (["apps/kv_client/sluice-kv-client"] if "kv" in apps else [])


def listing(app):
    """Returns the interfaces that an app was built with, in its order: `name`, `model` and more."""
    binary = f"{RELEASE}/{program_of(app)}"
    done = execute([binary, "--list=interfaces"], 10)
    if done.returncode != 0:
        raise RunError(f"{binary} --list=interfaces: {done.stderr.strip()}")
    return json.loads(done.stdout)


def interfaces(app):
    """Returns the names of the interfaces."""
    return [interface["name"] for interface in listing(app)]


def app_command(app, iface, flags, duration_s, eal=()):
    """`flags` select mode and traffic."""
    return [f"{RELEASE}/{program_of(app)}", *eal, *(["--"] if eal else []),
            f"--iface={iface}", f"--duration_s={duration_s:g}", "--stats_period_s=0", "--json=-",
            *flags]


def app_sample(app, iface, flags, duration_s, eal=(), patience_s=60):
    """A run that ends with a report but fails is a sample with a `failure`. `patience_s` is the time
    for the start and the end of the run."""
    command = app_command(app, iface, flags, duration_s, eal)
    done = execute(command, duration_s + patience_s)
    if done.returncode != 0 and "{" not in done.stdout:
        raise RunError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    report = last_json(done.stdout)
    report["source"] = report["traffic"]
    if done.returncode != 0:
        report["failure"] = last_words(done.stderr) or f"exit code {done.returncode}"
    return report


def last_words(said):
    """Returns the last line that a program printed, except for lines of DPDK and its drivers that
    follow every run."""
    lines = [line for line in said.splitlines() if line.strip() and not AFTERWARDS.match(line)]
    return lines[-1] if lines else ""


def maglev_engine(said):
    """Parses Google Benchmark's JSON."""
    found = {result["name"].rsplit("/", 1)[0]: 1e9 / result["items_per_second"]
             for result in last_json(said)["benchmarks"]}
    return {traffic: found[case] for traffic, case in MAGLEV_CASES.items()}


def kv_engine(said):
    """Parses the table of sluice-kv-bench; its last two columns are Mops with Zipf 0.99."""
    row = re.search(r"^partition, cache mode .* ([\d.]+) +([\d.]+)$", said, re.MULTILINE)
    if not row:
        raise RunError(f"no row of the partition in:\n{said[-500:]}")
    return {"get": 1000 / float(row[1]), "set": 1000 / float(row[2])}


def logmon_engine(said):
    """Returns cycles per byte and the memory of sources, from sluice-logmon-bench."""
    return last_json(said)


def telemetry_engine(said):
    """Returns the contestants of sluice-telemetry-bench: those on interfaces by mode, and
    "member"."""
    contestants = {found["name"]: found for found in last_json(said)}
    return {mode: contestants[name] for mode, name in TELEMETRY_CONTESTANTS.items()}


# Benchmarks of engines without an interface: the program, its arguments, and the parser for its
# output.
ENGINES = {
    "maglev": ("tests/maglev/sluice-maglev-bench",
               ["--benchmark_format=json",
                f"--benchmark_filter=^({'|'.join(MAGLEV_CASES.values())})/"], maglev_engine),
    "kv": ("tests/kv/sluice-kv-bench", ["1000000", "1"], kv_engine),  # The rows use as many items.
    "logmon": (LOGMON_BENCH, ["--rounds=3", f"--chunk={LOGMON_CHUNK}", "--json"], logmon_engine),
    "telemetry": ("tests/telemetry/sluice-telemetry-bench",
                  [f"--only={','.join(TELEMETRY_CONTESTANTS.values())}", "--json"],
                  telemetry_engine),
}


def program_says(program, arguments):
    """Returns the output of a program of the build."""
    done = execute([f"{RELEASE}/{program}", *arguments], 120)
    if done.returncode != 0:
        raise RunError(f"{program}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def engine_sample(app):
    """Returns CPU time: for maglev in ns per packet, by traffic; for kv in ns per operation; for
    logmon and telemetry the output of their benchmarks."""
    program, arguments, read = ENGINES[app]
    return read(program_says(program, arguments))


def write_log_texts(folder):
    """Writes a log for each set of filters, with the text that the benchmark scans."""
    program_says(LOGMON_BENCH, [f"--texts={folder}"])


def control():
    """Measures the current cost of the memory system: ping_pong_cycles, stream_cycles."""
    return json.loads(program_says(CONTROL, []))


# --- peers: stock testpmd, with its fastest flags; 60 bytes + FCS = 64 -------------------------

def testpmd(cores, eal, forwarding):
    """A testpmd with a prompt."""
    command = ["dpdk-testpmd", "--lcores", cores, "--no-pci", "--no-telemetry", *eal, "--", "-i",
               "--forward-mode=macswap", "--burst=64", "--txpkts=60", "--nb-cores=1", "--port-topology=loop",
               "--record-core-cycles", *forwarding]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def memory_flags(hugepages, name):
    prefix = f"--file-prefix=sluice-{name}-{os.getpid()}"
    if hugepages:
        return [prefix, "--in-memory", "--single-file-segments"], ["--rxd=1024", "--txd=1024"]
    return ([prefix, "--no-huge", "-m", "256"],
            ["--rxd=1024", "--txd=1024", "--total-num-mbufs=4096"])


def drive(process, script):
    """Waits and types a command for each (seconds, command). Returns all output of testpmd."""
    try:
        for wait_s, line in script:
            time.sleep(wait_s)
            process.stdin.write(line + "\n")
            process.stdin.flush()
        out, _ = process.communicate(timeout=30)
        return out
    except (BrokenPipeError, subprocess.TimeoutExpired) as error:
        raise RunError(f"testpmd: {error}\n{process.communicate()[0][-2000:]}") from error
    finally:
        process.kill()


def testpmd_report(output, iface, seconds):
    cycles = re.search(r"CPU cycles/packet=([\d.]+)", output)
    packets = re.search(r"Accumulated.*?TX-packets: (\d+).*?TX-dropped: (\d+)", output, re.S)
    if not cycles or not packets:
        raise RunError(f"testpmd on {iface} forwarded nothing:\n{output[-2000:]}")
    mpps = int(packets[1]) / seconds / 1e6
    return {"app": "testpmd", "mode": "macswap", "iface": iface, "traffic": "64", "frame_size": "64",
            "duration_s": seconds, "rx_pkts": int(packets[1]), "tx_pkts": int(packets[1]),
            "drops": {"tx": int(packets[2])}, "mpps": mpps, "gbps": mpps * (64 + 20) * 8 / 1000,
            "cycles_per_pkt": float(cycles[1]), "peer": True}


def net_null_sample(hugepages):
    """Runs macswap on a port that generates and drops frames without shared memory."""
    eal, forwarding = memory_flags(hugepages, "null")
    process = testpmd("0@0,1@1", [*eal, "--vdev=net_null0,size=60"], forwarding)
    output = drive(process, [(0.8, "start"), (PEER_SECONDS, "stop"), (0, "quit")])
    return testpmd_report(output, "net_null", PEER_SECONDS)


def net_memif_sample(hugepages):
    """Runs macswap in two processes that exchange the same 256 frames."""
    socket = os.path.abspath(f"build/memif-{os.getpid()}.sock")

    def end(role, cores, options=""):
        eal, forwarding = memory_flags(hugepages, role)
        process = testpmd(cores, [*eal, f"--vdev=net_memif0,role={role},id=0,rsize=10,"
                                  f"socket={socket},socket-abstract=no{options}"], forwarding)
        time.sleep(0.8)
        return process

    server = end("server", "0@1,1@0")
    client = end("client", "0@0,1@1", ",zero-copy=yes" if hugepages else "")
    try:
        server.stdin.write("start\n")
        server.stdin.flush()
        output = drive(client, [(0.5, "start tx_first 4"), (PEER_SECONDS, "stop"), (0, "quit")])
    finally:
        server.kill()
        server.communicate()
        if os.path.exists(socket):
            os.unlink(socket)
    return testpmd_report(output, "net_memif", PEER_SECONDS)


def peer_sample(name, hugepages):
    return {"net_null": net_null_sample, "net_memif": net_memif_sample}[name](hugepages)
