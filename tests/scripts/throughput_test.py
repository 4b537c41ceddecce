#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the commands of scripts/throughput, its parsers, its progress output, and how it ends."""
import argparse
import contextlib
import io
import ipaddress
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

from samples import SCRIPTS, sample
import instructions
import measurements
import progress
import report
import run
import throughput
import workloads

ROOT = SCRIPTS.parent


def run_script(*arguments):
    return subprocess.run([sys.executable, SCRIPTS / "bench/throughput.py", *arguments], check=False,
                          capture_output=True, text=True)


class Workloads(unittest.TestCase):
    def arguments(self, **fields):
        return argparse.Namespace(**{"apps": ["echo"], "mode": [], "sizes": ["64"]} | fields)

    def test_each_app_is_run_with_its_own_modes_and_traffic(self):
        with tempfile.TemporaryDirectory() as folder:
            found = workloads.flags(self.arguments(apps=["echo", "maglev"]), {"capture": "c.pcap"},
                                    folder)
            self.assertEqual(list(found), [
                ("echo", "increment", "64"), ("echo", "increment", "capture"),
                ("echo", "reflect", "64"), ("echo", "reflect", "capture"),
                *(("maglev", mode, traffic) for mode in ("ip", "mac", "nat")
                  for traffic in ("16 flows", "2^20 flows"))])
            self.assertEqual(found["echo", "reflect", "capture"], ["--pcap=c.pcap", "--mode=reflect"])
            self.assertEqual(found["maglev", "ip", "2^20 flows"][:2],
                             ["--frame_size=64", "--flows=1048576"])

    def test_a_thousand_backends_of_one_vip_are_configured_by_each_encapsulation(self):
        with tempfile.TemporaryDirectory() as folder:
            found = workloads.flags(self.arguments(apps=["maglev"]), {}, folder)
            for (_, mode, _), flags in found.items():
                [file] = [flag.removeprefix("--config=") for flag in flags
                          if flag.startswith("--config=")]
                [vip] = json.loads(pathlib.Path(file).read_text())["vips"]
                self.assertEqual(vip["encapsulation"], mode)
                addresses = {ipaddress.IPv4Address(b["address"]) for b in vip["backends"]}
                self.assertEqual(len(addresses), 1000)
                self.assertEqual(min(addresses), ipaddress.IPv4Address("10.0.0.1"))
                self.assertEqual(max(addresses), ipaddress.IPv4Address("10.0.3.232"))
                self.assertEqual(len({b["mac"] for b in vip["backends"]}), 1000)

    def test_each_set_of_filters_reads_the_log_that_was_written_for_it(self):
        found = workloads.flags(self.arguments(apps=["logmon"]), {}, "folder")
        self.assertEqual([traffic for _, _, traffic in found], ["light", "heavy"])
        for (_, _, traffic), given in found.items():
            given = dict(flag.removeprefix("--").split("=") for flag in given)
            self.assertEqual(given["log"], f"folder/{traffic}.log")
            self.assertEqual((given["log_as"], given["frame_size"]), ("lines", "1518"))
            filters = json.loads((ROOT / given["filters"]).read_text(encoding="utf-8"))["filters"]
            self.assertEqual(len(filters), {"light": 3, "heavy": 22}[traffic])
        # Of 1518 bytes, FCS, Ethernet, IPv4 and UDP use 4 + 14 + 20 + 8.
        self.assertEqual(workloads.LOGMON_CHUNK, 1472)

    def test_telemetry_counts_every_flow_with_the_settings_of_its_mode(self):
        found = workloads.flags(self.arguments(apps=["telemetry"]), {}, "folder")
        self.assertEqual(list(found), [("telemetry", "sketch", "200k flows"),
                                       ("telemetry", "univmon", "200k flows")])
        for (_, mode, _), given in found.items():
            self.assertIn({"sketch": "--levels=1", "univmon": "--levels=16"}[mode], given)
            for flag in ("--pace=fixed", "--probability=0.01", "--flows=200000", "--zipf=1"):
                self.assertIn(flag, given)

    def test_a_mode_that_one_of_the_apps_has_is_run_by_that_app_alone(self):
        self.assertEqual(workloads.modes_of("echo", ["reflect", "ip"]), ["reflect"])
        self.assertEqual(workloads.modes_of("maglev", ["reflect", "ip"]), ["ip"])


class Reports(unittest.TestCase):
    def test_a_report_is_found_after_the_lines_of_a_run(self):
        self.assertEqual(run.last_json('1 s: 5 Mpps\n{\n "mpps": 5\n}\n'), {"mpps": 5})
        self.assertEqual(run.last_json('{"mpps": 6}\n'), {"mpps": 6})
        with self.assertRaises(run.RunError):
            run.last_json("EAL: error\n")

    def test_the_table_of_the_kv_benchmark_is_read(self):
        text = ("1000000 items of 8/8 bytes, one core; M operations per CPU second, best of 3\n"
                "                       resident          |  uniform         | Zipf .99\n"
                "                         B/item      add      get      set      get      set\n"
                "partition, cache mode      64.3      5.2     21.7     18.7     25.0     20.0\n"
                "partition, store mode      62.9      5.3     20.4     18.8     23.8     21.9\n")
        self.assertEqual(run.kv_engine(text), {"get": 40.0, "set": 50.0})
        with self.assertRaises(run.RunError):
            run.kv_engine("only 3 were found\n")

    def test_what_the_benchmark_of_sketches_says_is_told_by_mode(self):
        text = ('[{"name": "sluice_p0.01", "ns_per_packet": 4.5},\n'
                ' {"name": "sluice_p0.01_univmon", "ns_per_packet": 9.5},\n'
                ' {"name": "rte_member_p0.01", "ns_per_packet": 30.0}]\n')
        found = run.telemetry_engine(text)
        self.assertEqual({mode: said["ns_per_packet"] for mode, said in found.items()},
                         {"sketch": 4.5, "univmon": 9.5, "member": 30.0})
        with self.assertRaises(run.RunError):
            run.telemetry_engine("librte_member: no memory\n")

    def test_what_the_benchmark_of_scanners_says_is_told_as_it_is(self):
        text = '{"tsc_hz": 2500000000,\n "scans": [\n  {"set": "light"}]}\n'
        self.assertEqual(run.logmon_engine(text),
                         {"tsc_hz": 2500000000, "scans": [{"set": "light"}]})

    def test_testpmd_output_is_read(self):
        text = ("  +++ Accumulated forward statistics for all ports+++\n"
                "  RX-packets: 5000000        RX-dropped: 0             RX-total: 5000000\n"
                "  TX-packets: 4000000        TX-dropped: 7             TX-total: 4000007\n"
                "  CPU cycles/packet=44.29 (total cycles=9 / total macswap packets=2) at 2500 MHz\n")
        report = run.testpmd_report(text, "net_null", 2.0)
        self.assertEqual((report["mpps"], report["cycles_per_pkt"], report["drops"]),
                         (2.0, 44.29, {"tx": 7}))
        with self.assertRaises(run.RunError):
            run.testpmd_report("Port 0: link state change event", "net_null", 1.0)


class Clock:
    """A clock that the test advances."""
    now = 0.0

    def __call__(self):
        return self.now


class Screen(io.StringIO):
    def isatty(self):
        return True


class ProgressOfLongRuns(unittest.TestCase):
    def progress(self, costs, out):
        clock = Clock()
        return progress.Progress(costs, out, clock), clock

    def test_lines_in_a_file_say_what_is_done_and_what_is_left(self):
        out = io.StringIO()
        shown, clock = self.progress([1, 1, 2], out)
        clock.now = 10.0
        shown.step("a")  # This step took 10 s and is a quarter of the cost.
        clock.now = 20.0
        shown.step("b")
        shown.close()
        self.assertEqual(out.getvalue(), "[1/3, 30 s left] a\n[2/3, 20 s left] b\n")

    def test_what_is_expected_may_change(self):
        out = io.StringIO()
        shown, clock = self.progress([1] * 100, out)
        clock.now = 2.0
        shown.step("a")
        shown.expect([1, 1])
        clock.now = 4.0
        shown.step("b")
        self.assertEqual(out.getvalue().splitlines()[1], "[2/3, 2 s left] b")

    def test_a_bar_on_a_terminal_is_overwritten_and_fits(self):
        out = Screen()
        shown, clock = self.progress([1] * 4, out)
        clock.now = 1.0
        with unittest.mock.patch.dict(os.environ, {"COLUMNS": "60", "LINES": "24"}):
            shown.step("echo increment streaming 64: 5.0 cycles/packet " + 60 * "x")
            shown.say("time limit")
        bar, said, rest = out.getvalue().split("\n")
        self.assertTrue(bar.startswith("\r[#####...............] 1/4, 3 s left: echo increment"), bar)
        self.assertEqual(len(bar), 1 + 59)
        self.assertEqual((said, rest), ("time limit", ""))

    def test_durations(self):
        for seconds, text in ((0, "0 s"), (0.2, "1 s"), (99, "99 s"), (100, "2 min"),
                              (121, "3 min"), (3600, "1 h 0 min"), (5400, "1 h 30 min")):
            self.assertEqual(progress.duration(seconds), text)


class Interrupts(unittest.TestCase):
    """Results are kept after an interrupt or error, and the exit code shows that they are
    incomplete."""

    ROWS = ("--sizes=64,imix", "--mode=increment", "--pcap=none", "--no-peers")

    def measure(self, fails_at, error, flags=ROWS):
        asked = []

        def app_sample(app, iface, given, seconds):
            asked.append((app, iface))
            if len(asked) == fails_at:
                raise error
            return sample(iface, 10.0, memory="hugepages")

        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            place, page = f"{folder}/kept.json", f"{folder}/page.html"
            stack.enter_context(unittest.mock.patch.object(
                sys, "argv", ["throughput", "--repeats=3", f"--json={place}", f"--page={page}",
                              *flags]))
            args = throughput.parse_arguments()
            args.ifaces = ["packetized", "streaming"]
            for target, name, stub in (
                    (run, "app_sample", app_sample),
                    (run, "control", lambda: {"ping_pong_cycles": 1.0, "stream_cycles": 1.0}),
                    (instructions, "count", lambda *row: 50.0),
                    (report, "measured_files", lambda: [])):
                stack.enter_context(unittest.mock.patch.object(target, name, stub))
            said = [stack.enter_context(redirect(io.StringIO())) for redirect in
                    (contextlib.redirect_stdout, contextlib.redirect_stderr)]
            manifest = dict(measurements.MANIFEST)
            measure = throughput.measure_growth if args.growth else throughput.measure_rows
            code = measure(args, manifest, folder)
            kept = json.loads(pathlib.Path(place).read_text()) if os.path.exists(place) else None
            html = pathlib.Path(page).read_text(encoding="utf-8") if os.path.exists(page) else None
            return code, kept, html, [one.getvalue() for one in said]

    def test_an_interrupt_keeps_the_samples_before_it(self):
        code, kept, html, (printed, said) = self.measure(7, KeyboardInterrupt())
        self.assertEqual(code, 130)
        self.assertEqual(kept["manifest"]["stopped"], "interrupted")
        # The first round measured four rows. The second round, in reverse order, measured the last
        # two.
        self.assertEqual([len(row["samples"]) for row in kept["rows"]], [1, 1, 2, 2])
        self.assertIn("ended early (interrupted)", html)
        self.assertIn("echo increment: worker cycles per packet", printed)
        self.assertRegex(said,
                             r"throughput: interrupted; the results so far are in \S+kept.json\n$")

    def test_a_program_that_fails_keeps_them_too(self):
        code, kept, html, (_, said) = self.measure(2, run.RunError("sluice-echo: exit code 1"))
        self.assertEqual((code, kept["manifest"]["stopped"]), (1, "sluice-echo: exit code 1"))
        self.assertEqual(len(kept["rows"]), 1)
        self.assertIn("sluice-echo: exit code 1", html)
        self.assertIn("sluice-echo: exit code 1", said)

    def test_before_the_first_sample_there_is_nothing_to_keep(self):
        code, kept, html, (_, said) = self.measure(1, KeyboardInterrupt())
        self.assertEqual((code, kept, html), (130, None, None))
        self.assertIn("nothing was measured", said)

    def test_growth_keeps_its_points(self):
        code, kept, html, _ = self.measure(3, KeyboardInterrupt(), ["--growth"])
        self.assertEqual(code, 130)
        [row] = kept["rows"]
        self.assertEqual(list(row["points"]), ["64", "128"])
        self.assertIn("echo: worker cycles a packet by frame size", html)

    def test_a_run_that_is_not_stopped(self):
        code, kept, html, (printed, _) = self.measure(0, None)
        self.assertEqual((code, kept["manifest"]["stopped"]), (0, ""))
        self.assertEqual([len(row["samples"]) for row in kept["rows"]], [3] * 4)
        self.assertIn("page.html", printed.splitlines()[-1])


class Arguments(unittest.TestCase):
    def test_bad_arguments_name_the_flag_and_exit_with_2(self):
        for arguments, flag in ((["--apps=nope"], "--apps"), (["--sizes=63"], "--sizes"),
                                (["--pcap=/none.pcap"], "--pcap"), (["--repeats=0"], "--repeats"),
                                (["--mode=fast"], "--mode"),
                                (["--page=/none/x.html"], "--page"),
                                (["--growth", "--quick"], "--growth"),
                                (["--apps=maglev", "--mode=reflect"], "--mode"),
                                (["--apps=echo,maglev", "--mode=reflect"], "--mode"),
                                (["--apps=echo", "--mode=reflect,ip"], "--mode")):
            done = run_script(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(flag, done.stderr.splitlines()[-1])

    def test_interfaces_are_those_of_the_build(self):
        known = ["packetized", "streaming"]
        self.assertEqual(throughput.choose_interfaces([], known), known)
        self.assertEqual(throughput.choose_interfaces(["streaming"], known), ["streaming"])
        said = io.StringIO()
        with self.assertRaises(SystemExit) as end, contextlib.redirect_stderr(said):
            throughput.choose_interfaces(["unheard"], known)
        self.assertEqual(end.exception.code, 2)
        self.assertIn("--ifaces: no 'unheard'", said.getvalue())


if __name__ == "__main__":
    unittest.main()
