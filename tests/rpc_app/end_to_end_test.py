#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""end_to_end_test.py SLUICE_RPC: runs sluice-rpc as a user does."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import private_folder  # pylint: disable=wrong-import-position,unused-import

RPC = sys.argv.pop()
SERVICES = pathlib.Path(RPC).parent / "services"
PATIENCE_S = 60


def run(*arguments):
    """Returns the report of a run that ends by itself, and its other output."""
    done = subprocess.run([RPC, *arguments, "--json=-"], capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout), done.stderr


def service(folder, body, version="1"):
    """Builds a service whose procedure 0 of version 1 is `body`; returns its name for
    --services."""
    x = pathlib.Path(folder) / "one.x"
    x.write_text(f"program P {{ version V {{ void NULL(void) = 0; }} = {version}; }} = 0x20000200;")
    source = pathlib.Path(folder) / "one.c"
    source.write_text("#include <unistd.h>\n"
                      f"int null_1_svc(void *a, void *r, void *q) {{ {body} }}")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", f"{folder}/one.so", str(source)], check=True)
    return f"{folder}/one.so:{x}"


# Cores that are granted and revoked: flags, and the device counters that must be nonzero. In each
# case, every call must have an outcome, and no answer may be wrong.
CORES = [
    # More services than cores, with up to one core each: idle cores move between services.
    (["--cores=2", "--outstanding=4", "--run_calls=7"], ["rpc_switches", "rpc_yields"]),
    # Several cores for one service, added while calls wait.
    (["--cores=3", "--service_cores=3", "--services=echo", "--outstanding=16"], ["rpc_switches"]),
    # Cores that are idle for a while are revoked, retired and woken.
    (["--cores=4", "--service_cores=3", "--services=echo,add", "--outstanding=8",
      "--run_calls=50", "--retire_ms=1"], ["rpc_yields", "rpc_retires", "rpc_wakes"]),
    # Services that never wait lose their cores by interrupts.
    (["--cores=2", "--service_cores=2", "--outstanding=32", "--run_calls=1", "--slice_us=50"],
     ["rpc_switches", "rpc_yields"]),
    # Nested calls.
    (["--services=front,store", "--outstanding=4"], ["rpc_nested", "rpc_switches"]),
    (["--services=store,front,add", "--cores=3", "--service_cores=2", "--outstanding=8",
      "--retire_ms=2", "--run_calls=5"], ["rpc_nested"]),
    (["--services=front,store", "--nested=1", "--outstanding=8"], ["rpc_nested_too_many"]),
]


def processes_of(parent):
    """Returns the services' processes by the name of their shared object."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            status = (path / "stat").read_text().rsplit(")", 1)[1].split()
            words = (path / "cmdline").read_bytes().decode().split("\0")
        except (OSError, IndexError):
            continue
        if int(status[1]) == parent and len(words) > 3 and words[0].endswith("sluice-rpc-service"):
            found[pathlib.Path(words[2]).stem] = int(path.name)
    return found


class Runs(unittest.TestCase):
    def check_endings(self, report):
        """Checks that every call of the load generator has an outcome, and that no answer is
        wrong."""
        self.assertEqual(report["missing"], 0, report)
        self.assertEqual(report["corrupted"], 0, report)
        self.assertEqual(report["unknown"], 0, report)
        self.assertGreater(report["answered"], 0, report)

    def test_without_a_fault_every_call_is_answered(self):
        report, lines = run("--duration_s=0.5", "--outstanding=4", "--run_calls=7",
                            "--preempt_ms=10000", "--timeout_ms=20000", "--handler_ms=10000",
                            "--trace=2", "--stats_period_s=0.2")
        self.check_endings(report)
        self.assertEqual([report[key] for key in ("lost", "refused", "late", "restarts",
                                                  "nic_drops")], [0] * 5, report)
        self.assertEqual(report["services"], ["nothing", "echo", "add"])
        self.assertEqual(report["device"]["rpc_answered"], report["answered"])
        self.assertIn("Mcalls/s", lines)
        # Each traced call has twelve steps. The host does nothing but jump.
        steps = [line.split() for line in lines.splitlines() if line.startswith("  ")]
        for number in range(1, 13):
            self.assertEqual(sum(step[0] == str(number) for step in steps), 2, lines)
        hosts = [step for step in steps if "host" in step]
        self.assertEqual(hosts, [["12", "jump", "host"]] * 2, lines)

    def test_cores_come_and_go_and_every_call_has_an_ending(self):
        for flags, counters in CORES:
            with self.subTest(flags):
                happened = False
                for duration_s in (0.2, 2, 20):  # Longer if the host withdrew the CPUs.
                    report, lines = run(f"--duration_s={duration_s}", "--preempt_ms=30000",
                                        "--stats_period_s=0", "--handler_ms=10000",
                                        "--nested_ms=20000", "--timeout_ms=20000", *flags)
                    self.check_endings(report)
                    self.assertEqual([report[key] for key in ("lost", "late", "restarts",
                                                              "nic_drops")], [0] * 4, report)
                    if "--nested=1" not in flags:
                        self.assertEqual(report["refused"], 0, report)
                    happened = report["answered"] > 5 and all(
                        report["device"][counter] > 0 for counter in counters)
                    if happened:
                        break
                self.assertTrue(happened, (counters, lines))

    def test_services_that_misbehave_harm_nobody_else(self):
        """Processes that are killed, and ones that never yield their cores, during nested calls."""
        with subprocess.Popen([RPC, "--json=-", "--duration_s=0", "--stats_period_s=0.05",
                               "--cores=3", "--service_cores=2", "--retire_ms=2",
                               "--outstanding=6", "--run_calls=2", "--preempt_ms=300",
                               "--handler_ms=300", "--nested_ms=10000", "--timeout_ms=20000",
                               "--services=front,store,add"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as process:
            for _ in range(3):
                process.stderr.readline()
            services = ("libsluice_rpc_front", "libsluice_rpc_store", "libsluice_rpc_add")
            for service in services:
                self.kill_one(process.pid, service, signal.SIGKILL)
            # A stopped process does not yield its cores, for which it is eventually killed.
            for service in services[:2]:
                self.kill_one(process.pid, service, signal.SIGSTOP)
            process.send_signal(signal.SIGINT)
            output, lines = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0, lines)
        report = json.loads(output)
        self.check_endings(report)
        self.assertGreaterEqual(report["restarts"], 5, report)
        self.assertEqual(report["lost"], 0, report)

    def kill_one(self, parent, service, how):
        """Sends a signal to a service's process, and waits until it is replaced."""
        sent = False
        while not sent:
            pid = self.wait_for_process(parent, service, 0)
            time.sleep(0.1)
            with contextlib.suppress(ProcessLookupError):  # It was killed because it hung.
                os.kill(pid, how)
                sent = True
        self.wait_for_process(parent, service, pid)

    def wait_for_process(self, parent, service, other):
        end = time.monotonic() + PATIENCE_S
        while (pid := processes_of(parent).get(service, 0)) in (0, other):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        return pid

    def test_large_calls_go_through_buffers_and_small_ones_through_lines(self):
        for size, buffer in ((2000, "lines"), (6000, "a buffer")):
            report, lines = run("--duration_s=0.5", "--services=echo", f"--echo_bytes={size}",
                                "--trace=1")
            self.check_endings(report)
            self.assertIn(f"{size + 16} bytes, in {buffer}", lines)

    def test_a_service_that_dies_is_started_again_and_others_go_on(self):
        with subprocess.Popen([RPC, "--json=-", "--duration_s=0", "--stats_period_s=0.05",
                               "--outstanding=3", "--run_calls=1",
                               "--preempt_ms=30000", "--handler_ms=30000",
                               "--services=echo,add"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as process:
            for _ in range(3):
                process.stderr.readline()
            for _ in range(3):
                self.kill_one(process.pid, "libsluice_rpc_echo", signal.SIGKILL)
                time.sleep(0.3)
            left = processes_of(process.pid)
            process.send_signal(signal.SIGINT)
            output, lines = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0, lines)
        report = json.loads(output)
        self.check_endings(report)
        self.assertEqual(report["restarts"], 3, report)
        self.assertLessEqual(report["refused"], 3, "calls that a process died with")
        self.assertFalse([name for name, pid in left.items()
                          if pathlib.Path(f"/proc/{pid}").exists()], "processes are left over")

    def test_a_model_on_threads_repeats_its_calls(self):
        for iface in ("packetized", "streaming"):
            with self.subTest(iface):
                report, _ = run("--no-huge", "-m", "512", "--", f"--iface={iface}",
                                "--on=threads:threads=2", "--duration_s=1", "--stats_period_s=0")
                self.check_endings(report)
                self.assertGreater(report["answered"], 0)
                self.assertGreater(report["wire"]["verified"], 0)
                self.assertEqual([report[key] for key in ("lost", "refused", "late", "corrupted")],
                                 [0] * 4, report)
                self.assertEqual(report["rpc"]["rpc_sent"], report["answered"])

    def test_every_interface_that_carries_frames_answers_every_call(self):
        flags = {"packetized": ["--workers=2", "--outstanding=64", "--run_calls=7"],
                 "streaming": ["--outstanding=8", "--echo_bytes=1400"],
                 "bilateral": ["--services=echo,nothing", "--run_calls=3"]}
        for iface, more in flags.items():
            with self.subTest(iface):
                report, lines = run("--no-huge", "-m", "512", "--", f"--iface={iface}",
                                    "--duration_s=0.4", "--stats_period_s=0.2",
                                    "--timeout_ms=20000", *more)
                self.check_endings(report)
                self.assertEqual([report[key] for key in ("app", "iface", "traffic")],
                                 ["rpc", iface, "clients"])
                self.assertEqual([report[key] for key in ("lost", "refused", "late")], [0] * 3,
                                 report)
                self.assertFalse({name for name, count in report["drops"].items() if count})
                self.assertEqual(report["rpc"]["rpc_sent"], report["answered"])
                self.assertEqual(report["rpc"]["rx_frames"], report["answered"])
                self.assertLessEqual(report["latency_us"]["p50"], report["latency_us"]["p99"])
                self.assertRegex(lines, r"calls [0-9]+  answered [0-9]+  p50 ")

    def test_a_service_that_says_no_is_refused_on_frames_as_in_lines(self):
        for flags in ([], ["--no-huge", "-m", "512", "--", "--iface=packetized"]):
            with self.subTest(flags=flags), tempfile.TemporaryDirectory() as folder:
                done = subprocess.run([RPC, *flags, "--json=-", "--duration_s=0.2",
                                       "--services=" + service(folder, "return 0;")],
                                      capture_output=True, text=True, timeout=PATIENCE_S,
                                      check=False)
                self.assertEqual(done.returncode, 1, "nothing was answered")
                report = json.loads(done.stdout)
                self.assertEqual([report[key] for key in ("answered", "missing", "corrupted")],
                                 [0] * 3)
                self.assertGreater(report["refused"], 5)

    def test_constants_of_files_can_be_given(self):
        for flags in ([], ["--no-huge", "-m", "512", "--", "--iface=packetized"]):
            with self.subTest(flags=flags), tempfile.TemporaryDirectory() as folder:
                report, _ = run(*flags, "--duration_s=0.3", "--define=OTHER=5,LATEST=1",
                                "--services=" + service(folder, "return 1;", "LATEST"))
                self.check_endings(report)

    def test_a_file_that_only_rpcgen_n_declares_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            x = pathlib.Path(folder) / "two.x"
            x.write_text("program P { version V { int ADD(int, int) = 1; } = 1; } = 0x20000200;")
            for flags in ([], ["--iface=packetized"]):
                done = subprocess.run([RPC, *flags, f"--services={SERVICES}/libsluice_rpc_add.so:{x}"],
                                      capture_output=True, text=True, timeout=PATIENCE_S,
                                      check=False)
                self.assertEqual(done.returncode, 2, done)
                self.assertIn("two.x: ADD has several arguments", done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "needs a socket of packets")
    def test_an_interface_that_may_come_is_no_bad_argument(self):
        done = subprocess.run([RPC, "--wire=nobody", "--ip=10.0.0.1"], capture_output=True,
                              text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual((done.returncode, done.stderr),
                         (1, "--wire=nobody --ip=10.0.0.1: No such device\n"))

    def test_calls_under_way_at_the_end_are_answered(self):
        """Sends more than a burst of calls. Each lasts half as long as the silence after which a
        run ends."""
        with tempfile.TemporaryDirectory() as folder:
            slow = service(folder, "usleep(5000); return 1;")
            for iface in ("packetized", "bilateral"):
                with self.subTest(iface):
                    report, _ = run("--no-huge", "-m", "512", "--", f"--iface={iface}",
                                    "--duration_s=0.2", "--outstanding=40", "--timeout_ms=20000",
                                    "--services=" + slow)
                    self.check_endings(report)
                    self.assertEqual([report[key] for key in ("lost", "late")], [0] * 2, report)

    def test_it_lists_its_interfaces(self):
        done = subprocess.run([RPC, "--list=interfaces"], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=True)
        self.assertEqual([one["name"] for one in json.loads(done.stdout)],
                         ["packetized", "streaming", "bilateral", "coherent"])

    def test_what_services_include_is_c(self):
        header = pathlib.Path(__file__).resolve().parents[2] / "apps" / "rpc" / "sluice_rpc.h"
        subprocess.run(["cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror",
                        "-fsyntax-only", "-x", "c", str(header)], check=True, timeout=PATIENCE_S)

    def test_bad_arguments_end_with_2_and_one_line(self):
        sample = SERVICES / "libsluice_rpc_add.so"
        for argument, says in {
                "--cores=0": "--cores=0: give 1 to 32",
                "--service_cores=2": "--service_cores=2: give 1 to the number of --cores",
                "--nested=0": "--nested=0: give 1 to 1024",
                "--nested_ms=0": "--nested_ms=0: give 0.001 to 60000",
                "--store_mib=0": "--store_mib=0: give 1 to 1048576",
                "--policy=best": "--policy=best: give one of fifo_per_cpu, fifo_central, ",
                "--echo_bytes=8193": "--echo_bytes=8193: give 0 to 8192",
                "--define=SIDE": "--define=SIDE: give NAME=NUMBER, separated by commas",
                "--iface=packetized --define=3=3": "--define=3=3: give NAME=NUMBER, separated by commas",
                "--services=sort": "services/libsluice_rpc_sort.so is not a file: give OBJECT.so:FILE.x, ",
                f"--services={sample}:{__file__}": "end_to_end_test.py:1:",
                f"--services=add,{sample}:{SERVICES}/add.x":
                    "another service provides the same program",
                f"--services={sample}:{SERVICES}/echo.x": "has no function echo_1_svc",
                "--json=/nowhere/report": "--json=/nowhere/report: ",
                "--ip=10.0.0.1": "--ip=10.0.0.1: requires a network interface: --wire=NAME",
                "--wire=nowhere": "--ip=: give the addresses of the NIC on nowhere",
                "--colour=red": "--colour=red: unknown flag: see --help",
                "fast": "fast: not a flag: see --help",
                "--queue": "--queue: needs a value: --queue=VALUE",
                "--iface=token-ring": "--iface=token-ring: ",
                "--iface=streaming --rpc_port=0": "--rpc_port=0: give 1 to 65535",
                "--iface streaming --outstanding=0": "--outstanding=0: give 1 to 4096",
                "--iface=packetized --run_calls=0": "--run_calls=0: give 1 to 1000000000",
                "--iface=packetized --echo_bytes=1401": "--echo_bytes=1401: give 0 to 1400",
                "--iface=bilateral --timeout_ms=0": "--timeout_ms=0: give 0.1 to 60000",
                "--iface=packetized --ip=ten": "--ip=ten: ",
                "--iface=packetized --services=sort":
                    "services/libsluice_rpc_sort.so is not a file",
                f"--iface=packetized --services={sample}:{SERVICES}/echo.x":
                    "has no function echo_1_svc",
                f"--iface=packetized --services=add,{sample}:{SERVICES}/add.x":
                    "another service provides the same program",
                "--iface=packetized --policy=fifo": "policy"}.items():
            with self.subTest(argument):
                done = subprocess.run([RPC, *argument.split()], capture_output=True, text=True,
                                      timeout=PATIENCE_S, check=False)
                self.assertEqual(done.returncode, 2, done)
                self.assertEqual(done.stderr.count("\n"), 1, done)
                self.assertIn(says, done.stderr)


if __name__ == "__main__":
    unittest.main()
