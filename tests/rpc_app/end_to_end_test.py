#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""end_to_end_test.py SLUICE_RPC: sluice-rpc as users start it."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

RPC = sys.argv.pop()
SERVICES = pathlib.Path(RPC).parent / "services"
PATIENCE_S = 60


def run(*arguments):
    """The report of a run that ends by itself, and the lines for people."""
    done = subprocess.run([RPC, "--json=-", *arguments], capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout), done.stderr


def processes_of(parent):
    """The services' processes, by the name of their shared object."""
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
        """Every call of the load generator has an ending; none is wrong."""
        self.assertEqual(report["missing"], 0, report)
        self.assertEqual(report["corrupted"], 0, report)
        self.assertEqual(report["unknown"], 0, report)
        self.assertGreater(report["answered"], 5, report)

    def test_without_a_fault_every_call_is_answered(self):
        report, lines = run("--duration_s=0.5", "--outstanding=4", "--run_calls=7",
                            "--preempt_ms=10000", "--trace=2", "--stats_period_s=0.2")
        self.check_endings(report)
        self.assertEqual([report[key] for key in ("lost", "refused", "late", "restarts",
                                                  "nic_drops")], [0] * 5, report)
        self.assertEqual(report["services"], ["nothing", "echo", "add"])
        self.assertEqual(report["device"]["rpc_answered"], report["answered"])
        self.assertIn("Mcalls/s", lines)
        # The twelve steps, of each call that is traced; the host jumps, and does nothing else.
        steps = [line.split() for line in lines.splitlines() if line.startswith("  ")]
        for number in range(1, 13):
            self.assertEqual(sum(step[0] == str(number) for step in steps), 2, lines)
        hosts = [step for step in steps if "host" in step]
        self.assertEqual(hosts, [["12", "jump", "host"]] * 2, lines)

    def test_large_calls_go_through_buffers_and_small_ones_through_lines(self):
        for size, buffer in ((2000, "lines"), (6000, "a buffer")):
            report, lines = run("--duration_s=0.2", "--services=echo", f"--echo_bytes={size}",
                                "--trace=1")
            self.check_endings(report)
            self.assertIn(f"{size + 16} bytes, in {buffer}", lines)

    def test_a_service_that_dies_is_started_again_and_others_go_on(self):
        with subprocess.Popen([RPC, "--json=-", "--duration_s=0", "--stats_period_s=0.05",
                               "--outstanding=3", "--run_calls=1",
                               "--preempt_ms=10000", "--services=echo,add"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as process:
            for _ in range(3):
                process.stderr.readline()
            killed = set()
            for _ in range(3):
                end = time.monotonic() + PATIENCE_S
                while not (found := processes_of(process.pid).get("libsluice_rpc_echo", 0)) \
                        or found in killed:
                    self.assertLess(time.monotonic(), end)
                    time.sleep(0.02)
                os.kill(found, signal.SIGKILL)
                killed.add(found)
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

    def test_bad_arguments_end_with_2_and_one_line(self):
        sample = SERVICES / "libsluice_rpc_add.so"
        for argument, says in {
                "--cores=0": "--cores=0: give 1 to 32",
                "--service_cores=2": "--service_cores=2: give 1 to the number of --cores",
                "--policy=best": "--policy=best: give one of fifo_per_cpu, fifo_central, ",
                "--echo_bytes=8193": "--echo_bytes=8193: give 0 to 8192",
                "--services=sort": "services/libsluice_rpc_sort.so is no file: give nothing, ",
                f"--services={sample}:{__file__}": "end_to_end_test.py:1:",
                f"--services=add,{sample}:{SERVICES}/add.x": "a program of it is another service's",
                f"--services={sample}:{SERVICES}/echo.x": "has no function echo_1_svc",
                "--json=/nowhere/report": "--json=/nowhere/report: ",
                "--ip=10.0.0.1": "--ip=10.0.0.1: give a network interface, too: --wire=NAME",
                "--wire=nowhere": "--ip=: give the NIC's addresses on nowhere",
                "--colour=red": "--colour=red: unknown flag: see --help",
                "fast": "fast: not a flag: see --help",
                "--queue": "--queue: needs a value: --queue=VALUE"}.items():
            with self.subTest(argument):
                done = subprocess.run([RPC, argument], capture_output=True, text=True,
                                      timeout=PATIENCE_S, check=False)
                self.assertEqual(done.returncode, 2, done)
                self.assertEqual(done.stderr.count("\n"), 1, done)
                self.assertIn(says, done.stderr)


if __name__ == "__main__":
    unittest.main()
