# SPDX-License-Identifier: BSD-3-Clause
"""The workloads of each app: its modes, its traffic, and their flags."""
import json
import os

MODES = {  # By application.
    "echo": ["increment", "reflect"],
    "maglev": ["ip", "mac", "nat"],  # Encapsulation.
    "kv": ["mica"],  # Protocol.
    "logmon": ["lines"],  # Transport.
    "telemetry": ["sketch", "univmon"],
}
# Duration of a sample. Echo does not need time to fill a table.
SECONDS = {"echo": 0.3, "maglev": 1.0, "kv": 1.0, "logmon": 1.0, "telemetry": 1.0}
MAGLEV_BACKENDS = 1000
MAGLEV_FLOWS = {"16 flows": 16, "2^20 flows": 1 << 20}


# Requests per datagram of sluice-kv's client.
KV_REQUESTS = {"1 request": 1, "16 requests": 16}
KV_CLIENT = "items=1000000+get=0.95+zipf=0.99+outstanding=4096"

# Filter sets: configs/logmon-NAME.json. The text fills frames of 1518 bytes, including the FCS:
# 1472 bytes follow the Ethernet, IPv4 and UDP headers.
LOGMON_SETS = ["light", "heavy"]
LOGMON_FRAME = 1518
LOGMON_CHUNK = LOGMON_FRAME - 4 - 14 - 20 - 8

TELEMETRY_FLOWS = 200_000
# The settings of the corresponding contestants in sluice-telemetry-bench.
TELEMETRY_MODES = {
    "sketch": ["--levels=1"],
    "univmon": ["--levels=16", "--level_columns=8192", "--level_top_k=250"],
}


def modes_of(app, asked):
    """Returns the requested modes that an app has; all of its modes if none is requested."""
    return [mode for mode in asked or MODES[app] if mode in MODES[app]]


def echo_traffic(sizes, captures):
    """Returns flags by the name of the traffic. `captures` are files by name."""
    return ({size: [f"--frame_size={size}"] for size in sizes}
            | {name: [f"--pcap={file}"] for name, file in captures.items()})


def maglev_traffic():
    """Returns flags by the name of the traffic. The app itself sends to the VIPs of its
    configuration."""
    return {name: ["--frame_size=64", f"--flows={flows}"] for name, flows in MAGLEV_FLOWS.items()}


def kv_traffic():
    """Returns flags by the name of the traffic. The NIC's peer is a client within the app."""
    return {name: ["--items=2000000", f"--client={KV_CLIENT}+batch={requests}"]
            for name, requests in KV_REQUESTS.items()}


def logmon_traffic(texts):
    """Returns flags by the name of the traffic. `texts` is a folder with a log for each set of
    filters, with the text that the benchmark scans."""
    return {name: ["--log_as=lines", f"--frame_size={LOGMON_FRAME}", f"--log={texts}/{name}.log",
                   f"--filters=configs/logmon-{name}.json"] for name in LOGMON_SETS}


def telemetry_traffic():
    """Returns flags by the name of the traffic. The popularity is Zipf 1.0."""
    return {f"{TELEMETRY_FLOWS // 1000}k flows": [
        "--frame_size=64", f"--flows={TELEMETRY_FLOWS}", "--zipf=1", "--pace=fixed",
        "--probability=0.01", "--columns=65536", "--top_k=100"]}


def maglev_config(encapsulation):
    """Returns one VIP with many backends, as in the papers' measurements, with the app's
    defaults."""
    backends = [{"address": f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}",
                 "mac": f"02:00:00:01:{i >> 8:02x}:{i & 255:02x}"}
                for i in range(1, MAGLEV_BACKENDS + 1)]
    return {"next_hop": "02:00:00:00:00:01",
            "vips": [{"address": "192.0.2.1", "port": 80, "protocol": "tcp",
                      "encapsulation": encapsulation, "backends": backends}]}


def maglev_configs(folder):
    """Writes a file for each encapsulation."""
    files = {mode: os.path.join(folder, f"maglev-{mode}.json") for mode in MODES["maglev"]}
    for mode, path in files.items():
        with open(path, "w", encoding="utf-8") as file:
            json.dump(maglev_config(mode), file)
    return files


def flags(args, captures, folder):
    """Returns flags by (app, mode, traffic), in the order of the rows. Writes files to `folder`."""
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
                # Only echo has --mode; other apps select the mode with other flags.
                said = {"echo": [f"--mode={mode}"], "telemetry": TELEMETRY_MODES.get(mode),
                        "maglev": [f"--config={configs.get(mode)}"]}
                found[app, mode, traffic] = given + said.get(app, [])
    return found
