#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""end_to_end_test.py SLUICE_KV: the server and its embedded client on the model NICs, end to end:
every request is answered correctly, and items outlive a run in a snapshot. Works without root and
without hugepages."""

import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import harness

KV = sys.argv.pop()
INTERFACES = harness.interfaces(KV)
EAL = (*harness.MEMORY, "--no-pci", harness.lcores(3), "--")
ITEMS = 2000
CLIENT = f"items={ITEMS}+get=0.5+outstanding=64"
# All items are stored and the client has found some of them.
SERVED = rf"% of gets found, {ITEMS} items; client: gets "
PATIENCE_S = 60


def run_until(condition, *flags):
    """Stops the run with a signal when a statistics line matches. Returns the report."""
    report, lines = harness.run(KV, *EAL, "--json=-", "--stats_period_s=0.05", *flags,
                                until=[condition])
    report["lines"] = lines
    return report


def with_checksum(ip):
    """Returns an IPv4 header of 20 bytes, whose checksum is zero, with its checksum (RFC 791)."""
    total = sum(struct.unpack(">10H", ip))
    total = (total & 0xffff) + (total >> 16)
    return ip[:10] + struct.pack(">H", ~((total & 0xffff) + (total >> 16)) & 0xffff) + ip[12:]


def ascii_frame(request_id, request):
    """Returns memcached over UDP over IPv4 over Ethernet (protocol.txt, RFC 768: no checksum, RFC
    791)."""
    udp = struct.pack(">HHHH", 40000, 11211, 16 + len(request), 0)
    udp += struct.pack(">HHHH", request_id, 0, 1, 0) + request
    ip = struct.pack(">BBHIBBH4s4s", 0x45, 0, 20 + len(udp), 0, 64, 17, 0, bytes((10, 0, 0, 1)),
                     bytes((10, 0, 0, 2)))
    ethernet = bytes.fromhex("0200000000020200000000010800")
    return (ethernet + with_checksum(ip) + udp).ljust(60, b"\0")


def captured_answers(path):
    """Returns the responses from memcached's port by request id (pcapng: blocks of u32 type, u32
    length, …, u32 length; enhanced packet blocks, 6, have the bytes at 28 and their number at 20).
    A frame is captured at each attempt to send it, and omitted if the file is too slow."""
    with open(path, "rb") as file:
        data = file.read()
    at, answers = 0, {}
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        if kind == 6:
            frame = data[at + 28:at + 28 + struct.unpack_from("<I", data, at + 20)[0]]
            if frame[34:36] == struct.pack(">H", 11211):
                request_id = struct.unpack(">H", frame[42:44])[0]
                answers[request_id] = frame[50:34 + struct.unpack(">H", frame[38:40])[0]]
        at += size
    return answers


class Serving(unittest.TestCase):
    def check(self, report, protocol="mica"):
        self.assertEqual(report["rx_pkts"] + report["sent_pkts"],
                         report["tx_pkts"] + report["consumed_pkts"]
                         + sum(report["drops"].values()))
        self.assertEqual(sum(report["drops"].values()), 0)
        self.assertTrue(report["link_up"])
        # The wire counts only events that occurred. Every request has a response: one that arrived
        # after the client's timeout, on a busy machine, counts as late.
        wire = report["wire"]
        self.assertEqual(wire["accepted"], wire["returned"])
        self.assertLessEqual(wire.get("client_lost", 0), wire.get("client_late", 0))
        for nothing in ("wrong", "misses", "refused", "malformed", "unknown"):
            self.assertEqual(wire.get("client_" + nothing, 0), 0, nothing)
        self.assertEqual(wire["client_preloaded"], ITEMS)
        self.assertGreater(wire["client_hits"], 0)
        self.assertGreater(wire["client_stored"], 0)
        self.assertEqual(report["store"]["items"], ITEMS)
        self.assertEqual(report["store"]["evicted"], 0)
        served = report[protocol]
        self.assertGreater(served["get_hits"], 0)
        self.assertEqual(served["get_hits"] + served["sets"], served["requests"])
        for nothing in ("get_misses", "errors", "refused_admin", "cut_replies"):
            self.assertEqual(served[nothing], 0, nothing)
        self.assertEqual(report["mica" if protocol == "memcached" else "memcached"]["requests"], 0)
        self.assertEqual(report["workers"]["handed_over"], report["workers"]["taken_over"])
        self.assertEqual(report["workers"]["lost_on_the_way"], 0)

    def test_every_protocol_on_every_interface(self):
        for iface, (options, protocol) in harness.each(
                INTERFACES, (("protocol=mica+batch=1", "mica"), ("protocol=mica+batch=8", "mica"),
                             ("protocol=binary", "memcached"), ("protocol=ascii", "memcached"))):
            with self.subTest(iface=iface, options=options):
                report = run_until(SERVED, f"--iface={iface}", f"--client={CLIENT}+{options}")
                self.check(report, protocol)
                self.assertEqual(report["iface"], iface)
                if "batch=8" in options:
                    self.assertLess(report["rx_pkts"], report["mica"]["requests"])

    @unittest.skipUnless(harness.has_tcp(KV), "this build has no TCP")
    def test_tcp_clients_read_what_they_stored(self):
        for iface, clients in harness.each(INTERFACES, ("connections=16+bytes=64",
                                                        "connections=50+bytes=30000",
                                                        "connections=2+bytes=1000000")):
            with self.subTest(iface=iface, clients=clients):
                report = run_until("client: requests ", f"--iface={iface}", "--transport=tcp",
                                   f"--clients={clients}")
                self.assertEqual(report["rx_pkts"] + report["sent_pkts"],
                                 report["tx_pkts"] + report["consumed_pkts"]
                                 + sum(report["drops"].values()))
                self.assertGreater(report["clients"]["answered"], 0)
                self.assertEqual((report["lost"], report["corrupted"]), (0, 0), report)
                self.assertEqual(report["tcp"]["bad_segments"], 0)
                served = report["memcached"]
                self.assertGreater(served["get_hits"], 0)
                self.assertEqual(served["get_hits"] + served["sets"], served["requests"])
                self.assertEqual(served["get_misses"] + served["errors"], 0)

    def test_a_run_of_a_given_duration_ends_by_itself(self):
        result = subprocess.run([KV, *EAL, "--json=-", "--duration_s=0.3", f"--client={CLIENT}"],
                                capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        self.assertEqual(report["wire"]["accepted"], report["wire"]["returned"])
        self.assertEqual(report["wire"].get("client_wrong", 0), 0)

    @unittest.skipUnless({"streaming", "packetized"} <= set(INTERFACES), "needs both interfaces")
    def test_a_model_on_threads_sends_requests_that_were_drawn_before(self):
        for iface, options in harness.each(
                ("streaming", "packetized"), ("protocol=mica+batch=8", "protocol=binary")):
            with self.subTest(iface=iface, options=options):
                report = run_until(rf", {ITEMS} items; client: gets ", f"--iface={iface}",
                                   "--on=threads:threads=2", f"--client={CLIENT}+{options}")
                wire = report["wire"]
                self.assertEqual(wire["returned"], wire["offered"])
                self.assertEqual(wire["client_answered"], wire["client_requests"])
                self.assertEqual(wire["client_preloaded"], ITEMS)
                served = report["mica" if "mica" in options else "memcached"]
                self.assertEqual(served["requests"], ITEMS + wire["client_requests"])
                self.assertGreater(wire["client_hits"] + wire["client_stored"], 0)
                self.assertGreater(wire["hash"], 0)
                for nothing in ("wrong", "misses", "refused", "malformed", "unknown", "lost"):
                    self.assertEqual(wire.get("client_" + nothing, 0), 0, nothing)

    def test_a_model_on_threads_refuses_a_protocol_with_short_ids(self):
        result = subprocess.run([KV, *EAL, "--iface=packetized", "--on=threads",
                                 "--client=protocol=ascii"], capture_output=True, text=True,
                                timeout=PATIENCE_S, check=False)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("protocol=ascii: ", result.stderr)

    def test_two_workers(self):
        # RSS ignores memcached's keys. A client with a single socket reaches a single worker, so
        # half of its sets belong to the other one.
        for iface in INTERFACES:
            with self.subTest(iface=iface):
                report = run_until(SERVED, f"--iface={iface}", "--workers=2", "--pipes=2",
                                   f"--client={CLIENT}+protocol=ascii+workers=1+partitions=1")
                self.check(report, "memcached")
                self.assertEqual(len(report["lcores"]), 2)
                self.assertGreater(report["workers"]["handed_over"], 0)

    def test_a_port_a_partition(self):
        report = run_until(SERVED, "--workers=2", f"--client={CLIENT}")
        self.check(report)
        # Two ports, each for IPv4 and IPv6.
        self.assertIn("steering: hardware (4 rules)\n", report["lines"])
        self.assertEqual(report["workers"]["handed_over"], 0)

    def test_batches_for_several_owners(self):
        # This client assumes a single partition: it sends all requests to the first port, and
        # nearly every batch needs both workers.
        for flags in ((), ("--concurrent_read=false",)):
            with self.subTest(flags):
                report = run_until(SERVED, "--workers=2", "--partitions=3", *flags,
                                   f"--client={CLIENT}+batch=8+workers=1+partitions=1")
                self.check(report)
                self.assertGreater(report["workers"]["handed_over"], 0)

    def test_store_mode_one_protocol_alone_an_address_and_an_open_loop(self):
        for protocol, flags, options in (
                ("mica", ("--memcached_port=0", "--ip=192.0.2.7,fd00::7"), "+value=300"),
                ("memcached", ("--mica_port=0",), "+protocol=binary+value=300"),
                ("memcached", ("--mica_port=0",), "+protocol=ascii+rate=2000+zipf=0.99")):
            with self.subTest(protocol=protocol, options=options):
                self.check(run_until(SERVED, "--mode=store", *flags, f"--client={CLIENT}{options}"),
                           protocol)

    def test_a_forged_sender_gets_nothing(self):
        """Frames to a MAC address other than the port's, from ports of servers, and from loopback
        addresses."""
        requests = b"set a 0 0 1\r\nx\r\n"
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "forged.pcap")
            for reason, flags, change in (
                    ("not_ours", (), lambda frame: frame),
                    ("bad_source_port", ("--any_destination",),
                     lambda frame: frame[:34] + struct.pack(">H", 11211) + frame[36:]),
                    ("bad_source", ("--any_destination",),
                     lambda frame: frame[:26] + bytes((127, 0, 0, 1)) + frame[30:])):
                with self.subTest(reason):
                    harness.write_capture(path, [change(ascii_frame(i, requests))
                                                 for i in range(10)])
                    report = run_until(r"drops [1-9]", f"--wire=pcap:{path}+loop=1", *flags)
                    self.assertGreater(report["rx_pkts"], 0)
                    self.assertEqual(report["drops"][reason], report["rx_pkts"])
                    self.assertEqual(report["tx_pkts"] + report["sent_pkts"], 0)


class Snapshots(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.snapshot = os.path.join(folder.name, "items")

    def replay(self, requests, expected, condition, *flags):
        """Compares the captured responses. Returns the report."""
        requests_path = os.path.join(self.folder, "requests.pcap")
        answers_path = os.path.join(self.folder, "answers.pcapng")
        harness.write_capture(requests_path, map(ascii_frame, itertools.count(), requests))
        report = run_until(condition, f"--wire=pcap:{requests_path}+loop=1",
                           f"--capture={answers_path}", "--any_destination", *flags)
        self.assertEqual(report["rx_pkts"], len(requests))
        self.assertEqual(report["wire"]["returned"], len(requests))
        self.assertEqual(sum(report["drops"].values()), 0)
        answers = captured_answers(answers_path)
        self.assertGreater(len(answers), 0)
        self.assertEqual(answers, {i: expected[i] for i in answers})
        return report

    def test_a_later_run_finds_the_items_of_an_earlier_one(self):
        values = {b"key-%d" % i: b"%d:" % i + bytes(48 + (i + j) % 10 for j in range(i % 200))
                  for i in range(ITEMS)}
        sets = [b"set %s %d 0 %d\r\n%s\r\n" % (key, i, len(value), value)
                for i, (key, value) in enumerate(values.items())]
        report = self.replay(sets, [b"STORED\r\n"] * ITEMS, rf" {ITEMS} items",
                             f"--snapshot={self.snapshot}")
        self.assertEqual(report["store"]["items"], ITEMS)
        self.assertNotIn("items.new", os.listdir(self.folder))

        # The second run has a different number of partitions, another mode and another hash seed.
        # One more item shows that all previous requests were served.
        gets = [b"get %s\r\n" % key for key in values] + [b"set last 0 0 1\r\nx\r\n"]
        expected = [b"VALUE %s %d %d\r\n%s\r\nEND\r\n" % (key, i, len(value), value)
                    for i, (key, value) in enumerate(values.items())] + [b"STORED\r\n"]
        for flags in (("--partitions=4",), ("--mode=store", "--partitions=2", "--workers=2",
                                            "--mica_port=0")):
            with self.subTest(flags):
                copy = self.snapshot + ".copy"
                shutil.copyfile(self.snapshot, copy)
                report = self.replay(gets, expected, rf" {ITEMS + 1} items",
                                     f"--snapshot={copy}", *flags)
                self.assertEqual(report["store"]["items"], ITEMS + 1)
                self.assertEqual(report["memcached"]["get_hits"], ITEMS)
                self.assertEqual(report["memcached"]["get_misses"], 0)

    def test_items_of_the_embedded_client(self):
        run_until(SERVED, f"--snapshot={self.snapshot}", f"--client={CLIENT}")
        half = ITEMS // 2  # Half of the items are set again.
        report = run_until(rf"% of gets found, {ITEMS} items; client: gets ",
                           f"--snapshot={self.snapshot}", "--workers=2", "--partitions=3",
                           f"--client=items={half}+get=0.5+outstanding=64")
        self.assertEqual(report["wire"]["client_preloaded"], half)
        self.assertEqual(report["store"]["items"], ITEMS)
        self.assertEqual(report["wire"].get("client_wrong", 0), 0)
        self.assertEqual(report["mica"]["get_misses"], 0)

    def test_a_snapshot_while_it_serves_survives_a_crash(self):
        process = subprocess.Popen(
            [KV, *EAL, "--stats_period_s=0.05", f"--client={CLIENT}", "--workers=2",
             f"--snapshot={self.snapshot}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True)
        for cleanup in (process.stdout.close, process.stderr.close, process.wait, process.kill):
            self.addCleanup(cleanup)  # The last cleanup runs first.
        watchdog = threading.Timer(PATIENCE_S, process.kill)
        watchdog.start()
        self.addCleanup(watchdog.cancel)
        for line in process.stdout:
            if re.search(SERVED, line):
                break
        # The reader runs all the time, so that the pipe never fills.
        lines = []
        reader = threading.Thread(target=lambda: lines.extend(process.stdout))
        reader.start()
        for _ in range(3):
            process.send_signal(signal.SIGHUP)
            said = next(line for line in process.stderr if line.startswith("snapshot"))
            self.assertRegex(said, rf"^snapshot: {ITEMS} items in [\d.]+ s$")
        process.kill()
        process.wait()
        reader.join()
        self.assertTrue(all(", 0 wrong" in line for line in lines if "client: gets" in line), lines)
        half = ITEMS // 2
        report = run_until(SERVED, f"--snapshot={self.snapshot}",
                           f"--client=items={half}+get=0.5+outstanding=64")
        self.assertEqual(report["store"]["items"], ITEMS)
        self.assertEqual(report["snapshots"],
                         {"under_way": 0, "written": 0, "failed": 0, "items": 0,
                          "chains_by_owner": 0})

    @staticmethod
    def content(path):
        if os.path.isdir(path):
            return sorted(os.listdir(path))
        with open(path, "rb") as file:
            return file.read()

    def check_refusals(self, *paths):
        contents = [self.content(path) for path in paths]
        for (path, (code, said)), before in zip(harness.for_each(paths, lambda path: harness.fails(
                KV, *EAL, "--duration_s=1", f"--snapshot={path}")), contents):
            with self.subTest(path):
                self.assertEqual(code, 2, said)
                named = [line for line in said.splitlines() if "--snapshot" in line]
                self.assertEqual(len(named), 1, said)
                self.assertIn(path, named[0])
                self.assertEqual(said.splitlines()[-1], named[0])
                self.assertEqual(self.content(path), before)

    def test_a_file_that_is_not_whole_is_refused_and_left_alone(self):
        self.replay([b"set a 0 0 5\r\nvalue\r\n"], [b"STORED\r\n"], " 1 items",
                    f"--snapshot={self.snapshot}")
        with open(self.snapshot, "rb") as file:
            whole = file.read()
        at = whole.index(b"value")
        folder = os.path.join(self.folder, "bad")
        os.mkdir(folder)
        for name, bad in (("changed", whole[:at] + b"V" + whole[at + 1:]),
                          ("short", whole[:-1]), ("long", whole + b"\0"), ("empty", b""),
                          ("foreign", b"#!/bin/sh\n" + bytes(100))):
            with open(os.path.join(folder, name), "wb") as file:
                file.write(bad)
        self.check_refusals(*(os.path.join(folder, name) for name in os.listdir(folder)), folder)

    def test_a_folder_that_is_not_there_is_said_before_anything_is_stored(self):
        for path in (f"{self.folder}/missing/items", "/dev/null/items"):
            code, said = harness.fails(KV, *EAL, "--duration_s=0.2", f"--client={CLIENT}",
                                       f"--snapshot={path}")
            self.assertEqual(code, 2, said)
            self.assertEqual(len(said.splitlines()), 1, said)
            self.assertIn(f"--snapshot={path}", said)
            self.assertIn("give a file in another", said)

    def test_a_folder_that_vanishes_is_said_at_the_end(self):
        folder = os.path.join(self.folder, "vanishing")
        os.mkdir(folder)
        process = subprocess.Popen([KV, *EAL, "--stats_period_s=0.05", f"--client={CLIENT}",
                                    f"--snapshot={folder}/items"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        while not re.search(SERVED, process.stdout.readline()):
            self.assertIsNone(process.poll())
        os.rmdir(folder)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(process.returncode, 1, said)
        self.assertIn("--snapshot", said.splitlines()[-1])


def model_mac(name):
    """Returns the MAC address of a model NIC of this name: FNV-1a
    (lib/emulator/running_model.cc)."""
    value = 0x811c9dc5
    for byte in name.encode():
        value = (value ^ byte) * 0x01000193 & 0xffffffff
    return bytes((2, 0x53, 0x6c)) + value.to_bytes(4, "big")[1:]


def fragments(frame, identification, part=1480):
    """Yields fragments of an IPv4 frame without options, at most `part` bytes each (RFC 791,
    section 3.2); `part` is a multiple of 8."""
    total = struct.unpack(">H", frame[16:18])[0]
    data = frame[34:14 + total]
    for at in range(0, len(data), part):
        piece = data[at:at + part]
        more = 0x2000 if at + part < len(data) else 0
        ip = frame[14:16] + struct.pack(">HHH", 20 + len(piece), identification, more | at // 8) \
            + frame[22:24] + b"\0\0" + frame[26:34]
        yield (frame[:14] + with_checksum(ip) + piece).ljust(60, b"\0")


class Fragments(unittest.TestCase):
    """Values of 4096 bytes, too large for a frame: they arrive in three fragments, the last one
    first."""

    def run_with(self, iface, condition, *flags):
        value = bytes(97 + i % 26 for i in range(4096))
        models = {i["name"]: i["model"] for i in harness.listing(KV, "interfaces")}
        frames = []
        for i in range(20):
            request = b"set key-%d 0 0 4096\r\n%s\r\n" % (i, value)
            whole = model_mac(models[iface]) + ascii_frame(i, request)[6:]
            frames += reversed(list(fragments(whole, i)))
        frames += frames[:1] + frames[4:5] + frames[4:5]  # One too many, one duplicate.
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "requests.pcap")
            harness.write_capture(path, frames)
            # Use one pipe: frames in several pipes are unordered, and a duplicate fragment may
            # precede the rest of its datagram.
            report = run_until(condition, f"--wire=pcap:{path}+loop=1", "--pipes=1",
                               f"--iface={iface}", "--ip=10.0.0.2", *flags)
        self.assertEqual(report["rx_pkts"] + report["sent_pkts"],
                         report["tx_pkts"] + report["consumed_pkts"]
                         + sum(report["drops"].values()))
        return report

    def test_that_they_are_put_together_on_every_interface(self):
        for iface in INTERFACES:
            with self.subTest(iface):
                report = self.run_with(iface, r", 20 items", "--reassemble=64")
                self.assertEqual(report["rx_pkts"], 63)
                self.assertEqual(report["reassembled_pkts"], 20)
                self.assertEqual(report["memcached"]["sets"], 20)
                self.assertEqual(report["store"]["items"], 20)
                self.assertEqual(report["consumed_pkts"], 40)
                drops = {name: count for name, count in report["drops"].items() if count > 0}
                unfinished = drops.pop("fragment_unfinished", 0)
                self.assertEqual(unfinished + drops.pop("fragment_timed_out", 0), 1)
                self.assertEqual(drops, {"fragment_overlap": 2})

    def test_that_they_are_dropped_by_name_unless_asked_for(self):
        report = self.run_with("packetized", r"drops [1-9]")
        self.assertGreater(report["rx_pkts"], 0)
        self.assertEqual(report["drops"]["fragment"], report["rx_pkts"])
        self.assertEqual(report["reassembled_pkts"], 0)

    def test_that_the_flag_needs_addresses_and_a_number_in_its_range(self):
        for flags, fix in (("--reassemble=8", "--ip"), ("--reassemble=16385 --ip=10.0.0.2", "16384")):
            code, said = harness.fails(KV, *EAL, *flags.split())
            self.assertEqual(code, 2, said)
            self.assertIn("--reassemble=", said.splitlines()[-1])
            self.assertIn(fix, said.splitlines()[-1])


class Flags(unittest.TestCase):
    @staticmethod
    def refusals(*cases):
        return harness.for_each(cases, lambda flags: harness.fails(KV, *EAL, *flags.split()))

    def test_a_bad_flag_is_named_in_one_line(self):
        for flags, (code, said) in self.refusals(
                "--mode=database", "--mode=", "--partitions=1 --workers=2", "--partitions=1025",
                "--memory_mb=3", "--memory_mb=31 --partitions=8", "--memory_mb=1048577",
                "--items=0", "--items=68719476737", "--memcached_port=65536",
                "--memcached_port=1024", "--memcached_port=1031 --partitions=8",
                "--mica_port=65536", "--mica_port=65535 --partitions=2", "--mica_port=4294967295",
                "--max_reply_bytes=1399", "--max_reply_bytes=2097153", "--ip=10.0.0.300",
                "--items=many", "--allow_flush=maybe", "--excess_kb_s=1000000001",
                "--any_destination=perhaps", "--any_source_port=perhaps", "--ip=10.0.0.1",
                "--ip=fd00::1"):
            with self.subTest(flags):
                self.assertEqual(code, 2, said)
                self.assertEqual(len(said.splitlines()), 1, said)
                self.assertIn(flags.split("=")[0], said)

    def test_memory_beyond_the_machine_is_refused_at_the_start(self):
        machine_mb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
        rounded_up = (1 << machine_mb.bit_length() - 1) + 1
        cases = [(f"--mode=store --memory_mb={machine_mb + 1}", "--memory_mb="),
                 # Part of the machine's memory is already in use.
                 (f"--mode=store --memory_mb={machine_mb - 1} --items=1", "--memory_mb="),
                 (f"--mode=cache --memory_mb={rounded_up} --items=1", "--memory_mb=")]
        if machine_mb < 1 << 17:  # The longest index uses 128 GiB.
            cases.append(("--items=68719476736", "--items="))
        for flags, named in cases:
            with self.subTest(flags):
                code, said = harness.fails(KV, *EAL, *flags.split())
                self.assertEqual(code, 1, said)
                self.assertEqual(len(said.splitlines()), 1, said)
                self.assertTrue(said.startswith(named), said)
                available = re.search(r"need (\d+) MiB.*, but only (\d+) MiB is", said)
                self.assertLess(int(available[2]), machine_mb, said)
                self.assertGreater(int(available[1]), int(available[2]), said)

    def test_memory_that_the_kernel_does_not_give_is_refused_at_the_start(self):
        limit = f"ulimit -v {512 << 10}; exec"
        code, said = harness.fails("/bin/sh", "-c", f'{limit} "$@"', "sh", KV, *EAL,
                                   "--memory_mb=1024")
        if "AddressSanitizer" in said:
            self.skipTest("AddressSanitizer itself needs more than the limit")
        self.assertEqual(code, 1, said)
        self.assertEqual(len(said.splitlines()), 1, said)
        self.assertTrue(said.startswith("--memory_mb=1024: "), said)

    def test_all_pages_are_there_before_the_first_request(self):
        """Memory that is allocated later would delay requests by page faults."""
        memory_mb = 512
        command = [KV, *EAL, f"--memory_mb={memory_mb}", f"--client={CLIENT}", "--duration_s=0.2"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
            _, status, used = os.wait4(server.pid, 0)
            server.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(server.returncode, 0)
        self.assertGreater(used.ru_maxrss >> 10, memory_mb)  # In KiB; 2000 items need 80 KiB.

    def test_a_bad_option_of_the_client_is_named_in_one_line(self):
        for option, (code, said) in self.refusals(*map("--client={}".format, (
                "protocol=http", "items=0", "items=268435457+key=16", "items=65+key=1",
                "items=", "key=0", "key=251", "value=7", "value=1301",
                "value=1300+key=250", "get=1.1", "get=-0.1", "get=nan", "zipf=-1",
                "zipf=inf", "rate=-1", "rate=10k", "outstanding=0", "outstanding=32769",
                "batch=0", "batch=256", "verify=yes", "workers=0", "partitions=0",
                "nothing=1", "items", "mica_port=0", "memcached_port=65536"))):
            with self.subTest(option):
                self.assertEqual(code, 2, said)
                self.assertEqual(len(said.splitlines()), 1, said)
                self.assertIn("--client=", said)
        for flags, named in ((("--mica_port=0",), "mica_port"),
                             (("--memcached_port=0", "--client=protocol=ascii"),
                              "memcached_port")):
            code, said = harness.fails(KV, *EAL, *flags)
            self.assertEqual(code, 2, said)
            self.assertIn(named, said)


if __name__ == "__main__":
    harness.run_on_all_cpus()
