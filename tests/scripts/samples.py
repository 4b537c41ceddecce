# SPDX-License-Identifier: BSD-3-Clause
"""Handwritten samples of scripts/throughput for the tests of its reports, which derive every
expected value from them."""
import pathlib
import sys

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path[:0] = [str(SCRIPTS / "bench"), str(SCRIPTS / "reporting")]


def sample(iface="streaming", cycles=5.0, mpps=100.0, **fields):
    return {"app": "echo", "mode": "increment", "iface": iface, "traffic": "64", "duration_s": 1.0,
            "mpps": mpps, "gbps": mpps * 0.512, "cycles_per_pkt": cycles, "worker_busy": 0.9,
            "device_busy": 0.5, "drops": {"rx_full": 2, "tx_full": 3}, "lost": 0,
            "ctx_switches": 1, "round": 0} | fields


def maglev(iface, cycles, traffic="16 flows", mode="ip", **fields):
    """Returns a sample at 2.5 GHz: with 100 cycles, a packet costs 40 ns, and a worker that is busy
    all the time sends 25 Mpps."""
    return sample(iface, cycles, 2500 / cycles, app="maglev", mode=mode, traffic=traffic,
                  worker_busy=1.0, **fields)


def kv(iface, cycles, traffic="1 request", **fields):
    """Returns a sample with times like those of maglev()."""
    return sample(iface, cycles, 2500 / cycles, app="kv", mode="mica", traffic=traffic,
                  worker_busy=1.0, wire={"client_get_p50_ns": 1500, "client_get_p99_ns": 9000},
                  **fields)


def logmon(iface, cycles, rule_set="light", **fields):
    """Returns a sample in which two datagrams of 1000 bytes each were received and none was
    sent."""
    return sample(iface, cycles, 0.0, app="logmon", mode="lines", traffic=rule_set, rx_pkts=2,
                  tx_pkts=0, drops={},
                  logmon={"sources": {"line_datagrams": 2, "text_bytes": 2000}}, **fields)
