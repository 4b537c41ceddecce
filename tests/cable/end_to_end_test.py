#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Applications at both ends of a cable: every frame arrives, unchanged and in order, on every
interface, and a killed process may be restarted. Arguments: sluice-device, sluice-echo, the sender
of tests/runtime, sluice-volley-bench, the plugins of net_ipu and net_enso."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import harness
import testpmd

PLUGINS = {"enso": sys.argv.pop(), "ipu": sys.argv.pop()}
VOLLEY = sys.argv.pop()
SENDER = sys.argv.pop()
ECHO = sys.argv.pop()
DEVICE = sys.argv.pop()
MODELS = {"packetized": "ipu", "streaming": "enso", "bilateral": "ipu", "coherent": "ipu"}
INTERFACES = list(MODELS)
FRAMES = 5_000
TRAFFIC = r" rx +(?!0\.000)\S+ Mpps"  # Matches a statistics line that shows traffic.


def start_patiently(tester):
    """Starts testpmd with retries. By default it drops frames that it cannot send immediately."""
    tester.run("set fwd io retry")
    tester.run("set burst tx delay 100 retry 10000")
    tester.run("start")


class Cable(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        os.environ["XDG_RUNTIME_DIR"] = self.folder

    def start(self, binary, iface, *flags, wire=None, cpu="worker"):
        """Starts an application at the end of the cable named after its interface, or with `wire`.
        Returns the process."""
        wire = wire or f"wire=cable:{iface},device_cpu={cpu}"
        process = subprocess.Popen(
            [binary, *harness.MEMORY, "--lcores=0@0,1@0", "--no-pci",
             f"--vdev=net_{MODELS[iface]}0,{wire}", "--", f"--iface={iface}", "--json=-",
             "--stats_period_s=0.05", *flags],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        process.said = ""
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def wait_for(self, process, pattern):
        """Returns the first matching line of the process's standard error, from now on."""
        for line in process.stderr:
            process.said += line
            if re.search(pattern, line):
                return line
        raise AssertionError(f"no {pattern!r} in:\n{process.said}")

    def finish(self, process):
        """Stops the process with a signal and returns its report. The run may fail because the link
        is down."""
        process.send_signal(signal.SIGTERM)
        stdout, stderr = process.communicate(timeout=60)
        if process.returncode != 0:
            self.assertIn("the link was down", stderr, process.said)
        return json.loads(stdout[stdout.rfind("\n{") + 1:])

    def check(self, report):
        self.assertEqual(report["rx_pkts"] + report.get("sent_pkts", 0),
                         report["tx_pkts"] + report["consumed_pkts"]
                         + sum(report["drops"].values()))
        for nothing in ("lost", "corrupted", "duplicated", "reordered", "rx_desync_flits"):
            self.assertEqual(report[nothing], 0, nothing)

    def test_a_generator_verifies_what_an_echo_at_the_other_end_returns(self):
        """Frames go from the generator through testpmd and the cable to the echo and back. The
        generator compares every byte."""
        sizes = "gen:size=64/570/1518+flows=100+count=%d" % FRAMES
        for iface in INTERFACES:
            with self.subTest(iface=iface):
                model = MODELS[iface]
                echo = self.start(ECHO, iface, "--mode=increment")
                self.wait_for(echo, r" rx +0\.000")
                bridge = testpmd.Testpmd(
                    [PLUGINS[model]], [f"net_{model}0,wire={sizes},verify=full,pause=on",
                                       f"net_{model}1,wire=cable:{iface}"], [])
                self.addCleanup(bridge.process.kill)
                start_patiently(bridge)
                stats = bridge.wait_for_xstats(lambda s: s["wire_verified"] >= FRAMES)
                bridge.stop()
                for nothing in ("wire_lost", "wire_corrupted", "wire_duplicated",
                                "wire_reordered"):
                    self.assertEqual(stats[nothing], 0, nothing)
                bridge.quit()
                report = self.finish(echo)
                self.check(report)
                self.assertEqual(report["rx_pkts"], FRAMES)

    def test_an_application_sends_and_another_returns(self):
        """The sender checks the order and bytes of the frames that testpmd returns unchanged."""
        for [iface] in harness.each(["streaming"] if not harness.FULL else INTERFACES):
            with self.subTest(iface=iface):
                model = MODELS[iface]
                mirror = testpmd.Testpmd([PLUGINS[model]], [f"net_{model}0,wire=cable:{iface}"],
                                         ["--port-topology=loop"])
                self.addCleanup(mirror.process.kill)
                start_patiently(mirror)
                sender = self.start(SENDER, iface)
                self.wait_for(sender, r"back: 12000")
                report = self.finish(sender)
                self.assertEqual((report["answers"], report["replies"], report["refused"]),
                                 (3000, 9000, 0))
                self.assertEqual(sum(report["drops"].values()), 0)
                mirror.stop()
                mirror.quit()

    def test_both_ends_in_one_process(self):
        """Frames from the generator enter at port 0, leave by port 1 and are returned by port 2."""
        bridge = testpmd.Testpmd(
            [PLUGINS["ipu"], PLUGINS["enso"]],
            [f"net_ipu0,wire=gen:size=imix+flows=100+count={FRAMES},verify=full,pause=on",
             "net_ipu1,wire=cable:test", "net_enso0,wire=cable:test"], [])
        self.addCleanup(bridge.process.kill)
        start_patiently(bridge)  # Ports 0 and 1 are a pair; the last one returns its frames.
        stats = bridge.wait_for_xstats(lambda s: s["wire_verified"] >= FRAMES)
        bridge.stop()
        for nothing in ("wire_lost", "wire_corrupted", "wire_duplicated", "wire_reordered"):
            self.assertEqual(stats[nothing], 0, nothing)
        bridge.quit()

    def test_models_in_processes_of_their_own(self):
        for number, model in enumerate(("ipu", "enso")):
            device = subprocess.Popen(
                [DEVICE, f"--model={model}", f"--socket={self.folder}/{number}.sock",
                 "--wire=cable:test", "--stats_period_s=0"],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.addCleanup(self.end, device)
            for line in device.stdout:
                if "attach a host with" in line:
                    break
        waiting, serving = (
            self.start(VOLLEY, iface, flag, wire=f"device={self.folder}/{number}.sock")
            for number, (iface, flag) in enumerate((("packetized", "--serve=0"),
                                                    ("streaming", "--serve=100"))))
        for process in (serving, waiting):
            self.wait_for(process, TRAFFIC)
        for process in (serving, waiting):
            report = self.finish(process)
            self.check(report)
            self.assertTrue(report["link_up"])

    def test_a_thread_of_its_own_or_the_worker_steps_the_model(self):
        for iface in INTERFACES if harness.FULL else ("streaming", "coherent"):
            with self.subTest(iface=iface):
                waiting = self.start(VOLLEY, iface, cpu="0")
                serving = self.start(VOLLEY, iface, "--serve=256", "--bytes=1518")
                for process in (serving, waiting):
                    self.wait_for(process, TRAFFIC)
                report = self.finish(serving)
                self.check(report)
                self.assertGreater(report["rx_pkts"], 0)
                self.finish(waiting)

    def test_whoever_is_killed_may_come_back(self):
        for iface in INTERFACES:
            with self.subTest(iface=iface):
                first = self.start(VOLLEY, iface)
                second = self.start(VOLLEY, iface, "--serve=64")
                for victim in ("first", "second"):
                    for process in (first, second):
                        self.wait_for(process, TRAFFIC)
                    survivor = second if victim == "first" else first
                    killed = first if victim == "first" else second
                    killed.kill()
                    self.wait_for(survivor, "the other end is gone")
                    if victim == "first":
                        first = self.start(VOLLEY, iface)
                    else:
                        second = self.start(VOLLEY, iface, "--serve=64")
                for process in (first, second):
                    self.wait_for(process, TRAFFIC)
                report = self.finish(second)
                self.check(report)
                self.finish(first)

    def test_bad_ends_are_refused_in_one_line(self):
        ends = [self.start(ECHO, "packetized") for _ in range(2)]
        for end in ends:
            self.wait_for(end, "connected to process")
        for wire, why in (("cable:packetized", "the cable already connects processes"),
                          ("cable:", "give a name for the cable"),
                          ("cable:a b", "letters"),
                          ("cable:/does/not/exist", "folder")):
            with self.subTest(wire=wire):
                code, said = harness.fails(ECHO, *harness.MEMORY, "--", f"--wire={wire}")
                self.assertEqual(code, 2, said)
                self.assertIn(why, said)
                self.assertEqual(said.count("\n"), 1, said)
        for end in ends:
            self.finish(end)


if __name__ == "__main__":
    unittest.main()
