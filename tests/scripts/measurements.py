# SPDX-License-Identifier: BSD-3-Clause
"""Minimal files of measurements, for the tests of scripts/report."""
import copy
import json
import pathlib
import sys

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
for folder in ("bench", "reporting"):
    sys.path.insert(0, str(SCRIPTS / folder))
import rows  # pylint: disable=wrong-import-position

MANIFEST = {"git": "0123456789abcdef", "cpu": "Some CPU", "cpus": 2, "hugepages": True,
            "dpdk": "22.11.11", "capture": None, "command": "throughput.py", "kernel": "6.1.0",
            "date": "2026-01-02T03:04:05+00:00", "stopped": "",
            "controls": [{"ping_pong_cycles": 300.0, "stream_cycles": 12.5},
                         {"ping_pong_cycles": 320.0, "stream_cycles": 13.5}],
            "instructions": {"packetized": 60.5, "streaming": 64.4, "bilateral": 60.3},
            "engines": {}, "comparison": None}
# Nine quiet samples, relative to the best one.
QUIET = (1.0, 1.005, 1.01, 1.015, 1.02, 1.025, 1.03, 1.035, 1.04)
SLOPPY = (1.0, 1.4, 1.5, 1.6, 1.65, 1.7, 1.75, 1.8, 1.9)  # Noisy: its quartile is 1.5.


def sample(iface, cycles, traffic="64", number=0, **fields):
    return {"app": "echo", "mode": "increment", "iface": iface, "traffic": traffic,
            "duration_s": 0.3, "mpps": 600 / cycles, "gbps": 300 / cycles, "cycles_per_pkt": cycles,
            "worker_busy": 0.9, "device_busy": 0.5, "drops": {}, "lost": 0, "rx_pkts": 1000,
            "tx_pkts": 1000, "ctx_switches": 1, "round": number} | fields


def samples(iface, cycles, factors=QUIET, **fields):
    return [sample(iface, cycles * factor, number=number, **fields)
            for number, factor in enumerate(factors)]


def busy_host():
    """Returns samples of echo by workload, from two busy vCPUs: 9 rounds, 41 of 56 rows were
    noisy."""
    path = pathlib.Path(__file__).with_name("busy_host.json")
    return {workload: [
        sample(iface, cycles, traffic=workload.split()[1], number=number, mode=workload.split()[0],
               mpps=mpps, device_busy=0.98, drops={"tx_unframeable": 1000 * row["dropped"]})
        for iface, row in found.items()
        for number, (cycles, mpps) in enumerate(zip(row["cycles"], row["mpps"]))]
            for workload, found in json.loads(path.read_text()).items()}


def throughput(*found, **manifest):
    """Returns a run with these samples."""
    manifest = copy.deepcopy(MANIFEST) | manifest
    return {"manifest": manifest, "rows": rows.build_rows(list(found), manifest["hugepages"])}


def usual(factor=1.0):
    """Returns a run with three interfaces and two kinds of traffic. With 1518, packetized is noisy,
    and two are alternately cheaper."""
    return throughput(*samples("packetized", 50.0 * factor), *samples("streaming", 20.0 * factor),
                      *samples("bilateral", 10.0 * factor),
                      *samples("packetized", 90.0, SLOPPY, traffic="1518"),
                      *samples("streaming", 40.0, traffic="1518"),
                      *samples("bilateral", 40.0, QUIET[::-1], traffic="1518"),
                      *samples("net_null", 44.0, app="testpmd", mode="macswap", peer=True))


GROWTH = {"manifest": MANIFEST, "rows": [
    {"app": "echo", "axis": "flows", "iface": iface,
     "points": {str(point): [{"cycles_per_pkt": cost + n} for n in range(5)]
                for point, cost in ((16, 10.0), (1024, 12.0), (1048576, 31.5))}}
    for iface in ("packetized", "streaming")]}

PAPER = {"inputs": [{"name": "pcie_oneway", "value": "379ns"}], "counts": {"fitted": 1},
         "rows": [{"section": "Single operations"},
                  {"id": "W1", "what": "host reads 8 bytes", "paper": "750 ns", "source": "W25",
                   "kind": "exact", "ours": 750.0, "unit": "ns", "shown": "750 ns",
                   "tolerance": "0%", "verdict": "fitted", "counted": "fitted"}],
         "plots": {"load": {"Wave, polling": [[0.1, 12.5, 0.5], [0.5, 20.25, 1.5]]},
                   "change": {"Wave, polling": [[100.0, 12.5, 0.0], [1000.0, 13.0, 2.5]]}}}

CURVES = {"manifest": MANIFEST, "curves": [
    {"name": "Latency by load", "origin": "measured", "note": "64 bytes",
     "x": {"label": "load", "unit": "% of saturation", "log": False},
     "y": {"label": "latency", "unit": "us", "log": True},
     "series": [{"name": "streaming p99", "points": [[1, 4.5], [50, 6.25], [90, 40.5]]},
                {"name": "paper's model", "origin": "simulated", "points": [[1, 4.0], [90, 30.0]]}]}]}

ZERO_LOSS = {"manifest": MANIFEST, "zero_loss": [
    {"app": "maglev", "iface": "streaming", "traffic": "64", "origin": "measured", "verdict": "",
     "loss_percent": 0.0, "low_mpps": 9.75, "high_mpps": 10.0, "confidence": 0.95},
    {"app": "maglev", "iface": "bilateral", "traffic": "64", "origin": "measured",
     "verdict": "the generator was the limit", "loss_percent": 0.5, "low_mpps": 1.0,
     "high_mpps": 99.0, "confidence": 0.95}]}


def write(folder, **files):
    """Writes the files; returns paths by name."""
    paths = []
    for name, data in files.items():
        path = pathlib.Path(folder) / f"{name}.json"
        path.write_text(json.dumps(data), encoding="utf-8")
        paths.append(str(path))
    return paths
