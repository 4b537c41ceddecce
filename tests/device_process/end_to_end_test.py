#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""sluice-device and hosts in separate processes: every frame is returned or counted, whichever
process is killed. Works without root and without hugepages. Arguments: sluice-device, sluice-echo,
the plugins of net_ipu and net_enso."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import harness
import private_folder

PLUGINS = {model: private_folder.plugin(sys.argv.pop()) for model in ("enso", "ipu")}
ECHO = sys.argv.pop()
DEVICE = sys.argv.pop()
INTERFACES = {"ipu": "packetized", "enso": "streaming"}
MEMORY = ["--no-huge", "-m", "256"]
WIRE = "gen:size=64+flows=100+rate=100k"


class Device:
    """A sluice-device with a separate socket."""

    def __init__(self, model, *flags, folder=None):
        self.folder = folder or tempfile.mkdtemp()
        self.model = model
        self.socket = os.path.join(self.folder, "device.sock")
        self.json = os.path.join(self.folder, "device.json")
        self.process = subprocess.Popen(
            [DEVICE, f"--model={model}", f"--socket={self.socket}", f"--json={self.json}",
             "--verify=full", *flags], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.text = ""
        self.wait_for("attach a host with")

    def wait_for(self, what):
        """Reads lines until one contains `what`. Returns that line."""
        for line in self.process.stdout:
            self.text += line
            if what in line:
                return line
        raise AssertionError(f"no {what!r} in:\n{self.text}")

    def host(self, *flags, eal=None, lcores=2, iface=None, **popen):
        vdev = f"--vdev=net_{self.model}0,device={self.socket}"
        return subprocess.Popen(
            [ECHO, *(MEMORY if eal is None else eal), harness.lcores(lcores), "--no-pci", vdev, "--",
             f"--iface={iface or INTERFACES[self.model]}", "--json=-",
             "--stats_period_s=0.05", *flags],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **popen)

    def end(self, how=signal.SIGTERM):
        """Stops the device, which must exit with 0; returns its report."""
        self.process.send_signal(how)
        text, _ = self.process.communicate(timeout=60)
        self.text += text
        assert self.process.returncode == 0, self.text
        with open(self.json, encoding="utf-8") as file:
            return json.load(file)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        shutil.rmtree(self.folder)


def wait_for_line(host, pattern):
    said = []
    for line in host.stderr:
        said.append(line)
        if re.search(pattern, line):
            return
    raise AssertionError(f"no {pattern!r} in:\n" + "".join(said))


def wait_for_traffic(host):
    """Waits until frames have passed between two of the host's lines."""
    wait_for_line(host, r" rx +(?!0\.000)\S+ Mpps")


class EndToEndCase(unittest.TestCase):
    def device(self, model, *flags):
        device = Device(model, *flags)
        self.addCleanup(device.close)
        return device

    def finished(self, host):
        """Stops a host under traffic; returns its report."""
        wait_for_traffic(host)
        host.send_signal(signal.SIGTERM)
        stdout, stderr = host.communicate(timeout=60)
        self.assertEqual(host.returncode, 0, stderr)
        return json.loads(stdout)

    def check_host(self, report):
        self.assertGreater(report["rx_pkts"], 0)
        self.assertEqual(report["rx_pkts"], report["tx_pkts"] + report["consumed_pkts"]
                         + sum(report["drops"].values()))
        for nothing in ("lost", "corrupted", "duplicated", "reordered", "rx_desync_flits"):
            self.assertEqual(report[nothing], 0, nothing)
        self.assertTrue(report["link_up"])

    def check_device(self, report, hosts):
        self.assertEqual(report["hosts"], hosts)
        wire = report["wire"]
        self.assertEqual(wire["accepted"], wire["returned"] + report["abandoned"])
        for nothing in ("corrupted", "duplicated", "reordered"):
            self.assertEqual(report[nothing], 0, nothing)
        self.assertEqual(wire["verified"], wire["returned"])


class EndToEnd(EndToEndCase):
    def test_every_frame_comes_back(self):
        for model in INTERFACES:
            with self.subTest(model=model):
                device = self.device(model, f"--wire={WIRE}", "--pause=on")
                host = self.finished(device.host())
                self.check_host(host)
                report = device.end(signal.SIGINT)
                self.check_device(report, hosts=1)
                self.assertEqual(report["lost"], 0)
                self.assertEqual(report["wire"]["offered"], host["rx_pkts"])
                self.assertEqual(report["wire"]["returned"], host["tx_pkts"])
                self.assertFalse(os.path.exists(device.socket))

    def test_frames_that_no_host_can_accept_are_counted(self):
        for model in INTERFACES:
            with self.subTest(model=model):
                device = self.device(model, "--wire=gen:size=2000+rate=100k")
                host = device.host("--duration_s=0.3")
                host.communicate(timeout=60)
                self.assertEqual(host.returncode, 1)
                report = device.end()
                offered = report["wire"]["offered"]
                self.assertGreater(offered, 0)
                self.assertEqual(report["nic_drops"]["rx_oversize"], offered)
                # From the wire's point of view, frames that the NIC dropped are lost.
                self.assertEqual((report["nic_dropped_pkts"], report["lost"]), (offered, offered))
                self.assertIn(f", dropped by the NIC {offered}, lost {offered}, ", device.text)
                self.assertIn(f"  NIC drop rx_oversize {offered}\n", device.text)

    @unittest.skipUnless(os.geteuid() == 0 and os.access("/dev/hugepages", os.W_OK), "hugepages")
    def test_memory_in_hugepages(self):
        with open("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages",
                  encoding="ascii") as file:
            if int(file.read()) < 256:
                self.skipTest("too few hugepages")
        kinds = (["--huge-unlink"], ["--in-memory"], ["--single-file-segments", "--in-memory"])
        device = self.device("ipu", f"--wire={WIRE}", "--pause=on")
        for eal in kinds:
            with self.subTest(eal=eal):
                self.check_host(self.finished(device.host(eal=eal)))
        self.check_device(device.end(), hosts=len(kinds))

    def test_a_killed_host_takes_its_frames_with_it_and_nothing_else(self):
        for model in INTERFACES:
            with self.subTest(model=model):
                device = self.device(model, f"--wire={WIRE}", "--pause=on")
                for _ in range(2):
                    host = device.host()
                    wait_for_traffic(host)
                    host.kill()
                    host.communicate()
                self.check_host(self.finished(device.host()))
                report = device.end()
                self.check_device(report, hosts=3)
                self.assertEqual(report["lost"], report["abandoned"])

    def test_every_frame_in_the_lines_of_a_killed_host_is_counted(self):
        device = self.device("ipu", f"--wire={WIRE}", "--pause=on", "--stats_period_s=0.05")
        for _ in range(3):
            host = device.host(iface="coherent")
            wait_for_traffic(host)
            device.wait_for(f"{host.pid} attached")
            host.kill()
            host.communicate()
            device.wait_for("no host attached")  # The device must notice that the host has ended.
        report = device.end()
        self.check_device(report, hosts=3)
        counted = report["device"]
        self.assertEqual(report["wire"]["accepted"], report["wire"]["returned"] + sum(
            counted.get(name, 0) for name in ("line_lost", "line_rx_discards", "line_tx_discards")))

    def test_a_killed_device_leaves_a_host_that_says_so(self):
        for model in INTERFACES:
            with self.subTest(model=model):
                device = self.device(model, f"--wire={WIRE}")
                host = device.host()
                wait_for_traffic(host)
                device.process.kill()
                device.process.communicate()
                wait_for_line(host, "the link is down until it is back")
                host.send_signal(signal.SIGTERM)
                stdout, stderr = host.communicate(timeout=60)
                self.assertEqual(host.returncode, 1, stderr)
                self.assertIn("link was down", stderr)
                self.assertFalse(json.loads(stdout)["link_up"])

    def test_a_frozen_host_or_device_goes_on(self):
        for who in ("device", "host"):
            with self.subTest(who=who):
                device = self.device("ipu", f"--wire={WIRE}", "--pause=on")
                host = device.host()
                wait_for_traffic(host)
                frozen = host if who == "host" else device.process
                frozen.send_signal(signal.SIGSTOP)
                time.sleep(0.5)
                frozen.send_signal(signal.SIGCONT)
                wait_for_traffic(host)  # Some of these frames may have passed before the freeze.
                self.check_host(self.finished(host))
                self.check_device(device.end(), hosts=1)

    def test_one_host_at_a_time(self):
        device = self.device("ipu", f"--wire={WIRE}")
        first = device.host()
        wait_for_traffic(first)
        second = device.host("--duration_s=1")
        _, stderr = second.communicate(timeout=60)
        self.assertNotEqual(second.returncode, 0)
        self.assertIn("serves process", stderr)
        self.check_host(self.finished(first))

    @unittest.skipUnless(shutil.which("dpdk-testpmd"), "needs dpdk-testpmd")
    def test_stock_testpmd(self):
        for model in INTERFACES:
            with self.subTest(model=model):
                device = self.device(model, f"--wire={WIRE}", "--pause=on", "--stats_period_s=0.2")
                testpmd = subprocess.Popen(
                    ["dpdk-testpmd", harness.lcores(2), *MEMORY, "--no-pci", "--no-telemetry",
                     f"--file-prefix=device_testpmd_{os.getpid()}", "-d", PLUGINS[model],
                     f"--vdev=net_{model}0,device={device.socket}", "--", "--auto-start",
                     "--total-num-mbufs=8192", "--no-mlockall"],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                try:
                    deadline = time.monotonic() + 60
                    while " from host    0.000" in device.wait_for(" from host "):
                        self.assertIsNone(testpmd.poll(), "testpmd has ended")
                        self.assertLess(time.monotonic(), deadline)
                    output, _ = testpmd.communicate(b"\n", timeout=60)
                finally:
                    testpmd.kill()
                self.assertEqual(testpmd.returncode, 0, output.decode())
                report = device.end()
                self.check_device(report, hosts=1)
                self.assertGreater(report["wire"]["returned"], 0)


class OnThreads(EndToEndCase):
    """The model runs as the blocks of a GPU, whose wire checks every frame."""

    def card(self, *flags):
        return self.device("enso", "--on=threads:threads=2+receivers=2+senders=2", *flags)

    def test_every_frame_comes_back(self):
        for size in ("64", "imix"):
            with self.subTest(size=size):
                device = self.card(f"--wire=gen:size={size}+flows=100+rate=50k", "--pause=on")
                host = self.finished(device.host("--workers=2", lcores=3))
                self.check_host(host)
                self.assertEqual(len(host["lcores"]), 2)
                report = device.end()
                self.check_device(report, hosts=1)
                self.assertEqual(report["lost"], 0)
                self.assertEqual(report["wire"]["offered"], host["rx_pkts"])
                self.assertEqual(report["wire"]["returned"], host["tx_pkts"])

    def test_a_killed_host_takes_its_frames_with_it_and_nothing_else(self):
        device = self.card(f"--wire={WIRE}", "--pause=on")
        for _ in range(2):
            host = device.host()
            wait_for_traffic(host)
            host.kill()
            host.communicate()
        self.check_host(self.finished(device.host()))
        report = device.end()
        self.check_device(report, hosts=3)
        self.assertEqual(report["lost"], report["abandoned"])

    def test_a_killed_device_leaves_a_host_that_says_so(self):
        device = self.card(f"--wire={WIRE}")
        host = device.host()
        wait_for_traffic(host)
        device.process.kill()
        device.process.communicate()
        wait_for_line(host, "the link is down until it is back")
        host.send_signal(signal.SIGTERM)
        stdout, stderr = host.communicate(timeout=60)
        self.assertEqual(host.returncode, 1, stderr)
        self.assertFalse(json.loads(stdout)["link_up"])


class CommandLine(unittest.TestCase):
    def refused(self, *arguments, code=2):
        result = subprocess.run([DEVICE, *arguments], capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        return result.stderr

    def test_bad_arguments_end_in_one_line_with_the_flag(self):
        for arguments, named in (
                (["--model=fpga"], "--model=fpga: give"), (["--wire=string"], "--wire=string: "),
                (["--faults=drop:2"], "--faults=drop:2: "), (["--pause=maybe"], "--pause=maybe: "),
                (["--verify=a"], "--verify=a: "), (["--seed=x"], "--seed=x: "),
                (["--device_cpu=cpu"], "--device_cpu=cpu: "), (["--nothing=1"], "--nothing=1: "),
                (["--pipe_flits=1000", "--model=enso"], "--pipe_flits=1000: "),
                (["--pipe_flits=1024"], "--pipe_flits"), (["--duration_s=-1"], "--duration_s=-1: "),
                (["--socket="], "--socket=: "), (["--json"], "--json: "), (["word"], "word: "),
                (["--no-huge", "--wire=gen"], "--wire=gen: "),
                (["--device_cpu=1000"], "--device_cpu=1000: "),
                (["--on=card"], "--on=card: "), (["--on=threads:batch=0"], "--on=threads:batch=0: "),
                (["--model=enso", "--on=threads", "--wire=cable:a"], "--wire: "),
                (["--model=enso", "--on=threads", "--wire=gen", "--faults=drop:0.1"], "--faults: "),
                (["--model=enso", "--on=threads", "--wire=gen", "--device_cpu=0"], "--device_cpu: "),
                (["--model=enso", "--on=threads", "--wire=gen", "--vfio_user=bus"],
                 "--vfio_user=bus: conflicts with --on, "),
                (["--socket=/does/not/exist"], "--socket=/does/not/exist: "),
                (["--wire=pcap:/does/not/exist"], "/does/not/exist")):
            with self.subTest(arguments=arguments):
                self.assertIn(named, self.refused(*arguments))

    @unittest.skipIf(os.path.exists("/dev/nvidia0"), "there is a GPU")
    def test_without_a_gpu_one_line_says_so(self):
        result = subprocess.run([DEVICE, "--model=enso", "--on=gpu", "--wire=gen"],
                                capture_output=True, text=True, timeout=60, check=False)
        self.assertRegex(result.stderr, r"^--on=gpu: .*\n$")
        # A build without GPU code rejects the flag.
        self.assertEqual(result.returncode, 2 if "this build" in result.stderr else 1)

    def test_a_socket_in_use_is_refused_and_a_dead_ones_place_taken(self):
        first = Device("ipu")
        self.addCleanup(first.close)
        self.assertIn("another process", self.refused(f"--socket={first.socket}", code=1))
        first.process.kill()
        first.process.communicate()
        second = Device("ipu", "--stats_period_s=0", folder=first.folder)
        second.end()

    def test_without_arguments_it_works(self):
        with tempfile.TemporaryDirectory() as folder:
            device = subprocess.Popen([DEVICE], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      text=True, env={**os.environ, "XDG_RUNTIME_DIR": folder})
            lines = [device.stdout.readline() for _ in range(3)]
            self.assertIn(f"{folder}/sluice-device.sock", lines[0])
            self.assertIn(f"--vdev=net_ipu0,device={folder}/sluice-device.sock", lines[1])
            self.assertIn("no host attached", lines[2])
            device.send_signal(signal.SIGINT)
            text, _ = device.communicate(timeout=60)
            self.assertEqual(device.returncode, 0, text)
            self.assertIn("hosts 0", text)

    def test_help_and_version(self):
        for argument in ("--help", "--version"):
            result = subprocess.run([DEVICE, argument], capture_output=True, text=True, timeout=30,
                                    check=True)
            self.assertIn("sluice-device", result.stdout)


if __name__ == "__main__":
    harness.run_on_all_cpus()
