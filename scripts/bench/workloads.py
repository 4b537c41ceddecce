# SPDX-License-Identifier: BSD-3-Clause
"""What each app is run with: its modes, its traffic, and the flags that say so."""
import json
import os

IFACES = ["packetized", "streaming", "bilateral"]
APPS = {  # name: what it can be asked for
    "echo": {"ifaces": IFACES, "modes": ["increment", "reflect"]},
    "maglev": {"ifaces": IFACES, "modes": ["ip"]},  # Its encapsulation.
    "kv": {"ifaces": IFACES, "modes": ["mica"]},  # Its protocol.
}
MAGLEV_BACKENDS = 1000
MAGLEV_FLOWS = {"16 flows": 16, "2^20 flows": 1 << 20}


# Of each datagram of sluice-kv's client.
KV_REQUESTS = {"1 request": 1, "16 requests": 16}
KV_CLIENT = "items=1000000+get=0.95+zipf=0.99+outstanding=4096"


def modes_of(app, asked):
    """Those of the asked modes that an app has; all that it has if nothing was asked."""
    return [mode for mode in asked or APPS[app]["modes"] if mode in APPS[app]["modes"]]


def echo_traffic(sizes, captures):
    """Flags by the name of the traffic. `captures`: files by name."""
    return ({size: [f"--frame_size={size}"] for size in sizes}
            | {name: [f"--pcap={file}"] for name, file in captures.items()})


def maglev_traffic(config):
    """The same; the app sends to the VIPs of its configuration by itself."""
    return {name: ["--frame_size=64", f"--flows={flows}", f"--config={config}"]
            for name, flows in MAGLEV_FLOWS.items()}


def kv_traffic():
    """The same; a client of the app's own stands behind the NIC."""
    return {name: ["--items=2000000", f"--client={KV_CLIENT}+batch={requests}"]
            for name, requests in KV_REQUESTS.items()}


def maglev_config():
    """One VIP of many backends, as the papers measure, at the defaults of the app."""
    backends = [{"address": f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}"}
                for i in range(1, MAGLEV_BACKENDS + 1)]
    return {"next_hop": "02:00:00:00:00:01",
            "vips": [{"address": "192.0.2.1", "port": 80, "protocol": "tcp", "encapsulation": "ip",
                      "backends": backends}]}


def flags(args, captures, folder):
    """Flags by (app, mode, traffic), in the order of the rows. Files go to `folder`."""
    found = {}
    for app in args.apps:
        if app == "maglev":
            config = os.path.join(folder, "maglev-1000.json")
            with open(config, "w", encoding="utf-8") as file:
                json.dump(maglev_config(), file)
            traffics = maglev_traffic(config)
        elif app == "kv":
            traffics = kv_traffic()
        else:
            traffics = echo_traffic(args.sizes, captures)
        for mode in modes_of(app, args.mode):
            for traffic, given in traffics.items():
                # Maglev's mode is what its configuration says.
                found[app, mode, traffic] = given + ([f"--mode={mode}"] if app == "echo" else [])
    return found
