#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""sluice-echo on the embedded NICs, end to end: every frame is returned or counted, and none is
changed, however the run ends. Works without root and without hugepages."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import harness

ECHO = sys.argv.pop()
INTERFACES = harness.interfaces(ECHO)
EAL = [*harness.MEMORY, "--"]


def run(*flags, eal=(harness.lcores(2),)):
    """Returns the report of a run that ends by itself, after half a second unless a flag overrides
    it."""
    result = subprocess.run([ECHO, *eal, *EAL, "--json=-", "--duration_s=0.3", *flags],
                            capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def run_capture(frames, *flags):
    """Returns the report of a run in which all frames of a capture arrived. A run that is too short
    on this host is repeated with a longer duration."""
    for duration_s in (0.3, 3, 30):
        report = run(f"--duration_s={duration_s}", *flags)
        if report["rx_pkts"] >= frames:
            break
    return report


def run_until_traffic(*flags, eal=(), ending=signal.SIGTERM):
    """Returns the report of a run, on two CPUs unless `eal` overrides it, that is stopped by a
    signal once a thousand frames have passed between two of its lines."""
    echo = subprocess.Popen([ECHO, *eal, *EAL, "--json=-", "--stats_period_s=0.05", *flags],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    watchdog = threading.Timer(60, echo.kill)
    watchdog.start()
    said = []
    for line in echo.stderr:
        said.append(line)
        rate = re.search(r" rx +(\d+\.\d+) Mpps", line)
        if rate and float(rate[1]) >= 0.02:  # At least a thousand frames in 0.05 s.
            break
    echo.send_signal(ending)
    stdout, stderr = echo.communicate()
    watchdog.cancel()
    assert echo.returncode == 0, "".join(said) + stderr
    return json.loads(stdout)


TCP = harness.has_tcp(ECHO)


class EndToEnd(unittest.TestCase):
    def setUp(self):
        # Use a DPDK runtime folder for this test alone.
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(self.check_that_no_run_left_files, os.path.join(folder.name, "dpdk"))
        os.environ["RUNTIME_DIRECTORY"] = folder.name

    def check_that_no_run_left_files(self, folder):
        for left in os.listdir(folder) if os.path.isdir(folder) else []:
            self.assertNotRegex(left, "^sluice-[a-z]+-[0-9]+$")

    def check(self, report):
        self.assertGreater(report["rx_pkts"], 0)
        self.assertEqual(report["rx_pkts"], report["tx_pkts"] + report["consumed_pkts"]
                         + sum(report["drops"].values()))
        for nothing in ("lost", "corrupted", "duplicated", "reordered", "rx_desync_flits"):
            self.assertEqual(report[nothing], 0, nothing)
        self.assertTrue(report["link_up"])

    @unittest.skipUnless(TCP, "this build has no TCP")
    def test_tcp_clients_get_every_byte_back(self):
        for iface in INTERFACES:
            for clients, place in (("connections=16+bytes=64", "host"),
                                   ("connections=100+bytes=30000", "host"),
                                   ("connections=100+bytes=30000", "nic")):
                with self.subTest(iface=iface, clients=clients, place=place):
                    report = run("--transport=tcp", f"--clients={clients}", f"--iface={iface}",
                                 f"--tcp_on={place}", "--duration_s=1")
                    self.assertEqual(report["rx_pkts"] + report["sent_pkts"],
                                     report["tx_pkts"] + report["consumed_pkts"]
                                     + sum(report["drops"].values()))
                    self.assertGreater(report["clients"]["answered"], 0)
                    self.assertEqual((report["lost"], report["corrupted"]), (0, 0), report)
                    self.assertEqual(report["tcp"]["bad_segments"], 0, report)

    def test_every_frame_comes_back_whatever_ends_the_run(self):
        for iface, mode, size, ending in harness.each(
                INTERFACES, ("reflect", "increment"), (64, 1518, "imix", "random"),
                (signal.SIGTERM, signal.SIGINT)):
            with self.subTest(iface=iface, mode=mode, size=size, ending=ending):
                report = run_until_traffic(f"--iface={iface}", f"--mode={mode}",
                                           f"--frame_size={size}", ending=ending)
                self.check(report)
                self.assertEqual((report["iface"], report["frame_size"]), (iface, size))
                self.assertEqual(report["drops"]["tx_unframeable"], 0)
                self.check_links(report)

    def check_links(self, report):
        """Checks that the links of bilateral and coherent report no events. Other interfaces have
        none."""
        self.assertEqual("lines" in report, report["iface"] == "coherent")
        if "lines" in report:
            self.assertGreater(report["lines"]["requests"], 0)
            self.assertEqual(report["lines"]["resets"] + report["lines"]["faults"], 0)
            self.assertIn("net_ipu0 endpoint 0", report["lcores"][0])
        self.assertEqual("links" in report, report["iface"] == "bilateral")
        if "links" in report:
            self.assertGreater(report["links"]["swaps"], 0)
            for nothing in ("resets", "in_doubt", "discarded_pkts", "faults", "rejected"):
                self.assertEqual(report["links"][nothing], 0, nothing)
            self.assertIn("net_ipu0 link 0", report["lcores"][0])

    def test_no_frame_of_a_capture_meets_the_address_filter(self):
        # IPv4/UDP to a station other than the NIC.
        frame = bytes.fromhex("0200000000990200000000980800"
                              "4500002e00000000401166bd0a0000010a000002"
                              "00070007001a0000") + bytes(18)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "in.pcap")
            harness.write_capture(path, [frame] * 500)
            for iface in INTERFACES:
                with self.subTest(iface=iface):
                    report = run_capture(2000, f"--iface={iface}", f"--wire=pcap:{path}+loop=4")
                    self.assertEqual(report["rx_pkts"], 2000)
                    self.assertEqual(report["tx_pkts"], 2000)
                    self.assertEqual(report["device"].get("rx_filtered", 0), 0)
                    self.assertEqual(report["lost"], 0)

    def test_what_enters_the_nic_has_an_ending_when_most_is_dropped(self):
        # Frames of 9018 bytes exceed the default MTU. The device and the worker share the CPU that
        # the device's thread uses by default. While one of them runs the other cannot, so frames
        # find no free descriptors.
        for iface, sizes, named in (("packetized", "64/9018", ("rx_oversize", "rx_no_descriptor")),
                                    ("streaming", "1518", ("rx_pipe_full",)),
                                    ("bilateral", "64/9018", ("rx_oversize", "rx_no_region")),
                                    ("coherent", "64/9018", ("rx_oversize", "rx_no_line"))):
            with self.subTest(iface=iface):
                report = run(f"--iface={iface}", f"--wire=gen:size={sizes}+rate=50M+count=500000",
                             eal=("--lcores=0@0,1@0",))
                self.check(report)
                nic = report["nic_drops"]
                self.assertEqual(report["wire"]["offered"], report["wire"].get("returned", 0)
                                 + report["consumed_pkts"] + sum(report["drops"].values())
                                 + sum(nic.values()) + report["lost"])
                self.assertEqual(sum(nic.values()), report["nic_dropped_pkts"])
                for name in named:
                    self.assertGreater(nic[name], 0, nic)

    def test_a_run_fails_if_the_port_can_accept_none_of_the_frames(self):
        # Frames of 2000 bytes exceed the default MTU and the limit of an Ensō NIC.
        for iface in INTERFACES:
            with self.subTest(iface=iface):
                done = subprocess.run(
                    [ECHO, harness.lcores(2), *EAL, "--json=-", "--duration_s=0.3",
                     f"--iface={iface}", "--wire=gen:size=2000+rate=100k"],
                    capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 1, done.stderr)
                report = json.loads(done.stdout)
                offered = report["wire"]["offered"]
                self.assertEqual(report["nic_drops"]["rx_oversize"], offered)
                self.assertEqual(done.stderr.splitlines()[-1], "no frame from the wire reached a "
                                 f"worker: the NIC dropped {offered} as rx_oversize")

    def test_several_workers_with_addresses_and_a_capture(self):
        for iface in INTERFACES:
            with self.subTest(iface=iface), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "out.pcapng")
                report = run_until_traffic(f"--iface={iface}", "--workers=2", "--pipes=2",
                                           "--ip=10.9.8.7,fe80::7", f"--capture={path},n=100",
                                           eal=(harness.lcores(3),))
                self.check(report)
                self.assertEqual(len(report["lcores"]), 2)
                self.check_capture(path, frames=100)

    @unittest.skipUnless("streaming" in INTERFACES, "needs a streaming interface")
    def test_the_model_on_threads(self):
        """The blocks of threads check every frame themselves."""
        on = "on=threads:threads=2+receivers=2+senders=2,verify=full"
        for size, workers in (("64", 1), ("imix", 2)):
            with self.subTest(size=size, workers=workers):
                vdev = f"--vdev=net_enso0,wire=gen:size={size}+flows=100,{on}"
                report = run_until_traffic("--iface=streaming", f"--workers={workers}",
                                           eal=(harness.lcores(1 + workers), vdev))
                self.check(report)
                self.assertEqual(len(report["lcores"]), workers)
                self.assertEqual(report["wire"]["verified"], report["wire"]["returned"])

    def check_exchange_on_threads(self, interface, cases):
        on = "on=threads:threads=2+receivers=2+exchangers=2,verify=full"
        for size, workers in cases:
            with self.subTest(size=size, workers=workers):
                vdev = f"--vdev=net_ipu0,wire=gen:size={size}+flows=100,{on}"
                report = run_until_traffic(f"--iface={interface}", f"--workers={workers}",
                                           eal=(harness.lcores(1 + workers), vdev))
                self.check(report)
                self.assertEqual(len(report["lcores"]), workers)
                self.assertEqual(report["wire"]["verified"], report["wire"]["returned"])

    @unittest.skipUnless("bilateral" in INTERFACES, "needs an interface with regions")
    def test_regions_of_the_model_on_threads(self):
        self.check_exchange_on_threads("bilateral", (("64", 1), ("imix", 2)))

    @unittest.skipUnless("coherent" in INTERFACES, "needs an interface with lines")
    def test_lines_of_the_model_on_threads(self):
        self.check_exchange_on_threads("coherent", (("64", 1),))

    @unittest.skipUnless({"streaming", "packetized"} <= set(INTERFACES), "needs both interfaces")
    def test_a_capture_on_threads_has_the_same_hash_on_every_interface(self):
        """The frames arrive in different batches and orders, but they are the same frames."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "in.pcap")
            # IPv4/UDP of different lengths, with a number at the end.
            headers = bytes.fromhex("02000000009902000000009808004500")
            harness.write_capture(path, [
                headers + (46 + 37 * i % 1400).to_bytes(2, "big")
                + bytes.fromhex("0000000040110000" "0a0000010a000002" "00070007001a0000")
                + bytes(37 * i % 1400 + 14) + i.to_bytes(4, "big") for i in range(300)])
            seen = set()
            for iface, on in (("streaming", ""), ("streaming", "+receivers=2+senders=2+batch=100"),
                              ("packetized", "")):
                report = run_capture(1200, f"--iface={iface}", f"--on=threads:threads=2{on}",
                                     f"--wire=pcap:{path}+loop=4")
                self.check(report)
                wire = report["wire"]
                self.assertEqual(wire["offered"], 1200)
                self.assertEqual(wire["returned"], 1200)
                self.assertGreater(wire["verified"], 500)
                seen.add(wire["hash"])
            self.assertEqual(len(seen), 1)

    def check_capture(self, path, frames):
        data = pathlib.Path(path).read_bytes()
        # Blocks: u32 type, u32 length, …, u32 length (pcapng specification, 3.1).
        kinds, at = [], 0
        while at < len(data):
            kinds.append(int.from_bytes(data[at:at + 4], "little"))
            at += int.from_bytes(data[at + 4:at + 8], "little")
        self.assertEqual(at, len(data))
        self.assertEqual(kinds[0], 0x0A0D0D0A)
        self.assertEqual(kinds.count(6), frames)  # Enhanced packet blocks.

    def test_files_of_a_killed_run_go_with_the_next(self):
        echo = subprocess.Popen([ECHO, *EAL, "--stats_period_s=0.1"], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True)
        for line in echo.stdout:
            if "Mpps" in line:
                break
        left = os.path.join(os.environ["RUNTIME_DIRECTORY"], "dpdk", f"sluice-echo-{echo.pid}")
        run("--duration_s=0.1")
        self.assertTrue(os.path.exists(os.path.join(left, "config")), "a run that lives")
        echo.kill()
        echo.communicate(timeout=30)
        os.utime(left, (0, 0))  # A recent folder might belong to a run that is just starting.
        run("--duration_s=0.1")
        self.assertFalse(os.path.exists(left))

    def test_a_run_that_cannot_start_leaves_no_files(self):
        for arguments, exit_code in (([*EAL, "--port=nobody"], 2),
                                     (["--vdev=net_ipu0,nonsense=1", *EAL], 2),
                                     ([*EAL, "--exception_port=nobody"], 2)):
            with self.subTest(arguments):
                result = subprocess.run([ECHO, *arguments], capture_output=True, timeout=60,
                                        check=False)
                self.assertEqual(result.returncode, exit_code)

    def test_report_file_and_lines(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.json")
            result = subprocess.run(
                [ECHO, *EAL, "--json=" + path, "--duration_s=2", "--stats_period_s=0.1"],
                capture_output=True, text=True, timeout=60, check=True)
            with open(path, encoding="utf-8") as file:
                self.check(json.load(file))
        lines = [line for line in result.stdout.splitlines() if "cycles/pkt" in line]
        self.assertGreaterEqual(len(lines), 3)
        self.assertIn("lcore 1", result.stdout)

    def test_a_worker_serves_as_many_pipes_as_it_may_have(self):
        # A poll returns several frames; 4096 flows use most of the pipes.
        self.check(run_until_traffic("--iface=streaming", "--pipes=1024", "--flows=4096"))

    def test_bilateral_sizes_of_regions(self):
        for flags in (("--regions=3", "--region_bytes=4096", "--frame_size=1518"),
                      ("--regions=64", "--region_bytes=262144"), ("--region_bytes=8192",),
                      ("--region_frames=2048",), ("--region_bytes=4096", "--region_frames=512")):
            with self.subTest(flags):
                self.check(run_until_traffic("--iface=bilateral", *flags))

    def test_every_kind_of_frame_returns(self):
        # ARP, IPv6/UDP, IPv4 with a VLAN tag, an unknown EtherType, and a frame that ends after its
        # Ethernet header. From byte 12 on, they follow RFC 826, RFC 8200, RFC 791 and IEEE 802.1Q.
        kinds = [bytes.fromhex("0806" "0001080006040001") + bytes(36),
                 bytes.fromhex("86dd" "60000000" "000c" "1140") + bytes(range(32))
                 + bytes.fromhex("00070007" "000c0000" "61626364"),
                 bytes.fromhex("8100" "0005" "0800" "4500001c" "00000000" "40110000" "0a000001"
                               "0a000002" "00070007" "00080000") + bytes(14),
                 bytes.fromhex("88b5") + bytes(100), bytes.fromhex("88b5")]
        frames = [bytes.fromhex("020000000099" "020000000098") + kind for kind in kinds] * 100
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "in.pcap")
            harness.write_capture(path, frames)
            for iface in ("bilateral", "coherent"):
                report = run_capture(1500, f"--iface={iface}", "--mode=increment",
                                     f"--wire=pcap:{path}+loop=3")
                self.assertEqual((report["rx_pkts"], report["tx_pkts"]), (1500, 1500))
                for nothing in ("lost", "corrupted", "duplicated", "reordered"):
                    self.assertEqual(report[nothing], 0, nothing)

    def test_bilateral_keeps_every_byte(self):
        result = subprocess.run(
            [ECHO, *EAL[:-1], harness.lcores(2), "--no-pci",
             "--vdev=net_ipu0,wire=gen:size=random+flows=100,verify=full", "--", "--iface=bilateral",
             "--duration_s=0.3", "--json=-"], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        self.check(report)
        self.assertGreater(report["wire"]["verified"], 0)

    def test_behind_wires_without_a_source(self):
        # No frames are sent, so the NIC does not deliver any. The run must still end cleanly.
        for wire, iface, figures in (("loopback", "bilateral", "links"),
                                     ("port:net_ring0", "bilateral", "links"),
                                     ("loopback", "coherent", "lines")):
            with self.subTest(wire=wire, iface=iface):
                result = subprocess.run(
                    [ECHO, *EAL[:-1], harness.lcores(2), "--no-pci", "--vdev=net_ring0",
                     f"--vdev=net_ipu0,wire={wire}", "--", f"--iface={iface}",
                     "--port=net_ipu0", "--duration_s=0.2", "--json=-"], capture_output=True,
                    text=True, timeout=60, check=False)
                self.assertEqual(result.returncode, 0, result.stderr)
                report = json.loads(result.stdout)
                self.assertEqual((report["rx_pkts"], report["tx_pkts"]), (0, 0))
                self.assertEqual(report[figures]["faults"], 0)

    def test_what_needs_links_or_endpoints_says_so(self):
        # A net_ipu that wraps another port has neither links nor endpoints.
        for iface, vdevs, workers, named in (
                ("bilateral", ["net_ring0"], 1, "net_ring0"),
                ("bilateral", ["net_enso0"], 1, "net_enso0"),
                ("bilateral", ["net_ring0", "net_ipu0,port=net_ring0"], 1, "net_ipu0"),
                ("bilateral", ["net_ipu0,wire=loopback"], 17, "--workers=17"),
                ("coherent", ["net_enso0"], 1, "net_enso0"),
                ("coherent", ["net_ring0", "net_ipu0,port=net_ring0"], 1, "net_ipu0"),
                ("coherent", ["net_ipu0,wire=loopback"], 17, "--workers=17")):
            with self.subTest(iface=iface, vdevs=vdevs):
                result = subprocess.run(
                    [ECHO, *EAL[:-1], harness.lcores(workers + 1), "--no-pci", "--log-level=*:critical",
                     *(f"--vdev={vdev}" for vdev in vdevs), "--", f"--iface={iface}",
                     f"--port={vdevs[-1].split(',')[0]}", f"--workers={workers}"],
                    capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(named, result.stderr.splitlines()[-1])

    def test_telemetry(self):
        prefix = f"telemetry_test_{os.getpid()}"
        folders = ([os.environ["RUNTIME_DIRECTORY"]] if "RUNTIME_DIRECTORY" in os.environ else [])
        folders += ["/var/run", os.environ.get("XDG_RUNTIME_DIR", "/tmp"), "/tmp"]
        echo = subprocess.Popen([ECHO, f"--file-prefix={prefix}", *EAL, "--stats_period_s=0.05"],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in echo.stdout:
            if re.search(r" rx +(?!0\.000 )\S+ Mpps", line):
                break
        paths = [f"{folder}/dpdk/{prefix}/dpdk_telemetry.v2" for folder in folders]
        path = next(path for path in paths if os.path.exists(path))
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
            client.settimeout(10)
            client.connect(path)
            client.recv(4096)  # The greeting.
            client.send(b"/sluice/stats")
            stats = json.loads(client.recv(1 << 16))["/sluice/stats"]
            client.send(b"/sluice/map")
            where = json.loads(client.recv(1 << 16))["/sluice/map"]
        echo.send_signal(signal.SIGTERM)
        echo.communicate(timeout=30)
        self.assertEqual(echo.returncode, 0)
        self.assertGreater(stats["rx_pkts"], 0)
        self.assertIn("drop_malformed", stats)
        self.assertEqual(stats["nic_dropped_pkts"], sum(
            count for name, count in stats.items() if name.startswith("nic_drop_")))
        self.assertIn("nic_drop_rx_no_descriptor", stats)
        self.assertEqual(len(where), 1)
        self.assertIn("net_ipu0", where[0])

    def test_a_streaming_application_runs_on_any_port(self):
        result = subprocess.run(
            [ECHO, "--no-huge", "-m", "512", harness.lcores(2), "--no-pci", "--vdev=net_ring0",
             "--", "--iface=streaming", "--duration_s=0.2", "--json=-"],
            capture_output=True, text=True, timeout=60, check=True)
        report = json.loads(result.stdout)
        self.assertEqual(report["traffic"], "port net_ring0")
        self.assertEqual(report["rx_pkts"], 0)


if __name__ == "__main__":
    harness.run_on_all_cpus()
