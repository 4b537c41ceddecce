# SPDX-License-Identifier: BSD-3-Clause
"""The plan of scripts/throughput --device: points to measure on the models of a card (docs/gpu.md),
and the device arguments of each. The plan fits six minutes."""
import re
from typing import NamedTuple

import captures
import under_test

DEVICE = re.compile(r"(gpu|threads)(:[a-z]+=\d+(\+[a-z]+=\d+)*)?")
SECONDS = 1.0  # Duration of a point.
START_S = 1.0  # Estimated time to start and end a process, including memory registration.
LIMIT_S = 330
HUGEPAGES = 2048
ROUNDS = 2  # All figures of a row come from the better of two samples.
BATCH = "2048"  # The default of `batch=`, in frames.

RATES, APPLICATIONS, LATENCY = "rates", "applications", "latency"
WORKERS = (1, 8, 2, 4)  # By priority.
SMALLEST = "64"
# Offered loads in Mpps, and loads as shares of the interface's highest rate.
LOADS = (0.01, 0.1, 1, 10)
SHARES = (0.5, 0.9)

MAGLEV_FLOWS = 10_000
LOG_BYTES = 1518
MAC = "02:00:00:00:00:01"  # The destination of captured frames.


class Setting(NamedTuple):
    """Device arguments, options of `on=gpu`, and flags of applications that suit an interface."""
    arguments: str = ""
    on: str = ""
    flags: tuple = ()


# The interfaces whose settings differ from the defaults.
SETTINGS = {"bilateral": Setting(flags=("--region_frames=2048",))}


def setting(iface):
    return SETTINGS.get(iface, Setting())


def options_of(text):
    """Returns the options of `on=` by name."""
    return dict(option.split("=") for option in text.split("+") if option)


def on(device, iface):
    """Returns the value of `on=`. Options of `device`, which the user gave, precede those of the
    interface's setting, which are meant for a GPU."""
    kind, _, given = device.partition(":")
    options = (options_of(setting(iface).on) if kind == "gpu" else {}) | options_of(given)
    return kind + (":" if options else "") + "+".join(f"{name}={value}"
                                                      for name, value in options.items())


def arguments(device, iface):
    """Returns the device arguments, except `wire=`, of the model on a card."""
    return ",".join(filter(None, [setting(iface).arguments, f"on={on(device, iface)}"]))


def setting_words(device, iface):
    """Returns device arguments and flags for tables."""
    return " ".join([arguments(device, iface), *setting(iface).flags])


class Point(NamedTuple):
    kind: str
    app: str
    iface: str
    traffic: str
    workers: int = 1
    mpps: float = 0  # The offered load; 0: as much as the NIC accepts.


def batch(device, iface):
    """Returns the maximum number of frames in one turn of a block."""
    return int(options_of(on(device, iface).partition(":")[2]).get("batch", BATCH))


def worker_words(count):
    return f"{count} worker" + ("s" if count > 1 else "")


def rates(ifaces, sizes, counts):
    """Returns the points of the rates by workers, with the interfaces of a workload next to each
    other."""
    return [Point(RATES, "echo", iface, size, count) for count in counts for size in sizes
            for iface in ifaces]


def again(points):
    """Returns the points that are sampled again first."""
    return [point for point in points if point.kind == RATES and point.traffic == SMALLEST]


def applications(apps, ifaces):
    return [Point(APPLICATIONS, app, iface, TRAFFIC[app]) for app in apps if app != "echo"
            for iface in ifaces]


def latencies(highest):
    """`highest` contains the highest rate of one worker by interface, in Mpps."""
    return [Point(LATENCY, "echo", iface, SMALLEST, 1, load) for iface, most in highest.items()
            for load in sorted([*(load for load in LOADS if load < SHARES[-1] * most),
                                *(share * most for share in SHARES)])]


TRAFFIC = {"maglev": f"{SMALLEST}, {MAGLEV_FLOWS} flows",
           "telemetry": f"{SMALLEST}, {under_test.TELEMETRY_FLOWS} flows",
           "kv": "1 request", "logmon": str(LOG_BYTES)}
# The sluice-kv client, with the server's default ports.
KV_WIRE = ("library:libsluice_kv_wire.so+workers=1+partitions=1+mica_port=1024"
           "+memcached_port=11211+items=100000+get=0.95+zipf=0.99+outstanding=4096+batch=1")


def generator(point):
    flows = f"+flows={under_test.TELEMETRY_FLOWS}" if point.app == "telemetry" else ""
    rate = f"+rate={1e6 * point.mpps:.0f}" if point.mpps else ""
    return f"gen:size={point.traffic.split(',')[0]}{flows}{rate}"


def connections(folder):
    """Writes frames of many clients to Maglev's VIP, and returns the path of the capture."""
    path = f"{folder}/connections.pcap"
    payload = bytes(int(SMALLEST) - captures.FCS_BYTES - captures.HEADER_BYTES)
    captures.write(path, [(n, captures.datagram(MAC, n, under_test.DISCARD_PORT, payload))
                          for n in range(MAGLEV_FLOWS)])
    return path


def wires(apps, folder):
    """Returns the `wire=` of applications that need frames for an address or a protocol, by
    application. Writes captures with these frames to `folder`. Maglev does not return the frames
    that it receives, so they are not compared."""
    found = {"kv": KV_WIRE}
    if "maglev" in apps:
        found["maglev"] = f"pcap:{connections(folder)},verify=off"
    if "logmon" in apps:
        [path] = [flag.removeprefix("--pcap=")
                  for flag in under_test.offered("logmon", MAC, LOG_BYTES, folder)]
        found["logmon"] = f"pcap:{path}"
    return found


def flags(point, folder):
    """Returns the flags of a point's application. Captured frames are for another MAC address than
    the NIC's."""
    return [*under_test.FLAGS[point.app](folder), *setting(point.iface).flags,
            *(["--promiscuous"] if point.app == "maglev" else [])]
