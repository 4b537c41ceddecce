# SPDX-License-Identifier: BSD-3-Clause
"""Compares with Table 1 of the Ensō paper (OSDI'23), one core: the speedup of an application with
pipes over a packetized NIC, next to that of a run. Pure functions, like rows.py."""
from output import ratio
from rows import key

PAPER = {  # By application: the rates with pipes and with a packetized NIC, and their ratio.
    "maglev": ("138 / 23 Mpps", "6.0"),
    "telemetry": ("121 / 33.9 Mpps", "3.6"),
    "kv": ("7.6 / 5.8 Mops", "1.3"),
    "logmon": ("2-100 / 2-53.2 Gb/s", "1.0-1.9"),
}


def lines(rows):
    """Returns a line for each traffic of the paper's applications that was measured on both
    interfaces. Packetized's cycles over streaming's are the ratio of rates, because the workers
    always have packets."""
    form = "{:<17} {:<12} {:>8} {:<22} {:<20} {:<20} {}"
    verdicts = {key(row): row["verdict"] for row in rows}
    out = [form.format(f"{row['app']} {row['mode']}", row["traffic"], PAPER[row["app"]][1],
                       f"({PAPER[row['app']][0]})", ratio(row, "cycles_ratio"),
                       ratio(row, "mpps_ratio"),
                       row["verdict"] or verdicts[key(row | {"iface": "streaming"})]).rstrip()
           for row in rows
           if row["app"] in PAPER and row["iface"] == "packetized" and "cycles_ratio" in row]
    if not out:
        return []
    return ["streaming over packetized, one core, as the Ensō paper's Table 1 (docs/performance.md "
            "explains why ours differ):",
            form.format("app", "traffic", "paper", "", "worker, measured", "delivered, measured",
                        "").rstrip(),
            *out]
