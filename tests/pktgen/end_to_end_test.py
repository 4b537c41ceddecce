#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""end_to_end_test.py SLUICE_PKTGEN: sent frames come back on every interface, faults of the wire
are counted exactly, and frames that cannot be sent are reported at the start."""

import collections
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import harness

APP = sys.argv.pop()
NICS = {"packetized": "net_ipu0", "streaming": "net_enso0", "bilateral": "net_ipu0",
        "coherent": "net_ipu0"}
LOSSES = ("lost", "corrupted", "duplicated", "reordered", "foreign")
# A device whose thread waits for a CPU must not make the generator discard frames.
PATIENT = ("--late_ms=60000",)


def run(*flags, eal=harness.MEMORY, until=()):
    return harness.run(APP, *eal, "--", "--json=-", "--stats_period_s=0.2", *flags, until=until)


def none(report):
    """Returns the expected counters of a clean wire: a worker that catches up may send more than
    the wire holds."""
    return dict.fromkeys(LOSSES, 0) | {"lost": report["wire"].get("loopback_full", 0)}


def faulty(iface, faults, *flags):
    """Returns the report of a run whose wire applies this fault to returning frames."""
    eal = (*harness.MEMORY, "--no-pci", f"--vdev={NICS[iface]},wire=loopback,faults={faults},seed=3",
           harness.lcores(2))
    report, _ = run(f"--iface={iface}", *PATIENT, *flags, eal=eal)
    return report


class Interfaces(unittest.TestCase):
    def conserved(self, report):
        self.assertEqual(report["tx_pkts"], sum(s["sent_pkts"] for s in report["streams"]))
        for stream in report["streams"]:
            self.assertEqual(stream["sent_pkts"], stream["untagged_pkts"] + stream["received_pkts"]
                             + stream["lost"] + stream["corrupted"])
            self.assertEqual(stream["latency_ns"]["count"], stream["received_pkts"])

    def test_everything_comes_back(self):
        for iface in harness.interfaces(APP):
            with self.subTest(iface):
                report, _ = run(f"--iface={iface}", "--rate=100k", "--frame_size=imix",
                                "--flows=100", "--duration_s=0.5", *PATIENT)
                self.conserved(report)
                self.assertEqual({name: report[name] for name in LOSSES}, none(report))
                self.assertEqual(report["streams"][0]["sent_pkts"], 50_000)  # Exactly.
                self.assertEqual(report["unsent_pkts"], 0)
                self.assertAlmostEqual(report["mpps"], 0.1, delta=1e-4)

    def test_everything_comes_back_from_a_model_on_threads(self):
        for iface in {"streaming", "packetized"} & set(harness.interfaces(APP)):
            with self.subTest(iface):
                report, _ = run(f"--iface={iface}", "--on=threads:threads=2+receivers=2+senders=2",
                                "--rate=20k", "--frame_size=imix", "--flows=100",
                                "--duration_s=0.5", "--workers=2", *PATIENT)
                self.conserved(report)
                self.assertEqual({name: report[name] for name in LOSSES}, none(report))
                self.assertEqual(report["streams"][0]["sent_pkts"], 10_000)

    def test_no_interface_waits_for_a_link_that_is_up(self):
        for iface in harness.interfaces(APP):
            with self.subTest(iface):
                text = harness.sh(APP, *harness.MEMORY, "--", f"--iface={iface}", "--rate=100k",
                                  "--duration_s=0.1", *PATIENT)
                self.assertIn("stream default: sent 10000 ", text)
                self.assertNotIn("no link", text)

    def test_a_rate_of_few_frames_is_over_the_time_that_was_asked_for(self):
        report, _ = run("--rate=4", "--duration_s=0.5", *PATIENT)
        self.assertEqual((report["tx_pkts"], report["duration_s"]), (2, 0.5))
        self.assertAlmostEqual(report["mpps"], 4e-6)

    def test_what_the_wire_does_is_counted(self):
        # A frame that is held back continues when the wire is idle, which is often the case on a
        # quiet machine.
        cases = (("drop:0.02", "fault_drop", "lost", 300),
                 ("dup:0.02", "fault_dup", "duplicated", 300),
                 ("corrupt:0.02", "fault_corrupt", "corrupted", 300),
                 ("reorder:0.5", "fault_reorder", "reordered", 10))
        # With --full, this is 10^7 frames on each interface.
        load = ("--rate=500k", "--duration_s=5") if harness.FULL else \
            ("--rate=100k", "--duration_s=0.3")
        sent = collections.Counter()
        for iface, (faults, done, found, least) in harness.each(harness.interfaces(APP), cases):
            with self.subTest(iface=iface, faults=faults):
                report = faulty(iface, faults, "--flows=1", "--frame_size=64,300", "--settle_s=0.5",
                                *load)
                self.conserved(report)
                sent[iface] += report["tx_pkts"]
                expected = none(report)
                expected[found] += report["wire"][done]
                self.assertGreater(expected[found], least)
                self.assertEqual({name: report[name] for name in LOSSES}, expected)
        if harness.FULL:
            for iface, total in sent.items():
                print(f"{iface}: {total} frames, and every fault counted", flush=True)
                self.assertGreaterEqual(total, 10_000_000)

    def test_where_frames_are_lost(self):
        report = faulty("packetized", "drop:0.001", "--rate=100k", "--flows=10", "--duration_s=0.5",
                        "--settle_s=0.5")
        ranges = report["streams"][0]["lost_ranges"]
        self.assertEqual(sum(r["count"] for r in ranges), report["lost"])
        self.assertEqual(sorted(r["first"] for r in ranges), [r["first"] for r in ranges])

    def test_several_workers_and_streams(self):
        config = {"streams": [
            {"name": "small", "rate": "50kpps", "ipv4": {"source": {"from": "10.0.0.1",
                                                                   "to": "10.0.0.64"}}},
            {"name": "large", "rate": "100Mbps", "frame_size": [1518, 512],
             "ipv4": {"source": {"from": "10.1.0.1", "to": "10.1.0.64"}}, "tcp": {}},
            {"name": "later", "schedule": "pause:200ms,20k:100ms", "arrivals": "poisson",
             "icmp": {}}]}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "streams.json"
            path.write_text(json.dumps(config), encoding="utf-8")
            for iface in harness.interfaces(APP):
                with self.subTest(iface):
                    report, _ = run(f"--iface={iface}", "--workers=2", f"--streams={path}",
                                    "--duration_s=0.5", *PATIENT)
                    self.conserved(report)
                    self.assertEqual({name: report[name] for name in LOSSES}, none(report))
                    small, large, later = report["streams"]
                    self.assertEqual(small["sent_pkts"], 25_000)
                    # On layer 1, frames of 1518 and 512 bytes, with 20 additional bytes each, have
                    # a total of 16560 bits. The rate allows 5e7 bits.
                    self.assertAlmostEqual(large["sent_pkts"], 2 * 5e7 / 16_560, delta=4)
                    self.assertAlmostEqual(later["sent_pkts"], 2000, delta=6 * 45)


class Captures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "a.pcap")

    @staticmethod
    def datagram(number, payload):
        """Returns UDP without a checksum in IPv4."""
        total = 28 + len(payload)
        ip = struct.pack(">BBHHHBBHII", 0x45, 0, total, 0, 0, 64, 17, 0, 0x0A000001 + number,
                         0x0A0000FF)
        words = sum(struct.unpack(">10H", ip))
        words = (words & 0xFFFF) + (words >> 16)
        ip = ip[:10] + struct.pack(">H", ~words & 0xFFFF) + ip[12:]
        return (bytes.fromhex("020000000001020000000002") + b"\x08\x00" + ip
                + struct.pack(">HHHH", 1000, 2000, 8 + len(payload), 0) + payload)

    def test_loops_end_by_themselves(self):
        harness.write_capture(self.path, [self.datagram(i, bytes(18 + 10 * i)) for i in range(50)]
                              + [self.datagram(1, bytes(4))])
        for flags in (["--gaps=original:100"], ["--rate=1Mpps"], ["--rate=max"]):
            with self.subTest(flags):
                report, _ = run(f"--pcap={self.path}", "--loops=20", *flags, *PATIENT)
                stream = report["streams"][0]
                self.assertEqual(stream["sent_pkts"], 1020)
                self.assertEqual(stream["untagged_pkts"], 20)
                self.assertEqual(stream["received_pkts"], 1000)
                self.assertEqual({name: report[name] for name in LOSSES}, none(report))

    @unittest.skipUnless(harness.FULL, "suite slow: it takes some GiB of memory")
    def test_a_capture_beyond_a_gigabyte_is_refused_before_anything_is_sent(self):
        # Each frame has 1514 bytes on the wire and is truncated to 14 bytes.
        with open(self.path, "wb") as file:
            file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
            file.write((struct.pack("<IIII", 0, 0, 14, 1514) + bytes(12) + b"\x08\x00") * 720_000)
        code, errors = harness.fails(APP, *harness.MEMORY, "--", f"--pcap={self.path}")
        self.assertEqual((code, errors.count("\n")), (2, 1), errors)
        self.assertIn("more than 1 GiB", errors)

    def test_a_clock_that_was_set_is_reported_and_not_waited_for(self):
        frames = [self.datagram(i, bytes(30)) for i in range(3)]
        with open(self.path, "wb") as file:
            file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
            for stamp, frame in zip((0, 1_700_000_000, 1_700_000_000), frames):
                micros = 5000 if frame is frames[2] else 0
                file.write(struct.pack("<IIII", stamp, micros, len(frame), len(frame)) + frame)
        report, _ = run(f"--pcap={self.path}", "--loops=1", "--gaps=original", *PATIENT)
        stream = report["streams"][0]
        self.assertEqual((stream["sent_pkts"], stream["capture"]["clock_jumps"]), (3, 1))

    def test_gaps_are_kept(self):
        # The frames are 1 us apart in the capture. Multiplied by 10000, this makes half a second
        # for 50 frames.
        harness.write_capture(self.path, [self.datagram(i, bytes(30)) for i in range(50)])
        for _ in range(5):  # The last frame is late if the host withdraws the CPU.
            report, _ = run(f"--pcap={self.path}", "--loops=1", "--gaps=original:10000", *PATIENT)
            self.assertEqual(report["streams"][0]["sent_pkts"], 50)
            if report["duration_s"] <= 0.6:
                break
        self.assertAlmostEqual(report["duration_s"], 0.5, delta=0.1)


class Ends(unittest.TestCase):
    def test_a_signal_keeps_what_was_measured(self):
        report, _ = run("--rate=50k", *PATIENT, until=["latency p50", "latency p50"])
        self.assertGreater(report["streams"][0]["received_pkts"], 1000)
        self.assertEqual(report["lost"], none(report)["lost"])

    def test_latencies_are_exported(self):
        with tempfile.TemporaryDirectory() as folder:
            report, _ = run("--rate=10k", "--duration_s=0.2", f"--hgrm={folder}/x-", *PATIENT)
            text = pathlib.Path(folder, "x-default.hgrm").read_text(encoding="utf-8")
        self.assertEqual(text.split()[:4], ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"])
        rows = [line.split() for line in text.splitlines()[2:] if not line.startswith("#")]
        self.assertEqual(int(rows[-1][2]), report["streams"][0]["received_pkts"])
        self.assertEqual(float(rows[-1][1]), 1)

    def test_help_tells_what_flags_mean_here(self):
        text = subprocess.run([APP, "--help"], capture_output=True, text=True, check=True).stdout
        lines = {line.split()[0]: line for line in text.splitlines() if line.startswith("  --")}
        self.assertIn("empty: 1Mpps", lines["--rate"])
        self.assertIn("a list such as 64,1518", lines["--frame_size"])
        self.assertIn("Not supported", lines["--ip"])
        self.assertIn("milliseconds", lines["--late_ms"])

    def test_nothing_back_is_a_failure(self):
        code, errors = harness.fails(
            APP, *harness.MEMORY, "--no-pci", "--vdev=net_ipu0,wire=loopback,faults=drop:1",
            harness.lcores(2), "--", "--duration_s=0.1", "--rate=1k", "--settle_s=0.1")
        self.assertEqual(code, 1)
        self.assertIn("no frame came back", errors)

    def test_what_an_interface_cannot_send_is_told_at_the_start(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "streams.json")
            for headers in ('"ipv6": {"source": "2001:db8::1", "destination": "2001:db8::2"}',
                            '"vlans": [{"id": 5}]'):
                pathlib.Path(path).write_text('{"streams": [{%s}]}' % headers, encoding="utf-8")
                code, errors = harness.fails(APP, *harness.MEMORY, "--", "--iface=streaming",
                                             f"--streams={path}")
                self.assertEqual(code, 2)
                self.assertEqual(len(errors.splitlines()), 1, errors)
                self.assertTrue(errors.startswith("--iface=streaming: "), errors)
                # If the device is on EAL's command line, the queue's error is reported.
                code, errors = harness.fails(APP, *harness.MEMORY, "--no-pci", "--vdev=net_enso0",
                                             "--", "--iface=streaming", f"--streams={path}")
                self.assertEqual(code, 2)
                self.assertTrue(errors.splitlines()[-1].startswith("--iface=streaming: "), errors)
                report, _ = run("--iface=bilateral", f"--streams={path}", "--duration_s=0.1",
                                *PATIENT)
                self.assertEqual(report["lost"], none(report)["lost"])

    def test_rates_beyond_the_line_are_refused(self):
        code, errors = harness.fails(APP, *harness.MEMORY, "--", "--rate=200M", "--line_gbps=100")
        self.assertEqual(code, 2)
        self.assertTrue(errors.startswith("--rate=200M: "), errors)
        self.assertIn("line", errors)


if __name__ == "__main__":
    harness.run_on_all_cpus()
