# SPDX-License-Identifier: BSD-3-Clause
"""Applications as devices under test: the flags of each, and its traffic from the generator. All of
them return the frames with their last bytes, the generator's tag, unchanged."""
import json

import captures
import host
import workloads

FLOWS = 10_000
TELEMETRY_FLOWS = 65_536
SOURCES = 16      # Sources of requests and of logs.
LOG_FRAMES = 512  # The text repeats after this many frames.
LINE_PORT = 5140
DISCARD_PORT = 9  # The generator's default.
# IP-in-IP adds 20 bytes, and frames of 1518 bytes must still fit. With an Ensō pipe, the MTU can be
# up to 1522.
MAGLEV_MTU = 1520


def maglev(folder):
    """Writes the configuration with one VIP, the destination of the generator."""
    config = workloads.maglev_config("ip") | {"mtu": MAGLEV_MTU}
    config["vips"][0] |= {"address": captures.DESTINATION, "port": DISCARD_PORT, "protocol": "udp"}
    with open(f"{folder}/maglev.json", "w", encoding="utf-8") as file:
        json.dump(config, file)
    return [f"--config={folder}/maglev.json"]


# Flags of each application. `folder` is for its files.
FLAGS = {
    "echo": lambda folder: ["--mode=increment"],
    "maglev": maglev,
    "kv": lambda folder: [f"--memcached_port={captures.MEMCACHED_PORT}"],
    "logmon": lambda folder: ["--pass_on", f"--line_ports={LINE_PORT}",
                              f"--filters={host.ROOT}/configs/logmon-light.json"],
    "telemetry": lambda folder: ["--pace=fixed", "--probability=0.01", "--top_k=100",
                                 *workloads.TELEMETRY_MODES["sketch"]],
}


def plain(mac, size, flows):
    return [f"--frame_size={size}", f"--flows={flows}", f"--dst_mac={mac}"]


def requests(mac, folder):
    """Writes requests, and returns the generator's flags. The server's response differs from the
    request up to the key, so only tags are compared."""
    captures.write(f"{folder}/requests.pcap",
                   [(n, captures.datagram(mac, n, captures.MEMCACHED_PORT, captures.get_with_key()))
                    for n in range(SOURCES)])
    return [f"--pcap={folder}/requests.pcap", "--verify=tags"]


def logs(mac, size, folder):
    text = size - captures.FCS_BYTES - captures.HEADER_BYTES
    captures.write(f"{folder}/logs.pcap",
                   [(n, captures.datagram(mac, n % SOURCES, LINE_PORT, captures.log_text(text, n)))
                    for n in range(LOG_FRAMES)])
    return [f"--pcap={folder}/logs.pcap"]


def offered(app, mac, size, folder):
    """Returns the generator's flags. `size` is that of --frame_size; kv ignores it."""
    if app == "kv":
        return requests(mac, folder)
    if app == "logmon":
        return logs(mac, int(size), folder)
    return plain(mac, size, TELEMETRY_FLOWS if app == "telemetry" else FLOWS)


def traffic(app, size):
    """Returns the name of the traffic in tables."""
    return "GETK of 94" if app == "kv" else size
