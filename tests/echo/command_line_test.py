#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The command line of every application, tested on sluice-echo: a bad argument ends with exit code
2 and one line that names the flag, before EAL starts."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import private_folder  # pylint: disable=wrong-import-position,unused-import

ECHO = sys.argv.pop()
ARCHITECTURE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "architecture.md"

# Arguments, and the text that the line must contain.
BAD = [
    (["--no_such_flag=1"], "--no_such_flag"),
    (["--frame_sze=64"], "--frame_sze"),
    (["frame_size=64"], "frame_size=64"),
    (["--frame_size"], "--frame_size"),
    (["--frame_size=63"], "--frame_size"),
    (["--frame_size=1519"], "--frame_size"),
    (["--frame_size=64x"], "--frame_size"),
    (["--frame_size=-64"], "--frame_size"),
    (["--frame_size="], "--frame_size"),
    (["--flows=0"], "--flows"),
    (["--flows=abc"], "--flows"),
    (["--flows=-1"], "--flows"),
    (["--rate=fast"], "--rate"),
    (["--rate=0"], "--rate"),
    (["--iface=coherence"], "--iface"),
    (["--iface=Streaming"], "--iface"),
    (["--list=everything"], "--list"),
    (["--mode=reverse"], "--mode"),
    (["--duration_s=-1"], "--duration_s"),
    (["--duration_s=nan"], "--duration_s"),
    (["--stats_period_s=soon"], "--stats_period_s"),
    (["--workers=0"], "--workers"),
    (["--workers=65"], "--workers"),
    (["--pipes=0"], "--pipes"),
    (["--pipes=1025"], "--pipes"),
    (["--burst=65"], "--burst"),
    (["--regions=2"], "--regions"),
    (["--regions=65"], "--regions"),
    (["--region_bytes=5000"], "--region_bytes"),
    (["--region_bytes=266240"], "--region_bytes"),
    (["--region_frames=17"], "--region_frames"),
    (["--region_frames=4112"], "--region_frames"),
    (["--region_bytes=4096", "--region_frames=528"], "--region_frames"),
    (["--ip=10.0.0.256"], "--ip"),
    (["--ip=10.0.0.1,nonsense"], "--ip"),
    (["--capture=file.pcapng,n=0"], "--capture"),
    (["--capture=file.pcapng,n=many"], "--capture"),
    (["--pcap=a,b.pcap"], "--pcap"),
    (["--wire=loopback", "--frame_size=128"], "--frame_size"),
    (["--json=/nonexistent/report.json"], "--json"),
    (["--flagfile=/nonexistent"], "--flagfile"),
    (["--flows=1", "--vdev=net_null0"], "--vdev"),
    (["--vdev=net_null0", "--flows=1"], "--flows"),
    (["--vdev=net_null0", "--", "--wire=loopback"], "--wire"),
    (["--vdev=net_null0", "--", "--pcap=a.pcap"], "--pcap"),
    (["--", "--vdev=net_null0"], "--vdev"),
]


def run(*arguments):
    return subprocess.run([ECHO, *arguments], capture_output=True, text=True, timeout=60)


class CommandLine(unittest.TestCase):
    def test_bad_arguments(self):
        for arguments, flag in BAD:
            with self.subTest(arguments):
                result = run(*arguments)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
                self.assertIn(flag, result.stderr)
                self.assertEqual(result.stdout, "")

    def test_interfaces_are_listed_for_scripts(self):
        result = run("--list=interfaces")
        self.assertEqual(result.returncode, 0, result.stderr)
        listed = {interface.pop("name"): interface for interface in json.loads(result.stdout)}
        # The table of interfaces: name, unit of transfer, owner, "any ethdev; `net_ipu`".
        rows = re.findall(r"^\| (\w+) \|.*?`(net_\w+)`[^|]*\|$", ARCHITECTURE.read_text("utf-8"), re.M)
        self.assertEqual([(name, about["model"]) for name, about in listed.items()],
                         [(name, driver + "0") for name, driver in rows])
        self.assertEqual([name for name, about in listed.items() if about["ipv4_only"]],
                         ["streaming"])

    def test_flags_from_a_file(self):
        with tempfile.NamedTemporaryFile("w", suffix=".flags") as flags:
            flags.write("# a comment\n\n--workers=0\n")
            flags.flush()
            result = run("--flagfile=" + flags.name)
        self.assertEqual(result.returncode, 2)
        self.assertIn("--workers=0", result.stderr)

    def test_help_shows_our_half_and_on_request_that_of_eal(self):
        for request, shown, missing in (
                ("--help", ("--frame_size", "--mode", "--ip", "coherent", "--help=eal"),
                 ("--lcores", "--tab_completion_word")),
                ("--help=eal", ("--vdev", "--lcores"), ("--frame_size",))):
            result = run(request)
            self.assertEqual(result.returncode, 0)
            for option in shown:
                self.assertIn(option, result.stdout)
            for option in missing:
                self.assertNotIn(option, result.stdout)

    def test_closed_standard_streams_are_no_other_files(self):
        # Output must not reach files that get the numbers 0 to 2, as happened with EAL's memory.
        for closed in ("<&- >&- 2>&-", ">&-"):
            with self.subTest(closed), tempfile.NamedTemporaryFile("r") as report:
                done = subprocess.run(
                    ["/bin/sh", "-c", f'exec "$0" "$@" {closed}', ECHO, "--no-huge", "-m", "128",
                     "--", "--duration_s=0.1", f"--json={report.name}", "--stats_period_s=0.05"],
                    timeout=60, check=False, stderr=subprocess.DEVNULL)
                self.assertEqual(done.returncode, 0)
                self.assertEqual(json.load(report)["app"], "echo")

    @unittest.skipIf(os.path.exists("/dev/nvidia0"), "there is a GPU")
    def test_a_missing_gpu_is_no_bad_argument(self):
        for flags in (["--on=gpu"], ["--on=gpu:batch=512", "--iface=streaming"]):
            with self.subTest(flags=flags):
                result = run("--no-huge", "-m", "256", "--", *flags)
                self.assertRegex(result.stderr, r"^--on=gpu.*: on=gpu: .*\n$")
                # A build without code for GPUs rejects the flag.
                self.assertEqual(result.returncode, 2 if "this build" in result.stderr else 1)
        result = run("--no-pci", "--no-huge", "-m", "256", "--vdev=net_ipu0,wire=gen,on=gpu", "--")
        self.assertEqual(result.returncode, 2 if "this build" in result.stderr else 1)

    def test_version(self):
        result = run("--version")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"^sluice-echo \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    unittest.main()
