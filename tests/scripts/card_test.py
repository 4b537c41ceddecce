#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests scripts/throughput --device: its plan, its commands, its figures, and how it ends.
card_report.json is the report of sluice-echo on CPU threads that execute the model; the tests
derive all figures from it by hand."""
import argparse
import contextlib
import ctypes
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

from measurements import MANIFEST, SCRIPTS

import card
import card_plan
import card_report
import card_run
import inputs
import nvml
import report
import run
import throughput

RECORDED = pathlib.Path(__file__).with_name("card_report.json").read_text(encoding="utf-8")
LISTING = [{"name": "packetized", "model": "net_ipu0"}, {"name": "streaming", "model": "net_enso0"},
           {"name": "bilateral", "model": "net_ipu0"}, {"name": "coherent", "model": "net_ipu0"}]
IFACES = [each["name"] for each in LISTING]
# Lines that sluice-echo prints on standard error.
STARTED = "net_enso0: the model runs on 2 threads, 1 blocks receive and 1 send\n"
NO_LINK = ("EAL: Detected CPU lcores: 2\n" + STARTED +
           "TELEMETRY: No legacy callbacks, legacy socket not created\n"
           "port net_ipu0 cannot open link 0: Input/output error\n"
           "net_ipu0: microseconds until frames came back: p50 0.00, p99 0.00, p99.9 0.00\n")
NO_GPU = ("net_ipu: net_ipu0: on=gpu: this host has no NVIDIA driver\n"
          "EAL: Bus (vdev) probe failed.\n"
          "--vdev=net_ipu0,on=gpu: EAL created no port for this device: no NVIDIA driver\n")


def arguments(**fields):
    return argparse.Namespace(**{
        "apps": ["echo"], "ifaces": IFACES, "sizes": ["64"], "quick": False, "device": "gpu",
        "duration_s": 0, "repeats": 1, "limit_s": 1000, "page": "none"} | fields)


class Programs:
    """Replaces the programs: packetized and streaming work, packetized at a fifth of the rate;
    bilateral fails at once; coherent does not end."""

    def __init__(self, **changes):
        self.commands = []
        self.changes = changes

    def __call__(self, command, timeout_s):
        self.commands.append(command)
        done = subprocess.CompletedProcess(command, 0, RECORDED, STARTED)
        if "--iface=bilateral" in command:
            return subprocess.CompletedProcess(command, 1, "", NO_LINK)
        if "--iface=coherent" in command:
            raise run.RunError("no end") from subprocess.TimeoutExpired(command, timeout_s)
        found = json.loads(RECORDED) | self.changes
        if "--iface=packetized" in command:
            found["mpps"] /= 5
        done.stdout = json.dumps(found)
        return done

    def runs(self):
        """Returns the number of runs by interface."""
        named = [re.search(r"--iface=(\w+)", " ".join(command))[1] for command in self.commands]
        return {iface: named.count(iface) for iface in IFACES}


def measure(args, programs, cpus=range(16)):
    """Runs scripts/throughput --device. Returns its exit code, the results, and both outputs."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        args.json = f"{folder}/card.json"
        for target, name, stub in (
                (run, "execute", programs), (run, "listing", lambda app: LISTING),
                (card_run, "siblings", lambda cpu: [cpu]),
                (card_run.os, "sched_getaffinity", lambda process: set(cpus)),
                (nvml, "LIBRARY", "none"), (card, "DRIVER", pathlib.Path("/none"))):
            stack.enter_context(unittest.mock.patch.object(target, name, stub))
        said = [stack.enter_context(redirect(io.StringIO())) for redirect in
                (contextlib.redirect_stdout, contextlib.redirect_stderr)]
        code = card.main(args, dict(MANIFEST))
        found = inputs.read(args.json)[1] if pathlib.Path(args.json).exists() else None
        return code, found, *(each.getvalue() for each in said)


class Plan(unittest.TestCase):
    def test_all_points_fit_six_minutes(self):
        sizes = ["64", "512", "1518", "imix", "random"]
        rates = card_plan.rates(IFACES, sizes, card_plan.WORKERS)
        self.assertEqual(len(rates), 4 * 4 * 5)  # Interfaces, numbers of workers, sizes.
        apps = card_plan.applications(["echo", "maglev", "kv", "logmon", "telemetry"], IFACES)
        self.assertEqual(len(apps), 4 * 4)
        loads = card_plan.latencies(dict.fromkeys(IFACES, 100.0))
        self.assertEqual([point.mpps for point in loads[:6]], [0.01, 0.1, 1, 10, 50.0, 90.0])
        again = (card_plan.ROUNDS - 1) * card_plan.again(rates)
        self.assertEqual(len(again), 4 * 4)
        seconds = (card_plan.START_S + card_plan.SECONDS) * len([*rates, *apps, *loads, *again])
        self.assertLess(seconds, card_plan.LIMIT_S)
        self.assertLess(card_plan.LIMIT_S + card_run.PATIENCE_S + 10, 6 * 60 + 1)

    def test_interfaces_of_a_workload_are_neighbours_and_one_worker_comes_first(self):
        rates = card_plan.rates(["packetized", "streaming"], ["64", "512"], (1, 8, 2))
        self.assertEqual([(point.workers, point.traffic, point.iface[0]) for point in rates], [
            (1, "64", "p"), (1, "64", "s"), (1, "512", "p"), (1, "512", "s"),
            (8, "64", "p"), (8, "64", "s"), (8, "512", "p"), (8, "512", "s"),
            (2, "64", "p"), (2, "64", "s"), (2, "512", "p"), (2, "512", "s")])
        self.assertEqual([point.traffic for point in card_plan.again(rates)], ["64"] * 6)

    def test_loads_above_the_rate_of_an_interface_are_not_offered(self):
        self.assertEqual([point.mpps for point in card_plan.latencies({"packetized": 8.0})],
                         [0.01, 0.1, 1, 4.0, 7.2])

    def test_the_batch_of_a_device(self):
        for device, batch in (("gpu", 2048), ("gpu:batch=512", 512),
                              ("gpu:index=1+batch=64+senders=2", 64)):
            self.assertTrue(card_plan.DEVICE.fullmatch(device))
            self.assertEqual(card_plan.batch(device, "streaming"), batch)

    def test_settings_of_an_interface_yield_to_those_of_the_user(self):
        setting = card_plan.Setting("regions=8", "batch=256+receivers=2", ("--pipes=1",))
        point = card_plan.Point(card_plan.RATES, "echo", "streaming", "64")
        with unittest.mock.patch.dict(card_plan.SETTINGS, {"streaming": setting}):
            for device, iface, arguments, batch in (
                    ("gpu", "streaming", "regions=8,on=gpu:batch=256+receivers=2", 256),
                    ("gpu:batch=64", "streaming", "regions=8,on=gpu:batch=64+receivers=2", 64),
                    ("gpu", "packetized", "on=gpu", 2048),
                    ("threads", "streaming", "regions=8,on=threads", 2048)):
                self.assertEqual(card_plan.arguments(device, iface), arguments)
                self.assertEqual(card_plan.batch(device, iface), batch)
            self.assertEqual(card_plan.flags(point, "")[-1], "--pipes=1")
            self.assertEqual(card_plan.setting_words("gpu:batch=64", "streaming"),
                             "regions=8,on=gpu:batch=64+receivers=2 --pipes=1")

    def test_captures_contain_frames_for_the_application(self):
        with tempfile.TemporaryDirectory() as folder:
            wires = card_plan.wires(["echo", "maglev", "kv", "logmon", "telemetry"], folder)
            self.assertEqual(sorted(wires), ["kv", "logmon", "maglev"])
            path, verify = wires["maglev"].removeprefix("pcap:").split(",")
            self.assertEqual(verify, "verify=off")
            data = pathlib.Path(path).read_bytes()
            # A header of 24 bytes, then 16 bytes and 60 frame bytes for each frame: 64 bytes
            # without the FCS.
            self.assertEqual(len(data), 24 + 10_000 * (16 + 60))
            config = json.loads(pathlib.Path(folder, "maglev.json").read_text(encoding="utf-8")) \
                if card_plan.flags(card_plan.applications(["maglev"], IFACES)[0], folder) else {}
            [vip] = config["vips"]
            self.assertEqual((vip["address"], vip["port"], vip["protocol"]),
                             ("198.18.0.1", 9, "udp"))
            # UDP from 10.0.0.1:20000 to that VIP.
            self.assertEqual(data[40 + 23:40 + 38].hex(), "11" + data[64:66].hex() +
                             "0a000001" + "c6120001" + "4e20" + "0009")


class Commands(unittest.TestCase):
    def test_workers_use_one_cpu_of_each_core_first(self):
        pairs = {cpu: sorted((cpu, cpu ^ 1)) for cpu in range(6)}
        with unittest.mock.patch.object(card_run, "siblings", pairs.get):
            self.assertEqual(card_run.placement({0, 1, 2, 3, 4, 5}), [0, 2, 4, 1, 3, 5])
            self.assertEqual(card_run.placement({1, 2, 3}), [1, 2, 3])
        self.assertEqual(card_run.lcores([0, 2, 4, 1], 2), "0@1,1@0,2@2")

    def test_a_point_is_a_run_of_a_program_through_its_driver(self):
        programs = Programs()
        with unittest.mock.patch.dict(card_plan.SETTINGS,
                                      {"packetized": card_plan.Setting("queues=4")}):
            measure(arguments(device="gpu:batch=512", ifaces=["streaming", "packetized"]), programs,
                    range(3))
        _, first, second, *_ = programs.commands
        self.assertEqual(first, [
            "build/release/apps/echo/sluice-echo", "--lcores=0@2,1@0", "--no-pci",
            "--vdev=net_enso0,wire=gen:size=64,on=gpu:batch=512", "--", "--iface=streaming",
            "--duration_s=1", "--stats_period_s=0", "--json=-", "--mode=increment",
            "--workers=1"])
        self.assertIn("--vdev=net_ipu0,wire=gen:size=64,queues=4,on=gpu:batch=512", second)

    def test_an_offered_load_is_that_of_the_wire(self):
        point = card_plan.Point(card_plan.LATENCY, "echo", "streaming", "64", 1, 2.5)
        self.assertEqual(card_plan.generator(point), "gen:size=64+rate=2500000")

    def test_a_device_is_checked(self):
        for given in (["--device=cpu"], ["--device=gpu:"], ["--device=gpu,batch=2"],
                      ["--device=gpu", "--growth"], ["--device=gpu", "--rpc"]):
            done = subprocess.run([sys.executable, SCRIPTS / "bench/throughput.py", *given],
                                  check=False, capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, given)
            self.assertIn("--device", done.stderr.splitlines()[-1])

    def test_all_applications_are_measured_by_default(self):
        for given, apps, repeats in ((["--device=gpu"], 5, 2), ([], 1, 9),
                                     (["--device=gpu", "--quick"], 1, 2),
                                     (["--device=gpu", "--repeats=3", "--apps=kv"], 1, 3)):
            with unittest.mock.patch.object(sys, "argv", ["throughput", *given]):
                args = throughput.parse_arguments()
            self.assertEqual((len(args.apps), args.repeats), (apps, repeats), given)


class Figures(unittest.TestCase):
    def test_figures_of_a_report(self):
        _, found, *_ = measure(arguments(ifaces=["streaming"]), Programs(), range(2))
        [row] = found["card"]
        # The bytes are 71172096 of payload in each direction, 188800 of notifications, 474688 of
        # descriptors and 533760 of registers, for 1112064 frames and 1469 notifications in
        # 1.000093684 s.
        self.assertEqual(row["link_bytes"]["payload_to_host"], 64.0)
        self.assertAlmostEqual(row["link_bytes"]["notifications"], 0.169774, 6)
        self.assertAlmostEqual(row["message_pkts"], 757.021, 3)
        self.assertAlmostEqual(row["link_gbps"]["to_host"], 0.570834, 6)
        self.assertAlmostEqual(row["link_gbps"]["from_host"], 0.577390, 6)
        self.assertEqual(row["latency_us"], {"p50": 5767.168, "p99": 16777.216, "p99.9": 23068.672})
        self.assertEqual((row["batch"], row["workers"], row["mode"]), (2048, 1, "increment"))
        self.assertEqual(card_report.batches(row), "2048/757")

    def test_streaming_is_compared_with_other_interfaces_of_as_many_workers(self):
        _, found, text, _ = measure(arguments(), Programs(), range(5))
        ratios = {(row["iface"], row["workers"]): row["mpps_ratio"]["value"]
                  for row in found["card"] if "mpps_ratio" in row}
        self.assertEqual(ratios, {("packetized", workers): 5.0 for workers in (1, 2, 4)})
        self.assertIn("omitted: this host has 5 CPUs: 8 workers", text)

    def test_rows_are_in_the_order_of_traffic_and_workers(self):
        _, found, *_ = measure(arguments(ifaces=["streaming"], apps=["echo", "telemetry"],
                                         sizes=["64", "imix"]), Programs(), range(9))
        self.assertEqual([(row["traffic"], row["workers"]) for row in found["card"]], [
            *(("64", workers) for workers in (1, 2, 4, 8)),
            *(("imix", workers) for workers in (1, 2, 4, 8)), ("64, 65536 flows", 1)])

    def test_targets(self):
        hugepages = {"memory": "hugepages"}
        for changes, lines in (
                ({"mpps": 140.0, "cycles_per_pkt": 12.0}, ["140.0: met", "12.0: met", "5.00"]),
                ({"mpps": 139.9, "cycles_per_pkt": 12.1},
                 ["139.9: NOT MET", "12.1: NOT MET", "5.00"])):
            _, found, *_ = measure(arguments(), Programs(**hugepages | changes), range(2))
            judged = card_report.verdicts(found["card"], found["manifest"]["device"], True)
            for line, expected in zip(judged, lines):
                self.assertIn(expected, line)
            self.assertTrue(judged[-1].endswith("not measured in this run"), judged[-1])
        judged = card_report.verdicts(found["card"], {"on": "threads"}, True)
        self.assertEqual(judged, [card_report.NO_CARD])
        [first, *_] = card_report.verdicts(found["card"], {"on": "gpu"}, False)
        self.assertIn("no verdict without hugepages", first)


class Robustness(unittest.TestCase):
    def test_a_failed_row_is_omitted_with_its_reason_and_stops_no_other(self):
        programs = Programs()
        args = arguments(sizes=["64", "512", "1518"])
        code, found, text, said = measure(args, programs, range(2))
        self.assertEqual(code, 1)
        self.assertEqual([row["traffic"] for row in found["card"] if row["iface"] == "streaming"],
                         ["64", "512", "1518"])
        # After two failed runs, an interface is not run a third time. The probe ran packetized one
        # more time.
        self.assertEqual({name: programs.runs()[name] for name in ("bilateral", "coherent")},
                         {"bilateral": 2, "coherent": 2})
        self.assertIn("omitted: port net_ipu0 cannot open link 0: Input/output error: "
                      "echo bilateral 64 1 worker; echo bilateral 512 1 worker; "
                      "echo bilateral 1518 1 worker\n", text)
        self.assertIn("omitted: no end after 21 s: echo coherent", text)
        self.assertIn("echo streaming 1518 1 worker: 1.03 Mpps", said)

    def test_lost_frames_fail_the_row(self):
        code, found, text, _ = measure(arguments(ifaces=["streaming"]),
                                       Programs(lost=5, failure="lost 5"), range(2))
        self.assertEqual(code, 1)
        self.assertEqual(found["card"][0]["verdict"], "FAILED")
        self.assertIn("FAILED; lost 5", text)

    def test_results_are_written_after_every_row(self):
        programs = Programs()
        kept = []

        def save(path, manifest, rows, name):
            kept.append((len(rows), len(manifest["latency"]), len(manifest["omitted"])))
            write(path, manifest, rows, name)

        write = card.output.write_json
        with unittest.mock.patch.object(card.output, "write_json", save):
            measure(arguments(ifaces=["streaming", "bilateral"]), programs, range(2))
        # A rate, a failure, and the loads 0.01, 0.1, half of 1.03, and nine tenths of it. Three
        # numbers of workers were omitted before that.
        self.assertEqual(kept[:6], [(1, 0, 3), (1, 0, 4), (1, 1, 4), (1, 2, 4), (1, 3, 4),
                                    (1, 4, 4)])

    def test_the_time_limit_omits_the_rest(self):
        clock = iter(range(0, 1000, 2))
        with unittest.mock.patch.object(time, "monotonic", lambda: next(clock)):
            code, found, text, _ = measure(arguments(limit_s=20), Programs(), range(2))
        self.assertTrue(found["card"])
        self.assertIn("omitted: time limit: ", text)
        self.assertEqual(code, 1)  # Two interfaces have failed before.

    def test_an_interrupt_keeps_the_rows(self):
        class Interrupted(Programs):
            def __call__(self, command, timeout_s):
                if len(self.commands) == 3:
                    raise KeyboardInterrupt
                return super().__call__(command, timeout_s)
        code, found, _, said = measure(arguments(), Interrupted(), range(2))
        self.assertEqual((code, found["manifest"]["stopped"]), (130, "interrupted"))
        self.assertEqual(len(found["card"]), 2)
        self.assertIn("interrupted; the results so far are in", said)

    def test_without_a_gpu_one_line_names_what_is_missing(self):
        def refused(command, _):
            return subprocess.CompletedProcess(command, 2, "", NO_GPU)

        code, found, text, said = measure(arguments(), refused)
        self.assertEqual((code, found, text), (1, None, ""))
        self.assertEqual(said, "throughput: --vdev=net_ipu0,on=gpu: EAL created no port for this "
                         "device: no NVIDIA driver; nothing was measured\n")


class Page(unittest.TestCase):
    def page(self, device, folder):
        _, found, text, _ = measure(arguments(device=device, apps=["echo", "maglev"]), Programs(),
                                    range(3))
        path = pathlib.Path(folder, "card.json")
        path.write_text(json.dumps(found), encoding="utf-8")
        place, _ = report.write_page([str(path)], f"{folder}/page.html")
        return pathlib.Path(place).read_text(encoding="utf-8"), text

    def test_only_rows_of_a_gpu_are_measured_across_pcie(self):
        with tempfile.TemporaryDirectory() as folder:
            html, text = self.page("gpu", folder)
            self.assertTrue(text.strip().startswith("measured across PCIe: 2 threads"))
            section = html[html.index("<h2>A NIC across PCIe"):html.index("</section>")]
            badges = re.findall(r'class="badge ([^"]+)"', section)
            self.assertEqual(set(badges), {"measured-across-PCIe"})
            # The sentence, rates by workers, three percentiles, three tables, and the papers'
            # values.
            self.assertEqual(len(badges), 1 + 1 + 3 + 3 + 1)
            self.assertIn(">2048/757<", section)
            for said in (section, text):
                self.assertRegex(said, r"maglev .* 6\.0 .* 5\.00")  # The paper's ratio, and ours.
            html, text = self.page("threads", folder)
            self.assertTrue(text.strip().startswith("NOT measured across PCIe"))
            badges = re.findall(r'class="badge ([^"]+)"', html[:html.index("</section>")])
            self.assertEqual(set(badges), {"model-on-CPU-threads"})

    def test_a_file_without_a_member_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            _, found, *_ = measure(arguments(ifaces=["streaming"]), Programs(), range(2))
            del found["card"][0]["batch"]
            path = pathlib.Path(folder, "card.json")
            path.write_text(json.dumps(found), encoding="utf-8")
            with self.assertRaisesRegex(inputs.BadInput, "card 0 has no 'batch'"):
                inputs.read(str(path))


class Library:
    """NVML of a GPU with a link of generation 5 that is idle every second time."""

    def __init__(self, supported=True):
        self.supported, self.calls = supported, 0

    def nvmlInit_v2(self):
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, index, device):
        return 0 if index.value == 1 else 2

    def nvmlDeviceGetCurrPcieLinkGeneration(self, device, value):
        self.calls += 1
        value._obj.value = 5 if self.calls % 2 else 1
        return 0

    def nvmlDeviceGetCurrPcieLinkWidth(self, device, value):
        value._obj.value = 16
        return 0

    def nvmlDeviceGetPcieThroughput(self, device, counter, value):
        value._obj.value = 1_000_000 * (1 + counter.value)
        time.sleep(0.001)
        return 0 if self.supported else 3


class Counters(unittest.TestCase):
    def sample(self, library, index=1):
        with unittest.mock.patch.object(ctypes, "CDLL", lambda name: library):
            link = nvml.Link(index)
        with nvml.Sampler(link) as sampler:
            end = time.monotonic() + 5
            while link.library and len(sampler.states) < 4 and sampler.thread.is_alive() \
                    and time.monotonic() < end:
                time.sleep(0.001)
        return sampler.found()

    def test_rates_and_the_fastest_state(self):
        # 10^6 KB/s are 8 Gb/s.
        self.assertEqual(self.sample(Library()), {
            "generation": 5, "width": 16, "to_host_gbps": 8.0, "from_host_gbps": 16.0})

    def test_a_gpu_without_counters(self):
        self.assertEqual(self.sample(Library(supported=False)), {"generation": 5, "width": 16})

    def test_a_missing_gpu_or_library(self):
        self.assertEqual(self.sample(Library(), index=0), {})
        with unittest.mock.patch.object(nvml, "LIBRARY", "libnone.so.1"), \
                nvml.Sampler(nvml.Link()) as sampler:
            pass
        self.assertEqual(sampler.found(), {})

    def test_windows_before_and_after_the_load_do_not_count(self):
        self.assertEqual(nvml.loaded([0.0, 0.1, 300.0, 200.0, 280.0, 0.2]), 280.0)


if __name__ == "__main__":
    unittest.main()
