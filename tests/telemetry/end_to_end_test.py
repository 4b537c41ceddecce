#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""end_to_end_test.py SLUICE_TELEMETRY: sends captures of known flows through the model NICs and
compares reports with exact counts: printed, as JSON, CSV and IPFIX, on EAL's telemetry and on
Prometheus. Works without root and without hugepages."""

import collections
import csv
import ipaddress
import json
import math
import os
import pathlib
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import harness

import ipfix_collectors

TELEMETRY = sys.argv.pop()
INTERFACES = {about["name"]: about for about in harness.listing(TELEMETRY, "interfaces")}
EAL = [*harness.MEMORY, "--no-pci", harness.lcores(3)]
PATIENCE_S = 90

Flow = collections.namedtuple("Flow", "source destination protocol source_port destination_port")


def frame_of(flow, payload_bytes):
    """Returns UDP or TCP (RFC 768, 9293) over IPv4 or IPv6 (RFC 791, 8200) over Ethernet. Only the
    IPv4 checksum is computed, since others are not checked."""
    source, destination = (ipaddress.ip_address(a) for a in (flow.source, flow.destination))
    ports = struct.pack(">HH", flow.source_port, flow.destination_port)
    payload = bytes(payload_bytes)
    if flow.protocol == 17:
        l4 = ports + struct.pack(">HH", 8 + len(payload), 0) + payload
    else:
        l4 = ports + struct.pack(">IIBBHHH", 1, 1, 5 << 4, 0x10, 65535, 0, 0) + payload
    if source.version == 4:
        ip = struct.pack(">BBHIBBH4s4s", 0x45, 0, 20 + len(l4), 0, 64, flow.protocol, 0,
                         source.packed, destination.packed)
        total = sum(struct.unpack(">10H", ip))
        total = (total & 0xffff) + (total >> 16)
        ip = ip[:10] + struct.pack(">H", ~((total & 0xffff) + (total >> 16)) & 0xffff) + ip[12:]
        kind = b"\x08\x00"
    else:
        ip = struct.pack(">IHBB16s16s", 6 << 28, len(l4), flow.protocol, 64, source.packed,
                         destination.packed)
        kind = b"\x86\xdd"
    return bytes.fromhex("020000000001020000000002") + kind + ip + l4


ARP = (bytes.fromhex("ffffffffffff0200000000020806") + bytes.fromhex("0001080006040001")
       + bytes.fromhex("0200000000020a0000010000000000000a000002")).ljust(60, b"\0")


class Sample:
    """A capture, and its exact counts."""

    def __init__(self, folder, ipv4_only):
        chance = random.Random(6)
        frames = []
        self.packets = collections.Counter()
        self.bytes = collections.Counter()
        for i in range(60):
            protocol = (6, 17)[i % 2]
            if i % 5 == 4 and not ipv4_only:
                flow = Flow(f"2001:db8:{i % 3 + 1}::{i + 1:x}", "2001:db8:ff::1", protocol, 2000 + i, 53)
            else:
                flow = Flow(f"10.0.{i % 3}.{i + 1}", "192.0.2.1", protocol, 1024 + i, 443)
            frame = frame_of(flow, 20 + i)  # At least 60 bytes, so there is no padding.
            count = 4000 // (i + 1)  # Zipf's law.
            frames += [frame] * count
            self.packets[flow] += count
            self.bytes[flow] += count * len(frame)
        self.other = 0 if ipv4_only else 70
        frames += [ARP] * self.other
        chance.shuffle(frames)
        self.total = len(frames)
        self.path = os.path.join(folder, "sample4.pcap" if ipv4_only else "sample.pcap")
        harness.write_capture(self.path, frames)

    def by(self, key, counts=None):
        """Returns counts by another key, a function of a flow."""
        sums = collections.Counter()
        for flow, count in (self.packets if counts is None else counts).items():
            sums[key(flow)] += count
        return sums

    def entropy(self):
        """Returns Σ f/N · log2(N/f) over flows."""
        total = sum(self.packets.values())
        return sum(f / total * math.log2(total / f) for f in self.packets.values())


def prefix(address, ipv4_bits, ipv6_bits):
    address = ipaddress.ip_address(address)
    bits = ipv4_bits if address.version == 4 else ipv6_bits
    return str(ipaddress.ip_network(f"{address}/{bits}", strict=False))


def flow_of(hitter):
    return Flow(*(hitter[name] for name in Flow._fields))


class Running:
    """A run; the report is on its standard output."""

    count = 0

    def __init__(self, *flags, eal=()):
        Running.count += 1
        self.prefix = f"sluice-telemetry-{os.getpid()}{Running.count:04}"
        self.folder = tempfile.TemporaryDirectory()
        self.log = open(os.path.join(self.folder.name, "log"), "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [TELEMETRY, *EAL, *eal, f"--file-prefix={self.prefix}", "--", "--json=-", "--seed=1",
             "--metrics=0", "--stats_period_s=0.05", *flags],
            stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.url = self.wait(lambda: re.search(r"metrics: (\S+)", self.said()))[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        self.log.close()
        self.folder.cleanup()

    def said(self):
        return pathlib.Path(self.log.name).read_text(encoding="utf-8")

    def wait(self, condition):
        def done():
            assert self.process.poll() is None, self.said()[-3000:]
            return condition()
        return harness.wait_until(done, lambda: self.said()[-3000:], PATIENCE_S)

    def metric(self, name):
        """Returns the sum over labels; None if it does not exist (yet)."""
        with urllib.request.urlopen(self.url, timeout=PATIENCE_S) as answer:
            lines = answer.read().decode().splitlines()
        values = [float(line.split()[-1]) for line in lines
                  if re.match(re.escape(name) + r"[{ ]", line)]
        return sum(values) if values else None

    def ask(self, command):
        return harness.ask(self.prefix, *command.split(",", 1))

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        stdout, _ = self.process.communicate(timeout=PATIENCE_S)
        assert self.process.returncode == 0, self.said()
        return json.loads(stdout)

    def stop_after(self, packets):
        self.wait(lambda: self.metric("sluice_rx_packets_total") == packets)
        return self.stop()


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.samples = {ipv4_only: Sample(cls.folder.name, ipv4_only) for ipv4_only in (0, 1)}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def sample(self, iface="packetized"):
        return self.samples[INTERFACES[iface]["ipv4_only"]]

    def conserved(self, report, sent):
        self.assertEqual(report["app"], "telemetry")
        self.assertEqual(report["rx_pkts"], sent)
        self.assertEqual(report["tx_pkts"], sent)
        self.assertEqual(sum(report["drops"].values()), 0)
        for nothing in ("lost", "corrupted", "duplicated", "reordered"):
            self.assertEqual(report[nothing], 0, nothing)
        self.assertEqual(report["telemetry"]["packets"], sent)
        self.assertEqual(report["telemetry"]["bytes"], report["rx_bytes"])
        self.assertGreater(report["telemetry"]["memory_bytes"], 0)


class Counting(Case):
    KEYS = "5-tuple,source/24,48,destination"

    def test_without_sampling_all_is_exact_and_workers_are_merged(self):
        for iface, workers in harness.each(list(INTERFACES), (2, 1)):
            with self.subTest(iface=iface, workers=workers):
                sample = self.sample(iface)
                with Running(f"--iface={iface}", f"--wire=pcap:{sample.path}+loop=1",
                             f"--workers={workers}", f"--pipes={workers}", f"--keys={self.KEYS}",
                             "--pace=fixed", "--probability=1", "--epoch_s=3600",
                             "--heavy_hitter_share=0") as run:
                    report = run.stop_after(sample.total)
                self.conserved(report, sample.total)
                self.assertEqual(report["telemetry"]["last_epoch"]["workers"], workers)
                self.assertEqual(report["telemetry"]["bytes"],
                                 sum(sample.bytes.values()) + 60 * sample.other)
                self.assertEqual(report["telemetry"]["exact_packets"], sample.total)
                epoch = report["telemetry"]["last_epoch"]
                self.assertEqual(epoch["other_packets"], {"value": sample.other, "bound": 0})
                self.assertEqual(epoch["last_probability"], 1)
                tuples, sources, destinations = epoch["keys"]
                hitters = tuples["heavy_hitters"]
                for hitter in hitters:
                    self.assertEqual((hitter["packets"]["bound"], hitter["bytes"]["bound"]), (0, 0))
                self.assertEqual({flow_of(h): h["packets"]["value"] for h in hitters},
                                 sample.packets)
                self.assertEqual({flow_of(h): h["bytes"]["value"] for h in hitters}, sample.bytes)
                counts = [h["packets"]["value"] for h in hitters]
                self.assertEqual(counts, sorted(counts, reverse=True))
                self.assertEqual(sources["key"], "source/24,48")
                self.assertEqual({h["source"]: h["packets"]["value"]
                                  for h in sources["heavy_hitters"]},
                                 sample.by(lambda flow: prefix(flow.source, 24, 48)))
                self.assertEqual({h["destination"]: h["packets"]["value"]
                                  for h in destinations["heavy_hitters"]},
                                 sample.by(lambda flow: flow.destination))
                self.assertEqual(tuples["distinct_flows"]["value"], 60)
                self.assertAlmostEqual(tuples["entropy_bits"]["value"], sample.entropy(), 6)

    def test_with_sampling_the_truth_lies_within_the_bounds(self):
        rounds = 20 if harness.FULL else 5
        for iface in INTERFACES:
            with self.subTest(iface):
                sample = self.sample(iface)
                # Use one pipe and one epoch, so that the same packets are sampled each time with a
                # given seed.
                with Running(f"--iface={iface}", "--pipes=1", "--pace=fixed", "--probability=0.05",
                             "--epoch_s=3600", f"--wire=pcap:{sample.path}+loop={rounds}") as run:
                    report = run.stop_after(sample.total * rounds)
                self.conserved(report, sample.total * rounds)
                self.assertEqual(report["telemetry"]["exact_packets"], 0)
                epoch = report["telemetry"]["last_epoch"]
                self.assertAlmostEqual(epoch["last_probability"], 0.05, 3)
                key, = epoch["keys"]
                within = 0
                for hitter in key["heavy_hitters"]:
                    truth = sample.packets[flow_of(hitter)] * rounds
                    bound = hitter["packets"]["bound"]
                    self.assertGreater(bound, 0)
                    error = abs(hitter["packets"]["value"] - truth)
                    within += error <= bound
                    self.assertLess(error, 4 * bound)
                # 95 % within the bound are guaranteed.
                self.assertGreaterEqual(within, 0.85 * len(key["heavy_hitters"]))
                largest = {flow for flow, _ in sample.packets.most_common(5)}
                self.assertEqual({flow_of(h) for h in key["heavy_hitters"][:5]}, largest)
                self.assertLessEqual(key["entropy_bits"]["low"], sample.entropy())
                self.assertGreaterEqual(key["entropy_bits"]["high"], sample.entropy())

    def test_the_oracle_counts_flows_exactly(self):
        sample = self.sample()
        rounds = 5
        with Running("--oracle", "--oracle_one_in=2", "--pace=fixed", "--probability=0.1",
                     "--epoch_s=3600", f"--wire=pcap:{sample.path}+loop={rounds}") as run:
            report = run.stop_after(sample.total * rounds)
        key, = report["telemetry"]["last_epoch"]["keys"]
        known = [h for h in key["heavy_hitters"] if "exact" in h]
        self.assertGreater(len(known), 0)
        self.assertLess(len(known), len(key["heavy_hitters"]))
        for hitter in known:
            flow = flow_of(hitter)
            self.assertEqual(hitter["exact"], {"packets": sample.packets[flow] * rounds,
                                               "bytes": sample.bytes[flow] * rounds})
        self.assertGreater(key["oracle"]["mean_relative_error"], 0)
        self.assertGreater(key["oracle"]["mean_relative_bound"],
                           key["oracle"]["mean_relative_error"])

    def test_always_correct_begins_exactly(self):
        sample = self.sample()
        with Running(f"--wire=pcap:{sample.path}+loop=1", "--epoch_s=3600") as run:
            report = run.stop_after(sample.total)
        self.assertEqual(report["telemetry"]["exact_packets"], sample.total)
        key, = report["telemetry"]["last_epoch"]["keys"]
        self.assertEqual(key["table"], {"complete": True, "flows": 60, "flows_left": 0,
                                        "packets": sample.total - sample.other})
        self.assertEqual({flow_of(h): h["packets"]["value"] for h in key["heavy_hitters"]},
                         {flow: count for flow, count in sample.packets.items()
                          if count >= 0.0005 * sample.total})
        for hitter in key["heavy_hitters"]:
            self.assertEqual(hitter["packets"]["bound"], 0)
            self.assertEqual(hitter["counted_by"], "table")
        self.assertEqual(key["distinct_flows"], {"value": 60, "low": 60, "high": 60})
        self.assertAlmostEqual(key["entropy_bits"]["value"], sample.entropy(), 6)

    def test_flows_for_which_the_table_has_no_room_are_counted_by_the_sketch(self):
        sample = self.sample()
        with Running(f"--wire=pcap:{sample.path}+loop=1", "--epoch_s=3600", "--exact_flows=50",
                     "--pipes=1", "--heavy_hitter_share=0") as run:
            report = run.stop_after(sample.total)
        key, = report["telemetry"]["last_epoch"]["keys"]
        self.assertFalse(key["table"]["complete"])
        self.assertEqual(key["table"]["flows"], 50)
        by = collections.Counter(hitter["counted_by"] for hitter in key["heavy_hitters"])
        self.assertEqual(by, {"table": 50, "sketch": 10})  # 512 flows would fit.
        # There are too few packets for the sketch to converge, so the sketch also counts all of
        # them.
        self.assertEqual({flow_of(h): h["packets"]["value"] for h in key["heavy_hitters"]},
                         sample.packets)

    def test_always_line_rate_samples_when_there_is_much(self):
        with Running("--pace=line_rate", "--full_rate_pps=1000", "--epoch_s=0.1") as run:
            run.wait(lambda: (run.metric("sluice_telemetry_update_ratio") or 1) < 1)
            report = run.stop()
        self.conserved(report, report["rx_pkts"])
        self.assertIn(report["telemetry"]["least_probability"], [2 ** -i for i in range(1, 8)])


class Relay:
    """Records IPFIX messages and forwards them to another collector on this machine at the
    collector's pace, so that its socket does not overflow."""

    def __init__(self, collector):
        self.messages = []
        self.collector = collector
        self.ended = threading.Event()
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(0.1)
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self.collect)

    def collect(self):
        while True:
            try:
                self.messages.append(self.socket.recv(65536))
            except TimeoutError:
                if self.ended.is_set():
                    return
            else:
                self.collector.wait(lambda: self.collector.queued() < 32768)
                self.socket.sendto(self.messages[-1], ("127.0.0.1", self.collector.port))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        """Ends the thread after it has read the rest of the socket."""
        self.ended.set()
        self.thread.join()
        self.socket.close()


class Exporting(Case):
    """All exports of one run with short epochs."""

    ROUNDS = 20

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        paths = {kind: os.path.join(cls.folder.name, kind) for kind in ("csv", "json")}
        with ipfix_collectors.Nfcapd(cls.folder.name) as collector:
            with Relay(collector) as relay:
                cls.report = cls.run_sample(
                    *(f"--export_{kind}={path}" for kind, path in paths.items()),
                    "--ipfix_domain=7", "--ipfix_template_s=1",
                    f"--export_ipfix=127.0.0.1:{relay.port}")
            cls.messages = relay.messages
            cls.nfdump_records, cls.nfcapd_said = collector.flows()
            cls.nfdump_table = collector.table()
        with open(paths["json"], encoding="utf-8") as file:
            cls.json_epochs = [json.loads(line) for line in file]
        with open(paths["csv"], encoding="utf-8", newline="") as file:
            cls.csv_text = file.read()

    @classmethod
    def run_sample(cls, *flags):
        sample = cls.samples[False]
        with Running("--pace=fixed", "--probability=1", "--epoch_s=0.03", "--top_k=200",
                     "--heavy_hitter_share=0", "--keys=5-tuple,source/24,48",
                     f"--wire=pcap:{sample.path}+loop={cls.ROUNDS}", *flags) as run:
            return run.stop_after(sample.total * cls.ROUNDS)

    def expected(self):
        sample = self.sample()
        return {flow: count * self.ROUNDS for flow, count in sample.packets.items()}

    def test_files(self):
        report, epochs, text = self.report, self.json_epochs, self.csv_text
        telemetry = report["telemetry"]
        self.assertGreater(telemetry["epochs"], 2)
        for kind in ("csv_epochs", "json_epochs"):
            self.assertEqual(telemetry["exports"][kind], telemetry["epochs"])
        # JSON: epochs are contiguous, and their sum equals the capture.
        self.assertEqual(len(epochs), telemetry["epochs"])
        self.assertEqual(epochs[-1], telemetry["last_epoch"])
        for before, after in zip(epochs, epochs[1:]):
            self.assertLess(before["epoch"], after["epoch"])
            self.assertEqual(before["end_ns"], after["start_ns"])
        self.assertLess(abs(epochs[-1]["end_ns"] / 1e9 - time.time()), 600)
        flows = collections.Counter()
        for epoch in epochs:
            for hitter in epoch["keys"][0]["heavy_hitters"]:
                flows[flow_of(hitter)] += hitter["packets"]["value"]
        self.assertEqual(flows, self.expected())
        # CSV: the sum of the rows also equals the capture.
        self.assertTrue(text.endswith("\r\n"))
        flows, prefixes, total = collections.Counter(), collections.Counter(), 0
        for row in csv.DictReader(text.splitlines()):
            if row["what"] != "packets":
                continue
            value = int(row["value"])
            if row["key"] == "5-tuple":
                flows[Flow(row["source"], row["destination"], int(row["protocol"]),
                           int(row["source_port"]), int(row["destination_port"]))] += value
            elif row["key"] == "source/24,48":
                prefixes[row["source"]] += value
            else:
                self.assertEqual(row["key"], "")
                total += value
        self.assertEqual(total, report["rx_pkts"])
        self.assertEqual(flows, self.expected())
        self.assertEqual(prefixes, self.sample().by(lambda flow: prefix(flow.source, 24, 48),
                                                    self.expected()))

    def test_ipfix_to_nfdump(self):
        self.assertIn("Bad Packets: 0", self.nfcapd_said)
        self.assertEqual(self.report["telemetry"]["exports"]["ipfix_failed"], 0)
        self.assertGreater(self.report["telemetry"]["exports"]["ipfix_messages"], 0)
        flows = collections.Counter()
        for record in self.nfdump_records:
            if record["src_port"]:
                ip = "4" if "src4_addr" in record else "6"
                flows[Flow(record[f"src{ip}_addr"], record[f"dst{ip}_addr"], record["proto"],
                           record["src_port"], record["dst_port"])] += record["in_packets"]
        self.assertEqual(flows, self.expected())
        # Debian's nfdump shows firewall events by default.
        self.assertNotIn("INVALID", self.nfdump_table)
        most = max((flow for flow in flows if "." in flow.source), key=flows.get)
        self.assertRegex(self.nfdump_table,
                         rf"{re.escape(most.source)}:{most.source_port} .* {flows[most]} ")

    def test_ipfix_to_wireshark(self):
        self.assertEqual(len(self.messages),
                         self.report["telemetry"]["exports"]["ipfix_messages"])
        with tempfile.TemporaryDirectory() as folder:
            records = ipfix_collectors.tshark_records(self.messages, folder)
        flows, octets, totals = collections.Counter(), collections.Counter(), collections.Counter()
        for record in records:
            if record["set"] == 259:
                totals[record["domain"]] += int(record["packets"])
            elif record["domain"] == 7:
                self.assertIn(record["set"], (256, 257))  # In these sets, all values are exact.
                six = "v6" if record["set"] == 257 else ""
                flow = Flow(record["srcaddr" + six], record["dstaddr" + six],
                            int(record["protocol"]), int(record["srcport"]), int(record["dstport"]))
                flows[flow] += int(record["packets"])
                octets[flow] += int(record["layer2_octet_delta_count"])
        self.assertEqual(flows, self.expected())
        self.assertEqual(octets, {f: n * self.ROUNDS for f, n in self.sample().bytes.items()})
        self.assertEqual(totals, {7: self.report["rx_pkts"], 8: self.report["rx_pkts"]})

    def test_nobody_has_to_listen(self):
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as closed:
            closed.bind(("::1", 0))
            port = closed.getsockname()[1]
        report = self.run_sample(f"--export_ipfix=[::1]:{port}")
        self.assertGreater(report["telemetry"]["exports"]["ipfix_failed"], 0)

    def test_a_file_that_is_full_is_said_at_the_end(self):
        result = subprocess.run([TELEMETRY, *EAL, "--", "--duration_s=0.3", "--epoch_s=0.1",
                                 "--export_csv=/dev/full"], capture_output=True, text=True,
                                timeout=PATIENCE_S, check=False)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("--export_csv=/dev/full", result.stderr.splitlines()[-1])


class Watching(Case):
    def test_without_arguments_there_are_heavy_hitters(self):
        for iface in INTERFACES:
            with self.subTest(iface), Running(f"--iface={iface}", "--epoch_s=0.1") as run:
                run.wait(lambda: (run.metric("sluice_telemetry_epochs_total") or 0) > 2)
                top = run.wait(lambda: run.ask("/sluice/telemetry/top"))
                run.wait(lambda: len(re.findall(r"^  epoch \d+: ", run.said(), re.M)) > 1)
                report = run.stop()
                self.assertIn("65536 frames of 1000 flows, Zipf 1, repeated", run.said())
                self.assertRegex(run.said(), r"telemetry: \d+ epochs, \d+ packets")
            self.conserved(report, report["rx_pkts"])
            self.assertIn("zipf:size=64+flows=1000", report["traffic"])
            self.assertEqual(list(top), [str(i) for i in range(1, 11)])
            self.assertRegex(top["1"]["flow"], r"^(tcp|udp) \S+ > \S+$")
            self.assertGreater(top["1"]["packets"], top["10"]["packets"])

    def test_zipf_traffic_is_of_zipf(self):
        with Running("--pace=fixed", "--probability=1", "--epoch_s=3600") as run:
            run.wait(lambda: (run.metric("sluice_rx_packets_total") or 0) > 65536)
            report = run.stop()
        key, = report["telemetry"]["last_epoch"]["keys"]
        harmonic = sum(1 / i for i in range(1, 1001))
        for i in range(3):
            share = key["heavy_hitters"][i]["packets"]["value"] / report["rx_pkts"]
            self.assertAlmostEqual(share, 1 / (i + 1) / harmonic, delta=0.01)

    def test_commands_and_metrics(self):
        sample = self.sample()
        with Running("--keys=5-tuple,source/24,48", "--pace=fixed", "--probability=1",
                     "--epoch_s=0.2", f"--wire=pcap:{sample.path}+rate=50k") as run:
            # Waits for an epoch that has packets, because the host may not let the NIC run in every
            # epoch.
            epoch = run.wait(lambda: (seen := run.ask("/sluice/telemetry/epoch"))
                             and seen.get("packets") and seen)
            self.assertEqual(epoch["exact_packets"], epoch["packets"])
            self.assertEqual(epoch["key_2"]["key"], "source/24,48")
            self.assertLessEqual(epoch["key_1"]["distinct_flows"], 60)
            run.wait(lambda: len(run.ask("/sluice/telemetry/top,3") or ()) == 3)
            top = run.wait(lambda: run.ask("/sluice/telemetry/top,source/24,48,1"))
            self.assertEqual(list(top), ["1"])
            self.assertIn(top["1"]["flow"], sample.by(lambda flow: prefix(flow.source, 24, 48)))
            self.assertEqual(top["1"]["packets_bound"], 0)
            for bad in ("nothing", "5-tuple,x", "source", "-1"):
                self.assertIn("error", run.ask(f"/sluice/telemetry/top,{bad}"), bad)
            for name in ("packets_total", "exact_packets_total", "memory_bytes", "heavy_hitters",
                         "changed_flows", "distinct_flows", "entropy"):
                self.assertIsNotNone(run.metric("sluice_telemetry_" + name), name)
            self.assertEqual(run.metric("sluice_telemetry_update_ratio"), 1)
            run.stop()

    def test_before_the_first_epoch_has_ended(self):
        with Running("--epoch_s=3600") as run:
            run.wait(lambda: "Mpps" in run.said())
            self.assertIn("error", run.wait(lambda: run.ask("/sluice/telemetry/top")))
            run.wait(lambda: "no epoch has ended" in run.said())
            self.assertEqual(run.stop()["telemetry"]["epochs"], 1)


class Flags(unittest.TestCase):
    @staticmethod
    def refusals(*cases):
        return harness.for_each(cases, lambda flags: harness.fails(
            TELEMETRY, *EAL, "--", *flags.split(), patience_s=PATIENCE_S))

    def test_a_bad_flag_is_named_in_one_line(self):
        for flags, (code, said) in self.refusals(
                "--keys=", "--keys=ports", "--keys=source,", "--keys=source/33",
                "--keys=source/24,129", "--keys=source/24,64,64", "--keys=source,24",
                "--keys=5-tuple/8", "--keys=source,source", "--keys=source/x",
                "--keys=" + ",".join(f"source/{i}" for i in range(9)),
                "--sketch=bloom", "--rows=2", "--rows=17", "--columns=1000",
                "--columns=33554432", "--top_k=0", "--top_k=10001", "--levels=0",
                "--exact_flows=16777217",
                "--levels=25", "--level_columns=3", "--level_top_k=1", "--pace=slow",
                "--probability=0", "--probability=1.5", "--probability=nan",
                "--probability=1e-6", "--probability=often", "--full_rate_pps=0",
                "--epoch_s=0", "--epoch_s=-1", "--epoch_s=3601", "--epoch_s=nan",
                "--heavy_hitter_share=-1", "--change_share=2", "--confidence=1",
                "--oracle_one_in=0 --oracle", "--oracle_flows=0", "--top=101", "--zipf=-1",
                "--zipf=inf", "--ipfix_domain=0", "--ipfix_template_s=0",
                "--ip=10.0.0.1", "--oracle=maybe", "--rows=many"):
            with self.subTest(flags):
                self.assertEqual(code, 2, said)
                self.assertEqual(len(said.splitlines()), 1, said)
                self.assertIn(flags.split("=")[0], said)

    def test_an_export_that_cannot_be(self):
        with tempfile.TemporaryDirectory() as folder:
            for flag, (code, said) in self.refusals(
                    "--export_ipfix=collector", "--export_ipfix=127.0.0.1",
                    "--export_ipfix=127.0.0.1:0", "--export_ipfix=127.0.0.1:65536",
                    "--export_ipfix=127.0.0.1:x", "--export_ipfix=::1:4739",
                    "--export_ipfix=[127.0.0.1]:4739", "--export_ipfix=:4739",
                    f"--export_csv={folder}", f"--export_json={folder}/none/file",
                    f"--export_epochs={folder}/none"):
                with self.subTest(flag):
                    self.assertEqual(code, 2, said)
                    self.assertIn(flag, said.splitlines()[-1])


class Merging(Case):
    """Merges the epochs of two nodes that count half of the frames each, and compares them with a
    node that counts all."""
    FLAGS = ("--keys=5-tuple,source/24,48", "--pace=fixed", "--probability=1", "--sketch_seed=7",
             "--epoch_s=3600", "--columns=1024", "--levels=3", "--top=3")

    def node(self, name, frames, *flags):
        """Runs a node on `frames`. Returns the folder with the files of its epochs."""
        folder = os.path.join(self.folder.name, name)
        os.mkdir(folder)
        capture = os.path.join(folder, "pcap")
        harness.write_capture(capture, frames)
        with Running(f"--wire=pcap:{capture}+loop=1", f"--export_epochs={folder}", *self.FLAGS,
                     *flags) as run:
            report = run.stop_after(len(frames))
        self.assertEqual(report["telemetry"]["exports"]["epoch_files"],
                         report["telemetry"]["epochs"])
        os.unlink(capture)
        return folder

    @staticmethod
    def files(*folders):
        return [str(path) for folder in folders for path in pathlib.Path(folder).glob("*.sluice")]

    def merge(self, files, *flags):
        done = subprocess.run([TELEMETRY, "--merge=" + ",".join(files), "--json=-", *flags],
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    @staticmethod
    def counters(folder):
        """Returns all counters of the only file in `folder`: after the header, the setup of two
        keys, the times and the number of workers (lib/engine/telemetry/export/epoch_file.h)."""
        [path] = Merging.files(folder)
        return pathlib.Path(path).read_bytes()[32 + 112 + 20:]

    def test_halves_make_the_whole(self):
        sample = self.samples[0]
        frames = list(self.frames_of(sample.path))
        half = len(frames) // 2
        a, b = self.node("a", frames[:half]), self.node("b", frames[half:])
        whole = self.node("whole", frames)
        into = {}
        for name, folders in (("halves", (a, b)), ("all", (whole,))):
            into[name] = os.path.join(self.folder.name, name)
            os.mkdir(into[name])
        halves = self.merge(self.files(a, b), f"--export_epochs={into['halves']}",
                            f"--export_csv={into['halves']}/csv",
                            f"--export_json={into['halves']}/json")
        both = self.merge(self.files(whole), f"--export_epochs={into['all']}")
        self.assertEqual(self.counters(into["halves"]), self.counters(into["all"]))
        self.assertEqual(halves["packets"], len(frames))
        self.assertGreaterEqual(halves["workers"], 2)
        for report in (halves, both):
            for name in ("epoch", "start_ns", "end_ns", "workers", "memory_bytes"):
                del report[name]
        self.assertEqual(halves, both)
        for hitter in halves["keys"][0]["heavy_hitters"]:
            self.assertEqual(hitter["packets"],
                             {"value": sample.packets[flow_of(hitter)], "bound": 0})
        with open(into["halves"] + "/json", encoding="utf-8") as file:
            self.assertEqual(json.loads(file.read())["keys"], halves["keys"])
        with open(into["halves"] + "/csv", encoding="utf-8") as file:
            self.assertGreater(len(list(csv.DictReader(file))), 10)
        # Merged files can be merged again.
        self.assertEqual(self.merge(self.files(into["halves"], b))["packets"],
                         len(frames) + len(frames) - half)

    @staticmethod
    def frames_of(path):
        data = pathlib.Path(path).read_bytes()
        at = 24
        while at < len(data):
            length = struct.unpack_from("<I", data, at + 8)[0]
            yield data[at + 16:at + 16 + length]
            at += 16 + length

    def test_what_cannot_be_merged(self):
        frames = list(self.frames_of(self.samples[0].path))[:200]
        [good] = self.files(self.node("good", frames))[:1]
        bad = os.path.join(self.folder.name, "bad")
        pathlib.Path(bad).write_bytes(pathlib.Path(good).read_bytes()[:-1])
        other_name = os.path.join(self.folder.name, "other-name")
        os.symlink(good, other_name)
        for files, said in ((f"{good},{good}", "listed twice"), (f"{good},{bad}", "truncated"),
                            (f"{good},{other_name}", "listed twice"),
                            (__file__, "not an epoch"), (f"{good},/nonexistent", "/nonexistent"),
                            (",".join(["x"] * 33), "at most 32")):
            with self.subTest(said):
                code, complaint = harness.fails(TELEMETRY, f"--merge={files}")
                self.assertEqual(code, 2, complaint)
                self.assertEqual(len(complaint.splitlines()), 1, complaint)
                self.assertTrue(complaint.startswith("--merge="), complaint)
                self.assertIn(said, complaint)
        with self.subTest("into the folder that it comes from"):
            before = pathlib.Path(good).read_bytes()
            code, complaint = harness.fails(TELEMETRY, f"--merge={good}",
                                            f"--export_epochs={os.path.dirname(good)}/.")
            self.assertEqual(code, 2, complaint)
            self.assertTrue(complaint.startswith("--export_epochs="), complaint)
            self.assertEqual(pathlib.Path(good).read_bytes(), before)
        for flag, named in (("--sketch_seed=8", "sketch_seed"), ("--rows=4", "rows"),
                            ("--epoch_s=1800", "epoch_s")):
            with self.subTest(flag):
                [other] = self.files(self.node("other" + named, frames, flag))[:1]
                code, complaint = harness.fails(TELEMETRY, f"--merge={good},{other}")
                self.assertEqual(code, 2, complaint)
                self.assertIn(f"the epoch's --{named} differs from the value of", complaint)

    def test_the_latest_files_are_kept(self):
        folder = os.path.join(self.folder.name, "kept")
        os.mkdir(folder)
        with Running(f"--wire=pcap:{self.samples[0].path}", f"--export_epochs={folder}",
                     "--epoch_s=0.05", "--epochs_kept=3", "--columns=1024",
                     "--levels=1") as run:
            run.wait(lambda: (run.metric("sluice_telemetry_epochs_total") or 0) >= 6)
            report = run.stop()
        self.assertGreater(report["telemetry"]["exports"]["epoch_files"], 5)
        self.assertEqual(len(os.listdir(folder)), 3)


if __name__ == "__main__":
    harness.run_on_all_cpus()
