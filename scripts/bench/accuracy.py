# SPDX-License-Identifier: BSD-3-Clause
"""Measures the accuracy of sluice-pktgen with the clock of a receiver at the other end of a cable:
rates of mixed sizes, counted by sluice-echo, and gaps in a capture that sluice-echo writes."""
import random
import statistics
import tempfile
import time

import captures
import ends

RATES = (1e3, 1e4, 1e5, 1e6, 2e6, 5e6, 10e6, 20e6)  # Packets per second.
SIZES = "64,128,256"
WINDOW_S = 5
# Time between the start of the run and the window, and between the window and the end of the run.
BEGIN_S = 0.5
MOST_RATE_ERROR = 1e-3
FRAMES = 3000
GAPS_US = (5, 200)
MOST_GAP_ERROR_US = 2
RECEIVER = "echo"


def rate_error(before, after, rate_pps):
    """Returns the relative error of the rate between two replies of a receiver's /sluice/stats."""
    seconds = (after["uptime_ms"] - before["uptime_ms"]) / 1e3
    return (after["rx_pkts"] - before["rx_pkts"]) / seconds / rate_pps - 1


def gap_errors_us(sent_ns, received_ns):
    """Returns the absolute error of each gap between consecutive frames."""
    return [abs((b - a) - (d - c)) / 1e3
            for a, b, c, d in zip(sent_ns, sent_ns[1:], received_ns, received_ns[1:])]


def rate_words(rate_pps, error, report):
    """Returns a line of output; `report` is the generator's report."""
    [stream] = report["streams"]
    head = f"{rate_pps / 1e6:>8.3f} Mpps of {SIZES} bytes: "
    if stream["unsent_pkts"]:
        due = stream["sent_pkts"] + stream["unsent_pkts"]
        return head + (f"this host is too slow: {stream['unsent_pkts']} of {due} frames were not "
                       "sent in time")
    met = "met" if abs(error) < MOST_RATE_ERROR else "NOT MET"
    return head + (f"off by {100 * error:+.4f} %, at most {100 * MOST_RATE_ERROR:g} %: {met}; "
                   f"{stream['lost']} lost")


def gap_words(errors_us):
    errors = sorted(errors_us)
    median = statistics.median(errors)
    met = "met" if median <= MOST_GAP_ERROR_US else "NOT MET"
    return (f"{len(errors)} gaps of a capture, {GAPS_US[0]} to {GAPS_US[1]} us: off by "
            f"{median:.3f} us at the median, at most {MOST_GAP_ERROR_US} us: {met}; 99 % within "
            f"{errors[len(errors) * 99 // 100]:.1f} us")


def vdev(folder):
    return ends.cable(ends.models(ends.GENERATOR)[ends.GENERATOR_IFACE], folder)


def measure_rate(rate_pps, hugepages, window_s=WINDOW_S):
    """Returns the rate's relative error by the receiver's clock, and the generator's report."""
    with tempfile.TemporaryDirectory() as folder, \
            ends.device(RECEIVER, ends.GENERATOR_IFACE, ["--mode=increment"], hugepages,
                        folder) as device:
        flags = [f"--rate={rate_pps:.0f}", f"--duration_s={window_s + 2 * BEGIN_S:g}",
                 f"--frame_size={SIZES}", "--settle_s=0.2"]
        answers = []
        with ends.generator(vdev(folder), flags, hugepages) as generator:
            while device.ask("/sluice/stats")["rx_pkts"] == 0 and generator.poll() is None:
                time.sleep(0.01)
            for wait_s in (BEGIN_S, window_s):
                time.sleep(wait_s)
                answers.append(device.ask("/sluice/stats"))
            report = ends.report_of(generator)
    return rate_error(*answers, rate_pps), report


def measure_gaps(hugepages, count=FRAMES):
    """Returns the error of each gap in us."""
    draw = random.Random(1)
    sent_ns = [0]
    while len(sent_ns) < count:
        sent_ns.append(sent_ns[-1] + draw.randrange(1000 * GAPS_US[0], 1000 * GAPS_US[1]))
    with tempfile.TemporaryDirectory() as folder:
        with ends.device(RECEIVER, ends.GENERATOR_IFACE,
                         ["--mode=increment", f"--capture={folder}/came.pcapng"], hugepages,
                         folder) as device:
            frame = captures.datagram(device.mac, 0, 9, bytes(2 * captures.TAG_BYTES))
            captures.write(f"{folder}/sent.pcap", [(at, frame) for at in sent_ns])
            ends.generate(vdev(folder), [f"--pcap={folder}/sent.pcap", "--loops=1",
                                         "--gaps=original", "--settle_s=0.2"],
                          hugepages, ends.PATIENCE_S)
        with open(f"{folder}/came.pcapng", "rb") as file:
            return gap_errors_us(sent_ns, captures.received_ns(file.read()))


def main(hugepages):
    """Runs scripts/zero_loss --accuracy."""
    for rate_pps in RATES:
        print(rate_words(rate_pps, *measure_rate(rate_pps, hugepages)), flush=True)
    print(gap_words(measure_gaps(hugepages)))
    return 0
