# SPDX-License-Identifier: BSD-3-Clause
"""The rows of scripts/instructions: instructions of a worker per packet, counted by callgrind.

The figures are recorded for g++ 12 and x86-64-v3. tests/bench/worker_instructions_test.py fails if
a row grows by more than GROWTH. A change that lowers a figure also records the new one.
"""
import dataclasses
import pathlib
import re
import subprocess
import sys

GROWTH = 0.02
LEAST = 0.5  # A row that lost more than this share was not counted completely.
COMPILER, MARCH = "gcc 12", "x86-64-v3"
FRAME_BYTES = 60  # 64 bytes on the wire, including the FCS, which is not in memory.
BATCHES = 200  # Number of bursts counted for each row.

BENCHES = {  # interface: bench, called with <frame size> <burst> <packets>; prints "<n> packets"
    "packetized": "tests/net_ipu/net_ipu_burst_bench",
    "streaming": "tests/net_enso/net_enso_burst_bench",
    "bilateral": "tests/nic/nic_bilateral_bench",
    "coherent": "tests/nic/nic_coherent_bench",
}


@dataclasses.dataclass(frozen=True)
class Row:
    iface: str
    burst: int
    recorded: float = 0  # 0: not recorded.
    target: float = 0  # 0: no target.
    size: str = str(FRAME_BYTES)  # Or a mix of sizes, "imix" or "random".


ROWS = (
    Row("packetized", 1, 293.86, 300),
    Row("packetized", 32, 49.15, 50),
    Row("packetized", 64, 43.88, 44),
    Row("streaming", 1, 948.82, 1000),
    Row("streaming", 32, 40.46, 40),
    Row("streaming", 64, 25.73, 30),
    Row("streaming", 1024, 11.92, 14),
    Row("streaming", 32, 57.09, size="imix"),
    Row("streaming", 1024, 25.72, size="imix"),
    Row("streaming", 64, 40.07, size="random"),
    Row("bilateral", 1, 447.06, 450),
    Row("bilateral", 32, 32.72, 35),
    Row("bilateral", 64, 23.49, 28),
    Row("bilateral", 256, 16.56, 20),
    Row("bilateral", 32, 57.16, size="imix"),
    Row("bilateral", 256, 39.52, size="imix"),
    Row("coherent", 1, 394.46),
    Row("coherent", 32, 59.80, 60),
)


@dataclasses.dataclass(frozen=True)
class EngineRow:
    """A row of an engine, on frames in memory. Its bench prints "<n> requests" or "<n> packets";
    sluice-logmon's requests are datagrams."""
    name: str
    bench: str
    arguments: tuple
    functions: str  # A pattern. If it also matches a nested function, that function is not counted.
    recorded: float
    target: float


CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"
ENGINE_ROWS = (
    EngineRow("kv, a datagram of 1", "tests/kv/sluice-kv-server-bench", (1000, 1, 1),
              "*WorkerServe*", 834.74, 0),
    EngineRow("kv, a datagram of 16", "tests/kv/sluice-kv-server-bench", (1000, 1, 16),
              "*WorkerServe*", 169.70, 170),
    *(EngineRow(f"kv, memcached's {command}", "tests/kv/sluice-kv-server-bench",
                (1000, 1, 1, command), "*WorkerServe*", recorded, 0)
      for command, recorded in (("get", 1636.53), ("set", 2054.35), ("mg", 2132.61),
                                ("bget", 1173.80), ("bset", 1289.35))),
    EngineRow("logmon, light set, 1472 B", "tests/logmon/sluice-logmon-bench",
              (f"--configs={CONFIGS}", "--count=light", "--chunk=1472"),
              "sluice::test::FramesInMemory::Process(unsigned int)", 2879, 2350),
    EngineRow("echo with addresses", BENCHES["bilateral"], (60, 32, 32 * BATCHES, "layers"),
              "WorkerPollLayers*", 122.35, 0),
    EngineRow("maglev, hot, in bursts", "tests/maglev/sluice-maglev-bench",
              ("--benchmark_filter=^BM_BalancerCounted/",), "WorkerBursts*", 150.30, 152.7),
)


def collect(bench, arguments, options=(), functions="Worker*"):
    """Returns the count per packet or request of each event of callgrind."""
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                           f"--toggle-collect={functions}", *options, bench, *map(str, arguments)],
                          capture_output=True, text=True, check=False)
    echoed = re.search(r"(\d+) (?:packets|requests)", done.stdout)
    events = re.search(r"Events +: (.+)", done.stderr)
    collected = re.search(r"Collected : (.+)", done.stderr)
    if done.returncode != 0 or not echoed or not events or not collected:
        sys.exit(f"instructions: {bench} failed\n{(done.stdout + done.stderr)[-2000:]}")
    return {event: int(number) / int(echoed[1])
            for event, number in zip(events[1].split(), collected[1].split())}


def count(build, iface, burst, size=str(FRAME_BYTES)):
    """Returns the instructions per packet."""
    return collect(f"{build}/{BENCHES[iface]}", (size, burst, burst * BATCHES))["Ir"]


def count_engine(build, row):
    """Returns the instructions per request of an EngineRow."""
    return collect(f"{build}/{row.bench}", row.arguments, functions=row.functions)["Ir"]
