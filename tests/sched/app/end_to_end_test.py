#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""end_to_end_test.py SLUICE_SCHED: whole runs, over the model NICs and with generated requests:
every request is answered, with every policy and mode, even if the agent fails. Works without
root and without hugepages. No times are checked, because they depend on the load of the machine."""

import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))
import harness

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "scripts" / "bench"))
import telemetry  # pylint: disable=wrong-import-position

SCHED = sys.argv.pop()
INTERFACES = harness.interfaces(SCHED)
# The README lists the policies.
README = pathlib.Path(__file__).resolve().parents[3] / "apps" / "sched" / "README.md"
POLICIES = re.findall(r"`(\w+)`", re.search(r"^\| `--policy` \| all \| ([^;|]*)",
                                           README.read_text(encoding="utf-8"), re.M)[1])
MODES = ("wave", "wave-prestage", "swap", "swap-standing")
EAL = (*harness.MEMORY, "--no-pci")
LOOSE = "--watchdog_ms=30000"  # On a busy machine, an agent may not get a CPU for 20 ms.
SLOW = ("--rate=300", LOOSE)
EAL_OF_WORKERS = {1: (), 2: ("--lcores=0@0,1@0,2@0",)}
PATIENCE_S = 90


def run(*flags, until=(), eal=()):
    report, _ = harness.run(SCHED, *EAL, *eal, "--", "--json=-", "--stats_period_s=0.05", *flags,
                            until=until, patience_s=PATIENCE_S)
    return report


def serve(count, *flags, rate=1000, mix="", events=(), **more):
    """Returns the report of a run that ends after `count` requests of clients were answered and
    `events` were seen."""
    return run(f"--wire=library:libsluice_sched_wire.so+rate={rate}+count={count}{mix}",
               "--max_tasks=4096", *flags, until=(*events, f"clients: {count} answers"), **more)


def frame(payload, port=1025, checksum=0, fragment=0x4000, options=b"", udp_bytes=None):
    """Returns UDP in IPv4 in Ethernet (RFC 768: a checksum of 0 is none; RFC 791)."""
    udp = struct.pack(">HHHH", 40000, port, udp_bytes or 8 + len(payload), checksum) + payload
    words = 5 + len(options) // 4
    ip = struct.pack(">BBHIBBH4s4s", 0x40 | words, 0, 4 * words + len(udp), fragment, 64, 17, 0,
                     bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2))) + options
    total = sum(struct.unpack(f">{2 * words}H", ip))
    total = (total & 0xffff) + (total >> 16)
    ip = ip[:10] + struct.pack(">H", ~((total & 0xffff) + (total >> 16)) & 0xffff) + ip[12:]
    return (bytes.fromhex("0200000000020200000000010800") + ip + udp).ljust(60, b"\0")


def request(magic=b"SLSQ", version=1, task_class=0, flags=0, number=7, service_ns=1000, zero=0):
    """Returns a request, encoded by the table in apps/sched/request.h."""
    return magic + struct.pack(">BBHQII", version, task_class, flags, number, service_ns, zero)


class Scheduling(unittest.TestCase):
    def check_conserved(self, report):
        self.assertEqual(report["rx_pkts"] + report["sent_pkts"],
                         report["tx_pkts"] + report["consumed_pkts"]
                         + sum(report["drops"].values()))
        for one in report["runs"]:
            self.assertEqual(one["requests"], one["answered"], one)
            self.assertEqual(one["unfinished"], 0)
            self.assertEqual(one["host"]["faults"], 0)

    def check_clients(self, report, count):
        """Checks that every request of the clients was answered correctly."""
        self.check_conserved(report)
        self.assertEqual(sum(report["drops"].values()), 0)
        wire = report["wire"]
        for sent in ("client_requests", "accepted", "returned"):
            self.assertEqual(wire[sent], count, sent)
        # An answer that arrives after the client's timeout counts as late.
        self.assertEqual(wire.get("client_lost", 0), wire.get("client_late", 0))
        self.assertEqual(wire.get("client_answered", 0) + wire.get("client_late", 0), count)
        for nothing in ("wrong", "unknown"):
            self.assertEqual(wire.get("client_" + nothing, 0), 0)
        self.assertEqual((report["consumed_pkts"], report["sent_pkts"]), (count, count))

    def test_clients_over_every_interface_in_every_mode(self):
        # Several workers need a policy with one agent for all of them.
        for iface, mode, (policy, workers) in harness.each(
                INTERFACES, MODES, (("shinjuku", 1), ("fifo_central", 2))):
            with self.subTest(iface=iface, mode=mode, workers=workers):
                report = serve(200, f"--iface={iface}", f"--mode={mode}", f"--policy={policy}",
                               f"--workers={workers}", LOOSE, mix="+long_share=0.1",
                               eal=EAL_OF_WORKERS[workers])
                self.check_clients(report, 200)
                self.assertEqual(report["iface"], iface)
                one, = report["runs"]
                self.assertEqual((one["policy"], one["mode"]), (policy, mode))
                self.assertEqual(one["window"], "model")
                self.assertGreater(one["decisions"], 0)
                self.assertGreater(one["long"]["count"], 0)

    def test_every_policy_in_every_mode(self):
        report = run("--cell_s=0.3", "--replays=0", *SLOW)
        self.check_conserved(report)
        expected = {("-", "local")} | {(policy, mode) for policy in POLICIES for mode in MODES}
        self.assertEqual({(one["policy"], one["mode"]) for one in report["runs"]}, expected)
        self.assertEqual(len(report["runs"]), len(expected))
        for one in report["runs"]:
            with self.subTest(policy=one["policy"], mode=one["mode"]):
                self.assertGreater(one["requests"], 0)
                self.assertEqual(one["refused"], 0)
                self.assertEqual(one["short"]["count"] + one["long"]["count"], one["answered"])
                # Each task that ran was chosen either by the host or by an agent.
                local = one["host"]["local_choices"]
                enforced = one["host"]["statuses"].get("complete", 0)
                self.assertGreaterEqual(local + enforced, one["switches"])
                if one["mode"] == "local":
                    self.assertEqual((one["decisions"], one["agent"]["agents"]), (0, 0))
                else:
                    self.assertEqual(one["agent"]["agents"], 1)
        for mode in MODES:
            self.assertGreater(sum(one["decisions"] for one in report["runs"]
                                   if one["mode"] == mode), 0, mode)

    def test_policies_and_modes_change_under_traffic(self):
        report = run("--iface=packetized", "--cell_s=0.02", "--replays=0", *SLOW)
        self.check_conserved(report)
        self.assertEqual(sum(report["drops"].values()), 0)
        self.assertEqual(report["consumed_pkts"], report["sent_pkts"])
        self.assertEqual(len(report["runs"]), 1 + len(POLICIES) * len(MODES))

    def test_an_agent_that_is_killed_frozen_or_replaced_under_load_loses_no_task(self):
        for (fault, agents), mode in harness.each(
                (("kill", 2), ("freeze", 1), ("replace", 2)), ("wave-prestage", "swap")):
            with self.subTest(mode=mode, fault=fault):
                # The watchdog detects dead and frozen agents; a new or resumed agent receives all
                # tasks.
                expired = "" if fault == "replace" else "watchdog expired [1-9]"
                event = rf"{expired}.*, {agents} agents, ([2-9]|\d\d+) discoveries"
                report = serve(1000, f"--mode={mode}", f"--agent_fault={fault}@0.1",
                               "--agent_down_ms=1000", rate=500, events=(event,))
                self.check_clients(report, 1000)
                one, = report["runs"]
                self.assertEqual(one["agent"]["agents"], agents)
                self.assertGreaterEqual(one["host"]["discoveries"], 2)
                if fault != "replace":
                    self.assertGreater(one["host"]["watchdog_expired"], 0)
                    self.assertGreater(one["host"]["local_choices"], 0)

    def test_tasks_without_safe_points_are_cut_and_answered(self):
        report = serve(100, "--policy=shinjuku", "--mode=wave", LOOSE, "--runaway_us=100", rate=100,
                       mix="+long_share=0.5+long_us=3000+runaway_share=1")
        self.check_clients(report, 100)
        self.assertGreater(report["runs"][0]["cuts"], 0)
        self.assertGreater(report["wire"]["client_cut"], 0)

    def test_two_workers_without_an_agent(self):
        report = run("--workers=2", "--requests=self", "--mode=local", "--duration_s=0.2", *SLOW,
                     eal=EAL_OF_WORKERS[2])
        self.check_conserved(report)
        self.assertGreater(report["runs"][0]["answered"], 0)

    def test_more_requests_than_tasks_are_a_named_drop(self):
        report = run("--mode=local", "--iface=packetized", "--rate=20000", "--short_us=1000",
                     "--max_tasks=2", "--duration_s=0.5")
        self.check_conserved(report)
        drops = dict(report["drops"])
        self.assertGreater(drops.pop("no_task"), 0)
        self.assertEqual(sum(drops.values()), 0)
        self.assertEqual(report["runs"][0]["refused"], report["drops"]["no_task"])
        self.assertEqual(report["wire"].get("client_wrong", 0), 0)

    def test_every_malformed_request_is_a_named_drop(self):
        good = request()
        frames = {
            None: frame(good),
            "malformed": frame(good, udp_bytes=7),
            "fragment": frame(good, fragment=0x2000),
            "ip_options": frame(good, options=bytes(4)),
            "bad_checksum": frame(good, checksum=0xdead),
            "wrong_length": frame(good[:-1]),
            "wrong_magic": frame(request(magic=b"SLSA")),
            "wrong_version": frame(request(version=2)),
            "wrong_class": frame(request(task_class=8)),
            "wrong_flags": frame(request(flags=2)),
            "service_too_long": frame(request(service_ns=1_000_000_001)),
            "no_exception_port": frame(good, port=1026),
        }
        with tempfile.TemporaryDirectory() as folder:
            capture = os.path.join(folder, "requests.pcap")
            harness.write_capture(capture, frames.values())
            report = run(f"--pcap={capture}", "--rate=2000", "--mode=local",
                         until=("rx    0.00[1-9]",))
        self.check_conserved(report)
        self.assertGreater(report["consumed_pkts"], 0)
        self.assertEqual(report["sent_pkts"], report["consumed_pkts"])
        drops = dict(report["drops"])
        for reason in frames:
            if reason is not None:
                # The capture was replayed several times, but the last time possibly not to its end.
                self.assertAlmostEqual(drops.pop(reason), report["consumed_pkts"], delta=1,
                                       msg=reason)
        self.assertEqual(sum(drops.values()), 0)

    def test_telemetry(self):
        prefix = f"sluice-sched-telemetry-{os.getpid()}"
        process = subprocess.Popen(
            [SCHED, *EAL, f"--file-prefix={prefix}", "--", "--mode=wave", "--iface=packetized",
             "--stats_period_s=0.1", *SLOW], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True)
        watchdog = threading.Timer(PATIENCE_S, process.kill)
        watchdog.start()
        try:
            for line in process.stdout:
                if re.search(r"shinjuku wave: [1-9]", line):
                    break
            stats = telemetry.ask(prefix, "/sluice/sched/stats", "")
            results = telemetry.ask(prefix, "/sluice/sched/results", "")
        finally:
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate()
            watchdog.cancel()
        self.assertEqual(process.returncode, 0, said)
        self.assertEqual((stats["policy"], stats["mode"]), ("shinjuku", "wave"))
        self.assertGreater(stats["requests"], 0)
        self.assertIn("watchdog_expired", stats["host"])
        self.assertIn("decisions", stats["agent"])
        self.assertEqual(results, [], "nothing is over")


class Arguments(unittest.TestCase):
    def test_a_bad_flag_ends_with_2_and_names_the_flag_and_the_fix(self):
        for (bad, fix), (code, said) in harness.for_each((
                ("--policy=lottery", "shinjuku"), ("--mode=pigeon", "wave-prestage"),
                ("--requests=none", "self or network"), ("--cell_s=0", "0.01"),
                ("--rate=-5", "rate|packets"), ("--short_us=-1", "1000000"),
                ("--long_us=2e6", "1000000"), ("--long_share=1.5", "0 ... 1"),
                ("--runaway_share=nan", "0 ... 1"), ("--request_port=0", "65535"),
                ("--slice_us=-1", "1000000"), ("--poll_us=0", "100000"),
                ("--runaway_us=1", "never"), ("--max_tasks=0", "16384"),
                ("--max_tasks=99999", "16384"), ("--stack_kb=1", "32"),
                ("--watchdog_ms=0.5", "never"), ("--agent_cpu=-2", "CPU"),
                ("--agent_fault=sing@3", "kill@SECONDS"),
                ("--agent_fault=kill@-1", "kill@SECONDS"),
                ("--agent_fault=kill@1s", "kill@SECONDS"),
                ("--agent_down_ms=-1", "60000"), ("--workers=2", "--policy"),
                ("--ip=nowhere", "ip")), lambda case: harness.fails(SCHED, case[0])):
            with self.subTest(flag=bad):
                self.assertEqual(code, 2, said)
                self.assertIn(bad.split("=", maxsplit=1)[0], said)
                self.assertRegex(said, fix)

    def test_requests_of_its_own_have_no_port(self):
        code, said = harness.fails(SCHED, "--requests=self", "--iface=bilateral")
        self.assertEqual(code, 2, said)
        self.assertIn("--requests", said)


if __name__ == "__main__":
    unittest.main()
