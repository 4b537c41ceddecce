#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""sluice-maglev on the embedded NICs, end to end: every frame has one outcome, configuration
changes lose none, and operators' queries return the truth. Works without root and hugepages."""

import copy
import functools
import http.server
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
import card_hash
import harness
import running
from running import EAL, SAMPLE, sample
from harness import PATIENCE_S, wait_until

MAGLEV = sys.argv.pop()
Running = functools.partial(running.Running, MAGLEV)


def run(*flags, code=0, eal=EAL):
    eal = [*eal, "--"] if eal else []
    result = subprocess.run([MAGLEV, *eal, *flags], capture_output=True, text=True,
                            timeout=PATIENCE_S)
    assert result.returncode == code, f"{result.returncode}: {result.stderr}"
    return result


class EndToEnd(unittest.TestCase):
    def check(self, report):
        self.assertEqual(report["app"], "maglev")
        self.assertGreater(report["rx_pkts"], 0)
        self.assertEqual(report["rx_pkts"], report["tx_pkts"] + report["consumed_pkts"]
                         + sum(report["drops"].values()))
        self.assertEqual(report["lost"], 0)
        for vip in report["vips"].values():
            for unit in ("pkts", "bytes"):
                self.assertEqual(vip[unit], sum(b[unit] for b in vip["backends"].values()))

    def test_without_flags(self):
        process = subprocess.Popen([MAGLEV, *EAL], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        lines = []
        for line in process.stdout:
            lines.append(line)
            if "epoch" in line:
                break
        process.send_signal(signal.SIGINT)
        rest, stderr = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0, stderr)
        self.assertTrue(any(line.startswith("steering: ") for line in lines), lines)
        self.assertRegex(lines[-1], r"epoch 1 +web: web1 \d+\.\d% web2 \d+\.\d% web3 \d+\.\d%")
        self.assertIn("lost 0", rest)

    def test_every_interface(self):
        for iface in harness.interfaces(MAGLEV):
            with self.subTest(iface):
                report = json.loads(run(f"--iface={iface}", "--duration_s=1", "--json=-",
                                        "--rate=20k").stdout)
                self.check(report)
                self.assertEqual(report["iface"], iface)
                self.assertGreater(report["vips"]["web"]["pkts"], 0)
                self.assertGreater(report["vips"]["dns"]["pkts"], 0)
                # All traffic is for VIPs, and a backend is always available.
                self.assertEqual(report["passed_pkts"], 0)
                self.assertEqual(sum(report["drops"].values()), 0, report["drops"])

    def test_a_model_on_threads(self):
        for iface in {"streaming", "packetized"} & set(harness.interfaces(MAGLEV)):
            with self.subTest(iface):
                report = json.loads(run(f"--iface={iface}", "--duration_s=1", "--json=-",
                                        "--on=threads:threads=2").stdout)
                self.check(report)
                self.assertEqual(report["wire"]["returned"], report["wire"]["offered"])
                self.assertGreater(report["wire"]["hash"], 0)

    def test_a_model_on_threads_gets_the_frames_of_an_offline_run(self):
        with tempfile.TemporaryDirectory() as folder:
            capture, out = (os.path.join(folder, name) for name in ("in.pcap", "out.pcap"))
            # Like the frames below, but with 100 clients.
            harness.write_capture(capture, [
                bytes.fromhex("02000000000a02000000000b0800")
                + bytes.fromhex(f"4500002800000000400600000a0000{i:02x}c000020a")
                + bytes.fromhex(f"30{i:02x}0050{'00' * 8}5002ffff00000000") for i in range(1, 101)])
            run(f"--pcap={capture}", f"--out_pcap={out}", eal=None)
            for iface in {"streaming", "packetized"} & set(harness.interfaces(MAGLEV)):
                with self.subTest(iface):
                    report = json.loads(run(f"--iface={iface}", "--on=threads:threads=2",
                                            f"--wire=pcap:{capture}+loop=1", "--duration_s=1",
                                            "--json=-").stdout)
                    self.assertEqual(report["wire"]["returned"], 100)
                    self.assertEqual(report["wire"]["hash"], card_hash.hash_capture(out))

    def test_every_interface_rewrites_in_place(self):
        config = sample()
        for vip, encapsulation in zip(config["vips"], ("mac", "nat", "mac")):
            vip["encapsulation"] = encapsulation
            for number, backend in enumerate(vip["backends"]):
                backend["mac"] = f"02:00:00:00:01:{number:02x}"
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "maglev.json"
            path.write_text(json.dumps(config), encoding="utf-8")
            for iface in harness.interfaces(MAGLEV):
                with self.subTest(iface):
                    report = json.loads(run(f"--config={path}", f"--iface={iface}",
                                            "--duration_s=0.5", "--json=-", "--rate=20k",
                                            "--frame_size=imix").stdout)
                    self.check(report)
                    self.assertEqual(report["vips"]["web"]["encapsulation"], "mac")
                    self.assertGreater(report["vips"]["web"]["pkts"], 0)
                    self.assertGreater(report["vips"]["dns"]["pkts"], 0)
                    self.assertEqual(report["tx_pkts"], report["rx_pkts"], report["drops"])
                    # Frames keep their length.
                    self.assertEqual(report["tx_bytes"], report["rx_bytes"])

    def test_sizes_and_several_workers(self):
        report = json.loads(run("--workers=2", "--duration_s=1", "--json=-", "--frame_size=imix",
                                "--rate=20k", eal=[*harness.MEMORY, harness.lcores(3)]).stdout)
        self.check(report)
        self.assertEqual(len(report["lcores"]), 2)
        self.assertEqual(report["connections"], 1000)

    def test_a_run_repeats_itself_offline(self):
        with tempfile.TemporaryDirectory() as folder:
            capture = os.path.join(folder, "in.pcap")
            # Ethernet, IPv4 without a checksum, TCP SYN of five clients to the VIP "web".
            frames = [bytes.fromhex("02000000000a02000000000b0800") + bytes.fromhex(
                f"4500002800000000400600000a00000{i}c000020a" f"303{i}0050" + "00" * 8
                + "5002ffff00000000") for i in range(1, 6)]
            with open(capture, "wb") as file:
                file.write(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000"))
                for i, frame in enumerate(frames):
                    for word in (i, 0, len(frame), len(frame)):
                        file.write(word.to_bytes(4, "little"))
                    file.write(frame)
            outs = []
            for name in ("a", "b"):
                out = os.path.join(folder, name)
                report = json.loads(run(f"--pcap={capture}", f"--out_pcap={out}", "--json=-",
                                        eal=None).stdout)
                self.assertEqual((report["rx_pkts"], report["tx_pkts"]), (5, 5))
                self.assertEqual(report["events"]["new"], 5)
                self.assertEqual(report["connections"], 5)
                outs.append(pathlib.Path(out).read_bytes())
            self.assertEqual(*outs)

    def test_reload_moves_the_epoch_and_loses_nothing(self):
        config = sample()
        with Running(config, "--rate=50k") as balancer:
            config["vips"][0]["backends"][0]["weight"] = 5
            balancer.write(config)
            balancer.process.send_signal(signal.SIGHUP)
            wait_until(lambda: "epoch 2" in balancer.said(), "epoch 2")
            self.assertEqual(balancer.ask("reload"), {"result": "done", "epoch": 3})
            self.assertEqual(balancer.ask("backends", "web")["web1"]["weight"], 5)
            # An invalid file does not change anything.
            balancer.write({"vips": [7]})
            self.assertIn("vips[0]", balancer.ask("reload")["error"])
            balancer.process.send_signal(signal.SIGHUP)
            wait_until(lambda: balancer.said().count("vips[0]") >= 2, "the second error")
            report = balancer.stop()
        self.check(report)
        self.assertEqual(report["epoch"], 3)

    def test_a_new_backend_in_the_place_of_another_counts_from_nothing(self):
        config = sample()
        with Running(config, "--rate=50k") as balancer:
            wait_until(lambda: balancer.pkts()["web1"] > 1000, "traffic")
            balancer.ask("drain", "web/web1")  # Existing flows stay with this backend.
            config["vips"][0]["backends"][0]["name"] = "fresh"
            config["vips"][0]["backends"][0]["weight"] = 0
            balancer.write(config)
            balancer.ask("reload")
            self.assertEqual(balancer.pkts()["fresh"], 0)
            self.assertEqual(balancer.stop()["vips"]["web"]["backends"]["fresh"]["pkts"], 0)

    def test_drained_backends_keep_their_flows_and_get_no_new_ones(self):
        with Running(sample(), "--rate=50k") as balancer:
            wait_until(lambda: balancer.ask("vips")["web"]["pkts"] > 2000, "all flows to be known")
            self.assertEqual(balancer.ask("drain", "web/web3"), {"result": "done", "epoch": 2})
            backend = balancer.ask("backends", "web")["web3"]
            self.assertEqual((backend["state"], float(backend["slots"])), ("draining", 0))
            self.assertGreater(backend["connections"], 0)
            before = balancer.pkts()["web3"]
            wait_until(lambda: balancer.pkts()["web3"] > before, "traffic of known flows")
            self.assertEqual(balancer.ask("restore", "web/web3"), {"result": "done", "epoch": 3})
            self.assertEqual(balancer.ask("backends", "web")["web3"]["state"], "up")
            for command in ("drain", "restore"):
                self.assertIn("error", balancer.ask(command, "web/nobody"))
                self.assertIn("error", balancer.ask(command, "web3"))
            report = balancer.stop()
        self.check(report)
        self.assertEqual(report["events"]["moved"], 0)

    def test_a_plan_is_what_then_happens(self):
        config = sample()
        after = copy.deepcopy(config)
        after["vips"][0]["backends"].pop(1)
        with Running(config, "--rate=50k") as balancer:
            wait_until(lambda: balancer.ask("vips")["web"]["pkts"] > 2000, "all flows to be known")
            live = balancer.ask("backends", "web")["web2"]["connections"]
            path = balancer.write(after, "next.json")
            plan = balancer.ask("plan", path)
            self.assertEqual(plan["web"]["flows_lost"], live)
            self.assertEqual(plan["dns"], {"change": "same", "slots": 65537, "gone": 0, "others": 0,
                                           "flows": 333, "flows_lost": 0})
            # A quarter of the weight is removed.
            self.assertAlmostEqual(plan["web"]["gone"] / 65537, 0.25, delta=0.001)
            text = run(f"--plan={path}", f"--instance={balancer.prefix}", eal=None).stdout
            self.assertIn(f"of 334 live flows, {live} move", text)
            balancer.write(after)
            balancer.ask("reload")
            wait_until(lambda: sum(b["connections"] for b in balancer.ask("backends", "web")
                                   .values()) == 334, "flows to move")
            report = balancer.stop()
        self.check_moved(report, live)

    def check_moved(self, report, live):
        self.assertEqual(report["events"]["moved"], live)
        self.assertEqual(report["lost"], 0)
        self.assertNotIn("web2", report["vips"]["web"]["backends"])

    def test_names_by_default_are_told_though_telemetry_takes_no_such_keys(self):
        config = sample()
        for vip in config["vips"]:
            del vip["name"]
            for backend in vip["backends"]:
                del backend["name"]
        web = "tcp 192.0.2.10:80"
        with Running(config, "--rate=50k") as balancer:
            vips = balancer.ask("vips")
            self.assertEqual(len(vips), len(config["vips"]))
            self.assertEqual(vips["tcp_192_0_2_10_80"]["name"], web)
            self.assertEqual([backend["name"] for backend in balancer.ask("backends", web).values()],
                             [backend["address"] for backend in config["vips"][0]["backends"]])
            text = run(f"--plan={balancer.path}", f"--instance={balancer.prefix}", eal=None).stdout
            self.assertIn(f"{web}: same; ", text)
            balancer.stop()

    def test_answers_of_telemetry(self):
        with Running(sample(), "--rate=50k") as balancer:
            self.assertEqual(list(balancer.ask("vips")), ["web", "dns", "web6"])
            self.assertEqual(list(balancer.ask("backends", "web,1")), ["web2", "web3"])
            self.assertIn("error", balancer.ask("backends", "nobody"))
            flow = "tcp 10.0.0.1:1024 192.0.2.10:80"
            answer = balancer.ask("explain", flow)
            self.assertEqual(answer["verdict"], "forward")
            offline = run(f"--explain={flow}", eal=None).stdout
            self.assertRegex(offline, rf"backend +{answer['backend']}\n")
            self.assertIn("error", balancer.ask("explain", "nonsense"))
            self.assertIn("error", balancer.ask("plan", "/nonexistent"))
            # Files that never end, and names that are invalid UTF-8 or truncated within a
            # character.
            for path in ("/dev/zero", "/proc/self/fd", "\udcff", "/a/\udce4\udcb8", "\u20ac" * 100,
                         "x" + "\u20ac" * 100, "xx" + "\u20ac" * 100):
                with self.subTest(path):
                    self.assertIn("error", balancer.ask("plan", path))

    def test_backends_that_do_not_answer_are_taken_away(self):
        class Server(http.server.BaseHTTPRequestHandler):
            status = 200

            def do_GET(self):  # pylint: disable=invalid-name
                self.send_response(Server.status if self.path == "/up" else 404)
                self.end_headers()

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Server)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        with socket.socket() as unused:  # The socket does not listen, so connections are refused.
            unused.bind(("127.0.0.1", 0))
            port, closed = server.server_address[1], unused.getsockname()[1]
            config = sample()
            quick = {"interval_s": 0.05, "timeout_s": 5, "rise": 1, "fall": 2}
            config["vips"] = [
                {"name": name, "address": f"192.0.2.{i}", "port": 80,
                 "backends": [{"name": "b", "address": "127.0.0.1"}],
                 "health": {"type": kind, "port": to, **quick, **more}}
                for i, (name, kind, to, more) in enumerate(
                    [("good", "http", port, {"path": "/up"}),
                     ("lost", "http", port, {"path": "/no"}), ("open", "tcp", port, {}),
                     ("closed", "tcp", closed, {}), ("ping", "icmp", 0, {})], 1)]
            with Running(config, "--rate=10k") as balancer:
                def states():
                    return {vip: balancer.ask("backends", vip)["b"]["state"]
                            for vip in ("good", "lost", "open", "closed", "ping")}
                wanted = {"good": "up", "lost": "down", "open": "up", "closed": "down",
                          "ping": "up"}  # It stays up without the permission for ping sockets.
                wait_until(lambda: states() == wanted, f"states {wanted}")
                Server.status = 500
                wait_until(lambda: states()["good"] == "down", "an error to take the backend away")
                Server.status = 302
                wait_until(lambda: states() == wanted, "the backend to come back")
                report = balancer.stop()
        server.shutdown()
        server.server_close()
        self.assertEqual(report["lost"], 0)
        self.assertGreater(report["drops"]["no_backend"], 0)

    def test_check(self):
        self.assertEqual(run("--check", eal=None).stdout, "ok\n")
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"vips": [{"address": "10.0.0.1", "prot": 80}], "mtu": "large"}, file)
            file.flush()
            result = run("--check", f"--config={file.name}", code=2, eal=None)
            self.assertEqual(len(result.stdout.splitlines()), 2)
            self.assertIn("vips[0].prot: unknown", result.stdout)
            self.assertIn("mtu: \"large\"", result.stdout)

    def test_packets_that_the_port_cannot_receive_are_refused(self):
        """The largest frames have 2048 bytes in an mbuf, 1536 in a pipe and 9728 in net_ipu."""
        for iface, most in (("packetized", 2022), ("streaming", 1522), ("bilateral", 9706),
                            ("coherent", 9706)):
            with self.subTest(iface), tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                json.dump(sample() | {"mtu": 9800}, file)
                file.flush()
                result = run(f"--iface={iface}", f"--config={file.name}", "--duration_s=0.1",
                             code=2)
                line = result.stderr.splitlines()[-1]
                self.assertTrue(line.startswith(f"--config={file.name}: mtu: "), line)
                self.assertIn(f"at most {most} bytes, not 9800", line)

    def test_a_reload_cannot_ask_for_longer_packets_than_the_port_was_opened_for(self):
        with Running(sample() | {"mtu": 2000}, "--rate=10k") as balancer:
            balancer.write(sample() | {"mtu": 2001})
            self.assertIn("at most 2000 bytes", balancer.ask("reload")["error"])
            balancer.write(sample() | {"mtu": 1999})
            self.assertEqual(balancer.ask("reload"), {"result": "done", "epoch": 2})
            self.assertEqual(balancer.stop()["lost"], 0)

    def test_bad_arguments(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write("{\"vips\": [{}]}")
            file.flush()
            for flags, named in (
                    (["--config=/nonexistent.json"], "--config"),
                    ([f"--config={file.name}"], "vips[0]"),
                    (["--explain=tcp"], "--explain"), (["--plan=/nonexistent.json"], "--plan"),
                    ([f"--plan={SAMPLE}", "--instance=nobody_here"], "--instance"),
                    (["--instance=x"], "--instance"), (["--out_pcap=x.pcap"], "--out_pcap"),
                    (["--out_pcap=x.pcap", "--pcap=/nonexistent.pcap"], "--pcap"),
                    (["--check=maybe"], "--check"), (["--iface=telepathy"], "--iface"),
                    (["--cofnig=x"], "--cofnig")):
                with self.subTest(flags):
                    result = run(*flags, code=2, eal=None)
                    self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
                    self.assertIn(named, result.stderr)


if __name__ == "__main__":
    harness.run_on_all_cpus()
