# SPDX-License-Identifier: BSD-3-Clause
"""What each app is run with: its modes, its traffic, and the flags that say so."""
import json
import os

MODES = {  # of each app
    "echo": ["increment", "reflect"],
    "maglev": ["ip", "mac", "nat"],  # Its encapsulation.
    "kv": ["mica"],  # Its protocol.
    "logmon": ["lines"],  # Its transport.
    "telemetry": ["sketch", "univmon"],
}
# Of a sample. Echo has no table to fill first.
SECONDS = {"echo": 0.3, "maglev": 1.0, "kv": 1.0, "logmon": 1.0, "telemetry": 1.0}
MAGLEV_BACKENDS = 1000
MAGLEV_FLOWS = {"16 flows": 16, "2^20 flows": 1 << 20}


# Of each datagram of sluice-kv's client.
KV_REQUESTS = {"1 request": 1, "16 requests": 16}
KV_CLIENT = "items=1000000+get=0.95+zipf=0.99+outstanding=4096"

# Sets of filters: configs/logmon-NAME.json. Text fills frames of 1518 bytes, FCS included: chunks of
# 1472 bytes behind the headers of Ethernet, IPv4 and UDP.
LOGMON_SETS = ["light", "heavy"]
LOGMON_FRAME = 1518
LOGMON_CHUNK = LOGMON_FRAME - 4 - 14 - 20 - 8

TELEMETRY_FLOWS = 200_000
# The settings of the same contestants of sluice-telemetry-bench.
TELEMETRY_MODES = {
    "sketch": ["--levels=1"],
    "univmon": ["--levels=16", "--level_columns=8192", "--level_top_k=250"],
}


def modes_of(app, asked):
    """Those of the asked modes that an app has; all that it has if nothing was asked."""
    return [mode for mode in asked or MODES[app] if mode in MODES[app]]


def echo_traffic(sizes, captures):
    """Flags by the name of the traffic. `captures`: files by name."""
    return ({size: [f"--frame_size={size}"] for size in sizes}
            | {name: [f"--pcap={file}"] for name, file in captures.items()})


def maglev_traffic():
    """The same; the app sends to the VIPs of its configuration by itself."""
    return {name: ["--frame_size=64", f"--flows={flows}"] for name, flows in MAGLEV_FLOWS.items()}


def kv_traffic():
    """The same; a client of the app's own stands behind the NIC."""
    return {name: ["--items=2000000", f"--client={KV_CLIENT}+batch={requests}"]
            for name, requests in KV_REQUESTS.items()}


def logmon_traffic(texts):
    """The same. `texts`: a folder with a log for each set of filters, as the benchmark scans it."""
    return {name: ["--log_as=lines", f"--frame_size={LOGMON_FRAME}", f"--log={texts}/{name}.log",
                   f"--filters=configs/logmon-{name}.json"] for name in LOGMON_SETS}


def telemetry_traffic():
    """The same; popularity by Zipf 1.0."""
    return {f"{TELEMETRY_FLOWS // 1000}k flows": [
        "--frame_size=64", f"--flows={TELEMETRY_FLOWS}", "--zipf=1", "--pace=fixed",
        "--probability=0.01", "--columns=65536", "--top_k=100"]}


def maglev_config(encapsulation):
    """One VIP of many backends, as the papers measure, at the defaults of the app."""
    backends = [{"address": f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}",
                 "mac": f"02:00:00:01:{i >> 8:02x}:{i & 255:02x}"}
                for i in range(1, MAGLEV_BACKENDS + 1)]
    return {"next_hop": "02:00:00:00:00:01",
            "vips": [{"address": "192.0.2.1", "port": 80, "protocol": "tcp",
                      "encapsulation": encapsulation, "backends": backends}]}


def maglev_configs(folder):
    """A file of each encapsulation."""
    files = {mode: os.path.join(folder, f"maglev-{mode}.json") for mode in MODES["maglev"]}
    for mode, path in files.items():
        with open(path, "w", encoding="utf-8") as file:
            json.dump(maglev_config(mode), file)
    return files


def flags(args, captures, folder):
    """Flags by (app, mode, traffic), in the order of the rows. Files go to `folder`."""
    found = {}
    for app in args.apps:
        configs = maglev_configs(folder) if app == "maglev" else {}
        if app == "maglev":
            traffics = maglev_traffic()
        elif app == "kv":
            traffics = kv_traffic()
        elif app == "logmon":
            traffics = logmon_traffic(folder)
        elif app == "telemetry":
            traffics = telemetry_traffic()
        else:
            traffics = echo_traffic(args.sizes, captures)
        for mode in modes_of(app, args.mode):
            for traffic, given in traffics.items():
                # What is not echo has no --mode: its other flags say it.
                said = {"echo": [f"--mode={mode}"], "telemetry": TELEMETRY_MODES.get(mode),
                        "maglev": [f"--config={configs.get(mode)}"]}
                found[app, mode, traffic] = given + said.get(app, [])
    return found
