#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""end_to_end_test.py SLUICE_CHAIN OWN_STAGE: runs sluice-chain as a user does. With --full (suite
slow): 100,000 images while a stage is killed and restarted."""
import itertools
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import harness  # pylint: disable=wrong-import-position
OWN_STAGE, CHAIN = sys.argv.pop(), sys.argv.pop()

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"
ABSENT = [stage["name"] for stage in harness.listing(CHAIN, "stages")
          if "not in this build" in stage["what"]]
# On a busy machine, no message may time out.
PATIENT = ("--timeout_ms=30000", "--stats_period_s=0")
# Arguments for interfaces that carry frames.
EAL = (*harness.MEMORY, "--")


def chain(name, flow, stages, message=512):
    """Returns a chain from the NIC through the stages (names of devices) and back to the NIC."""
    steps = [("in", "nic")] + [(f"n{i}", stage) for i, stage in enumerate(stages)] + [("out", "nic")]
    nodes = [{"name": node, "device": device, "on_death": "drain", "window": 256,
              **({"to": [{"nodes": [after]}]} if after else {})}
             for (node, device), after in itertools.zip_longest(
                 steps, [node for node, _ in steps[1:]])]
    return {"name": name, "flows": [flow], "message": message, "nodes": nodes}


def graph(chains, **executors):
    """Returns a graph of these chains. `executors` maps the name of each device to its kind,
    executor and options, such as "streaming copy"."""
    devices = [{"name": "nic", "kind": "nic", "port": 1}]
    for port, (name, text) in enumerate(executors.items(), 2):
        kind, executor, *options = text.split()
        devices.append({"name": name, "kind": kind, "port": port, "executor": executor,
                        **({"options": options[0]} if options else {})})
    return {"devices": devices, "chains": chains}


class Runs(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def write(self, content):
        path = self.folder / "graph.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def run_graph(self, content, *flags, **keywords):
        return harness.run(CHAIN, f"--graph={self.write(content)}", "--json=-", *PATIENT, *flags,
                           **keywords)

    def check(self, report, messages=None):
        """Checks that every message has an outcome, and that no answer is wrong."""
        self.assertEqual(report["missing"], 0, report)
        for key in ("corrupted", "duplicated", "unknown"):
            self.assertEqual(report[key], 0, report)
        if messages is not None:
            self.assertEqual([report["rx_pkts"], report["tx_pkts"], report["lost"]],
                             [messages, messages, 0], report)

    @unittest.skipIf(ABSENT, f"not in this build: {ABSENT}")
    def test_the_example_both_ways(self):
        costs = {}
        for through in ("switch", "cpu"):
            report, _ = harness.run(CHAIN, "--json=-", "--messages=600", f"--through={through}",
                                    "--traffic=images:forged=100", *PATIENT)
            self.assertEqual(report["rx_pkts"], 600)
            self.assertEqual([report["tx_pkts"], report["refused"], report["lost"]], [594, 6, 0],
                             report)
            self.check(report)
            stages = {stage["device"]: stage for stage in report["stages"]}
            self.assertEqual(stages["qat"]["refused"], {"forged": 6})
            self.assertEqual(stages["classifier"]["done"], 594)
            self.assertEqual(stages["classifier"]["face"],
                             "legacy" if through == "cpu" else "streaming")
            self.assertGreater(report["latency_us"]["p99"], 0)
            costs[through] = report["host"]["per_message"]
        self.assertEqual([costs["switch"][key] for key in ("doorbells", "descriptors", "copies")],
                         [0, 0, 0])
        # Each message needs two descriptors for the NIC and one for each of two stages.
        self.assertGreater(costs["cpu"]["descriptors"], 3.9)
        self.assertLessEqual(costs["cpu"]["doorbells"], costs["cpu"]["descriptors"])

    @unittest.skipIf(ABSENT, f"not in this build: {ABSENT}")
    def test_what_is_sealed_is_opened_again(self):
        report, _ = harness.run(CHAIN, f"--graph={CONFIGS / 'chain-sealed.json'}", "--json=-",
                                "--messages=300", "--traffic=pattern:bytes=1500", *PATIENT)
        self.check(report, 300)
        self.assertEqual([stage["done"] for stage in report["stages"]], [300] * 4)

    def test_a_stage_of_ones_own_and_one_of_each_face(self):
        # No message has 60 consecutive digits, so none is changed.
        report, lines = self.run_graph(
            graph([chain("c", "udp:1", ["mine", "old", "new"])],
                  mine=f"streaming {OWN_STAGE} 60", old="legacy copy", new="streaming copy"),
            "--messages=500")
        self.check(report, 500)
        self.assertEqual([stage["done"] for stage in report["stages"]], [500] * 3)
        self.assertEqual(lines, [])

    def test_killed_stages_lose_messages_and_nothing_else(self):
        for through, stages in (("switch", ["a", "b"]), ("cpu", ["b", "a"])):
            with self.subTest(through):
                report, _ = self.run_graph(
                    graph([chain("c", "udp:1", stages), chain("d", "udp:2", ["b"])],
                          a="streaming copy", b="legacy copy"),
                    "--processes", "--kill=a:60", "--duration_s=1.2", "--timeout_ms=400",
                    f"--through={through}")
                self.check(report)
                self.assertGreater(report["restarts"], 0, report)
                self.assertEqual(report["tx_pkts"] + report["lost"], report["rx_pkts"])
                self.assertGreater(report["tx_pkts"], 0)

    def test_a_stage_that_hangs_is_started_again(self):
        path = self.write(graph([chain("c", "udp:1", ["a"])], a="streaming copy"))
        with subprocess.Popen([CHAIN, f"--graph={path}", "--processes", "--hang_ms=1000",
                               "--json=-", "--timeout_ms=500", "--stats_period_s=0.1"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            process.stderr.readline()
            children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
            stage = int(children.read_text().split()[0])
            os.kill(stage, signal.SIGSTOP)
            for line in process.stderr:
                if line == "a hung and was killed\n":
                    break
            harness.wait_until(lambda: (now := children.read_text().split()) and
                               int(now[0]) != stage, "another process")
            for line in process.stderr:
                if re.search(r" 0\.0*[1-9]\d* M messages/s", line):
                    break
            process.send_signal(signal.SIGTERM)
            output, lines = process.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(process.returncode, 0, lines)
        report = json.loads(output)
        self.check(report)
        self.assertGreaterEqual(report["restarts"], 1)
        self.assertFalse(pathlib.Path(f"/proc/{stage}").exists())

    def test_a_stage_that_cannot_be_started_is_tried_again(self):
        content = graph([chain("c", "udp:1", ["a"])], a="streaming copy")
        for node in content["chains"][0]["nodes"]:
            node["on_death"] = "fail"
        with subprocess.Popen([CHAIN, f"--graph={self.write(content)}", "--processes", "--json=-",
                               "--timeout_ms=500", "--stats_period_s=0.1"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            self.next_period(process)
            children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
            stage = children.read_text().split()[0]
            files = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
            resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (0, files[1]))
            os.kill(int(stage), signal.SIGKILL)
            said = next(line for line in process.stderr if line.startswith("a "))
            self.assertRegex(said, "^a cannot be restarted yet: no memory for a stage: Too many open")
            resource.prlimit(process.pid, resource.RLIMIT_NOFILE, files)
            harness.wait_until(lambda: (now := children.read_text().split()) and now[0] != stage,
                               "another process")
            self.next_period(process)
            for line in process.stderr:
                if re.search(r" 0\.0*[1-9]\d* M messages/s", line):
                    break
            process.send_signal(signal.SIGTERM)
            output, lines = process.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(process.returncode, 0, lines)
        self.check(json.loads(output))
        self.assertEqual(json.loads(output)["restarts"], 1)

    def test_a_stage_whose_key_is_being_written_comes_back(self):
        key = self.folder / "key"
        key.write_text("00" * 16)
        content = graph([chain("c", "udp:1", ["a", "b"])], a=f"streaming aes_gcm file={key}",
                        b="streaming aes_gcm key0=" + "00" * 16)
        for node, command in zip(content["chains"][0]["nodes"][1:], (2, 1)):
            node["command"] = command
        with subprocess.Popen([CHAIN, f"--graph={self.write(content)}", "--processes", "--json=-",
                               "--timeout_ms=500", "--stats_period_s=0.1"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            self.next_period(process)
            children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
            stage, other = children.read_text().split()
            key.write_text("00")
            os.kill(int(stage), signal.SIGKILL)
            said = next(line for line in process.stderr if line.startswith("a "))
            self.assertEqual(said, "a cannot be restarted yet: key0: give 32, 48 or 64 hexadecimal"
                                   " digits\n")
            key.write_text("00" * 16)
            stage, = harness.wait_until(lambda: set(children.read_text().split()) - {other},
                                        "another process")
            # No messages pass while the stage is gone. When they pass again, the stage has read its
            # key.
            for rate in (r" 0\.0000 M messages/s", r" 0\.0*[1-9]\d* M messages/s"):
                next(line for line in process.stderr if re.search(rate, line))
            key.write_text("00")
            os.kill(int(stage), signal.SIGKILL)
            next(line for line in process.stderr if line.startswith("a "))
            process.send_signal(signal.SIGTERM)
            output, lines = process.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(process.returncode, 1, lines)
        self.assertEqual(json.loads(output)["down"],
                         ["a: key0: give 32, 48 or 64 hexadecimal digits"])
        self.assertGreaterEqual(json.loads(output)["restarts"], 2)

    def test_a_stage_inherits_its_link_and_nothing_of_dpdk(self):
        path = self.write(graph([chain("c", "udp:1", ["a"])], a="streaming copy"))
        with subprocess.Popen([CHAIN, *EAL, f"--graph={path}", "--iface=packetized", "--processes",
                               "--json=-", "--stats_period_s=0.1"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            self.next_period(process)
            children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
            stage = pathlib.Path("/proc", children.read_text().split()[0], "fd")
            self.assertEqual(sorted(one.name for one in stage.iterdir()), ["0", "1", "2", "3"])
            process.send_signal(signal.SIGTERM)
            _, lines = process.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(process.returncode, 0, lines)

    def test_sighup_changes_chains_and_no_message_is_lost(self):
        for flags in (["--through=switch"], ["--through=cpu"], ["--iface=packetized"]):
            with self.subTest(flags[0]):
                self.change_under_traffic(flags)

    def change_under_traffic(self, flags):
        def config(changing):
            return graph([chain("stays", "udp:1", ["a"]), chain("changes", "udp:2", changing)],
                         a="streaming copy", b="legacy copy")
        path = self.write(config(["b"]))
        frames = flags[0].startswith("--iface")
        with subprocess.Popen([CHAIN, *(EAL if frames else []), f"--graph={path}", "--json=-",
                               *PATIENT, "--stats_period_s=0.05", *flags],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            self.next_period(process)
            for content, says in ((config(["b", "a"]), "changed: stays kept changes opened"),
                                  (config([]), "changed: stays kept changes opened"),
                                  ("{}", "the graph is unchanged: devices: is missing"),
                                  (graph([chain("stays", "udp:1", ["a"])], a="legacy copy"),
                                   "changed: stays opened stays closed changes closed"),
                                  (graph([chain("stays", "udp:1", ["a"])], a="legacy regex"),
                                   'the graph is unchanged: device "a": its port, executor and'),
                                  (config(["b"]), "changed: stays opened changes opened")):
                self.write(content)
                process.send_signal(signal.SIGHUP)
                while not (line := process.stderr.readline()).startswith(says):
                    self.assertTrue(line, f"no line said: {says}")
                self.next_period(process)  # Messages must pass before the next change.
            process.send_signal(signal.SIGINT)
            output, lines = process.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(process.returncode, 0, lines)
        report = json.loads(output)
        self.assertEqual(report["reloads"], 4)
        if frames:
            self.check_frames(report)
        else:
            self.check(report, report["rx_pkts"])

    @staticmethod
    def next_period(process):
        while not re.match(r" +[\d.]+ s  ", process.stderr.readline()):
            if process.poll() is not None:
                break

    def check_frames(self, report, messages=None):
        """Every message of the clients was answered, and the host's counts agree."""
        clients, served = report["clients"], report["messages"]
        if messages is not None:
            self.assertEqual(clients["requests"], messages, report)
        self.assertEqual(clients["answered"], clients["requests"], report)
        for key in ("wrong", "lost", "duplicated", "missing", "unknown"):
            self.assertEqual(clients[key], 0, report)
        self.assertEqual([served["received"], served["answered"]],
                         [clients["requests"], clients["requests"]], report)
        self.assertEqual(served["incomplete"] + served["unsent"], 0, report)

    def test_messages_come_in_frames_on_every_interface(self):
        # A message fills one or four datagrams. Both kinds of stage occur, in both orders.
        two = graph([chain("c", "udp:5000", ["a", "b"], 5000), chain("d", "udp:5001", ["b"], 700)],
                    a="streaming copy", b="legacy copy")
        path = self.write(two)
        interfaces = harness.interfaces(CHAIN)
        self.assertEqual(interfaces, ["packetized", "streaming", "bilateral", "coherent"])
        cases = [(iface, "switch", size) for iface in interfaces for size in (64, 700)]
        cases += [("packetized", "cpu", 700)]
        for iface, through, size in cases:
            with self.subTest(f"{iface} {through} {size}"):
                report, _ = harness.run(
                    CHAIN, *EAL, f"--iface={iface}", f"--graph={path}", f"--through={through}",
                    f"--traffic=pattern:bytes={size}", "--messages=400", "--json=-", *PATIENT)
                self.assertEqual([report["app"], report["iface"], report["through"]],
                                 ["chain", iface, through])
                self.check_frames(report, 800)
                self.assertEqual(report["messages"]["answered_bytes"], 800 * size)
                self.assertEqual([stage["done"] for stage in report["stages"]], [400, 800])
                self.assertEqual(sum(report["drops"].values()), 0, report)

    def test_messages_of_several_frames_are_put_together(self):
        path = self.write(graph([chain("c", "udp:5000", ["a"], 5000)], a="streaming copy"))
        for iface in ("packetized", "bilateral"):
            with self.subTest(iface):
                report, _ = harness.run(
                    CHAIN, *EAL, f"--iface={iface}", f"--graph={path}",
                    "--traffic=pattern:bytes=5000", "--messages=300", "--json=-", *PATIENT)
                self.check_frames(report, 300)
                self.assertEqual(report["consumed_pkts"], 4 * 300)

    @unittest.skipIf(ABSENT, f"not in this build: {ABSENT}")
    def test_the_example_on_frames_is_what_it_is_without_them(self):
        report, _ = harness.run(CHAIN, *EAL, "--iface=streaming", "--messages=500", "--json=-",
                                "--traffic=images:forged=100", *PATIENT)
        self.assertEqual([report["clients"][key] for key in
                          ("requests", "answered", "refused", "wrong", "lost")], [500, 495, 5, 0, 0])
        stages = {stage["device"]: stage for stage in report["stages"]}
        self.assertEqual(stages["qat"]["refused"], {"forged": 5})
        self.assertEqual(stages["classifier"]["done"], 495)

    def test_picture_and_explanation(self):
        dot = harness.sh(CHAIN, "--dot")
        self.assertIn('"images.in" -> "images.decrypt"', dot)
        text = harness.sh(CHAIN, "--explain=udp:5000")
        for words in ("udp:5000: chain images", "node 1 decrypt: qat at port 2",
                      "key0 & 0x1 == 1: to out", "always: to out, review"):
            self.assertIn(words, text)
        self.assertIn("udp:9: no chain has this flow", harness.sh(CHAIN, "--explain=udp:9"))
        names = [kind["name"] for kind in harness.listing(CHAIN, "traffic")]
        self.assertIn("pattern", names)

    def test_bad_arguments_end_with_2_and_one_line(self):
        good = graph([chain("c", "udp:1", ["a"])], a="streaming copy")
        no_executor = graph([chain("c", "udp:1", ["a"])], a="streaming copy")
        del no_executor["devices"][1]["executor"]
        no_nic = graph([chain("c", "udp:1", ["a"])], a="streaming copy")
        no_nic["devices"][0]["kind"] = "host"
        circle = graph([chain("c", "udp:1", ["a", "a"])], a="streaming copy")
        circle["chains"][0]["nodes"][2]["to"][0]["nodes"] = ["n0", "out"]
        (self.folder / "empty.so").write_text("")
        cases = [
            (good, "--through=me", "--through=me: give switch or cpu"),
            (good, "--outstanding=0", "--outstanding=0: give 1 to 4096"),
            (good, "--timeout_ms=0", "--timeout_ms=0: give 1 to 60000"),
            (good, "--duration_s=-1", "--duration_s=-1: give seconds, or 0 for an endless run"),
            (good, "--kill=a:100", "--kill=a:100: requires --processes"),
            (good, "--hang_ms=5", "--hang_ms=5: requires --processes"),
            (good, "--kill=a", "--kill=a: give DEVICE:MS"),
            (good, "--kill=x:5 --processes", "--kill=x:5: x: the graph has no stage on such a device"),
            (good, "--flow=udp", "--flow=udp: give flows such as udp:5000, separated by commas"),
            (good, "--flow=udp:2", "--flow=udp:2: udp:2: no chain of the graph accepts this flow"),
            (good, "--traffic=films", '--traffic=films: "films": no such traffic; use one of '),
            (good, "--traffic=pattern:bytes=513", "--traffic=pattern:bytes=513: give bytes=N with N at most the chain's max_message, 512"),
            (good, "--explain=me", "--explain=me: give a flow, such as udp:5000"),
            (good, "--list=all", "--list=all: give stages, traffic or interfaces"),
            (good, "--json=/nowhere/report", "--json=/nowhere/report: "),
            (good, "--colour=red", "--colour=red: unknown flag: see --help"),
            (good, "fast", "fast: not a flag: see --help"),
            ("[]", "", "the file: []: give an object"),
            (no_executor, "", 'device "a": requires an "executor": see --list=stages'),
            (no_nic, "", "devices: must contain exactly one NIC"),
            (circle, "", "the nodes form a cycle: n0 -> n1 -> n0"),
            (graph([chain("c", "udp:1", ["a"])], a="streaming fly"), "",
             'device "a": "fly": no such stage; use one of copy'),
            (graph([chain("c", "udp:1", ["a"])], a=f"streaming {self.folder}/empty.so"), "",
             "empty.so: file too short"),
            (graph([chain("c", "udp:1", ["a"])], a=f"streaming {OWN_STAGE} none"), "",
             'device "a": give the minimum number of digits of a redacted number, such as 7'),
            (graph([chain("c", "udp:1", ["a"])], a=f"streaming {OWN_STAGE} none"), "--processes",
             'device "a": give the minimum number of digits of a redacted number, such as 7'),
        ]
        for number, (content, flags, says) in enumerate(cases):
            with self.subTest(says):
                path = self.folder / f"{number}.json"
                path.write_text(content if isinstance(content, str) else json.dumps(content))
                code, said = harness.fails(CHAIN, f"--graph={path}", *flags.split())
                self.assertEqual(code, 2, said)
                self.assertEqual(said.count("\n"), 1, said)
                self.assertIn(says, said)
        for flags, says in {
                "--iface=token-ring": "--iface=token-ring: ",
                "--iface=streaming --through=me": "--through=me: give switch or cpu",
                "--iface packetized --workers=2": "--workers=2: a chain supports only one worker: omit --workers",
                "--iface=packetized --ip=ten": "--ip=ten: ",
                "--iface=packetized --flow=tcp:1": "--flow=tcp:1: tcp:1: no chain of the graph",
                "--iface=packetized --traffic=pattern:bytes=1;2": "--traffic=pattern:bytes=1;2: ",
                "--iface=packetized --flow=udp:5000,udp:5000":
                    "--flow=udp:5000,udp:5000: udp:5000: give each port once",
                "--iface=packetized --outstanding=2049":
                    "--outstanding=2049: all flows share 4096 slots for messages: give at most 2048",
                "--iface=packetized --dot": "dot"}.items():
            with self.subTest(flags):
                code, said = harness.fails(CHAIN, *flags.split())
                self.assertEqual(code, 2, said)
                self.assertEqual(said.count("\n"), 1, said)
                self.assertIn(says, said)
        code, said = harness.fails(CHAIN, "--graph=/nowhere.json")
        self.assertEqual((code, said.count("\n")), (2, 1), said)


@unittest.skipIf(ABSENT, f"not in this build: {ABSENT}")
class Full(unittest.TestCase):
    def test_a_hundred_thousand_images_while_a_stage_is_killed(self):
        for through in ("switch", "cpu"):
            with self.subTest(through):
                report, _ = harness.run(
                    CHAIN, "--json=-", "--messages=100000", "--processes", "--kill=classifier:1000",
                    "--timeout_ms=300", "--stats_period_s=0", f"--through={through}",
                    patience_s=900)
                print(json.dumps({key: report[key] for key in (
                    "through", "rx_pkts", "tx_pkts", "lost", "corrupted", "duplicated", "restarts",
                    "drops", "latency_us", "host")}))
                self.assertEqual([report[key] for key in ("rx_pkts", "corrupted", "duplicated",
                                                          "missing")], [100000, 0, 0, 0])
                self.assertEqual(report["tx_pkts"] + report["lost"], 100000)
                self.assertGreater(report["restarts"], 0)


if harness.FULL:
    del Runs
else:
    del Full

if __name__ == "__main__":
    unittest.main()
