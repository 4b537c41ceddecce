#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""How scripts/throughput judges samples: envelopes, ratios, the device as the limit, verdicts.

Samples are written by hand; every expected value is worked out from them here.
"""
import argparse
import contextlib
import csv
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

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path[:0] = [str(SCRIPTS / "bench"), str(SCRIPTS / "reporting")]
import cable_comparison
import cable_report
import growth
import instructions
import kv_report
import logmon_report
import measurements
import output
import paper_ratios
import plot
import progress
import report
import rows
import run
import targets
import telemetry_report
import throughput
import workloads

ROOT = SCRIPTS.parent


def sample(iface="streaming", cycles=5.0, mpps=100.0, **fields):
    return {"app": "echo", "mode": "increment", "iface": iface, "traffic": "64", "duration_s": 1.0,
            "mpps": mpps, "gbps": mpps * 0.512, "cycles_per_pkt": cycles, "worker_busy": 0.9,
            "device_busy": 0.5, "drops": {"rx_full": 2, "tx_full": 3}, "lost": 0,
            "ctx_switches": 1, "round": 0} | fields


def run_script(*arguments):
    return subprocess.run([sys.executable, SCRIPTS / "bench/throughput.py", *arguments], check=False,
                          capture_output=True, text=True)


class Rows(unittest.TestCase):
    def test_a_row_is_the_sample_at_the_quartile_next_to_the_best(self):
        cycles = (9.0, 5.0, 6.0, 30.0, 7.0)
        samples = [sample(cycles=c, mpps=600 / c, round=i) for i, c in enumerate(cycles)]
        [row] = rows.build_rows(samples, True)
        self.assertEqual(row["cycles_per_pkt"], 6.0)
        self.assertEqual(row["cycles_spread"], {"best": 5.0, "value": 6.0, "median": 7.0})
        self.assertEqual(row["mpps_spread"], {"best": 120.0, "value": 100.0, "median": 600 / 7})
        self.assertEqual(len(row["samples"]), 5)

    def test_a_quarter_of_quiet_samples_is_enough_for_a_verdict(self):
        quiet, disturbed = (sample(cycles=c, ctx_switches=n) for c, n in ((5.0, 20), (50.0, 21)))
        for count, cycles, verdict in ((2, 5.0, ""), (1, 50.0, "noisy")):
            [row] = rows.build_rows([disturbed] * (8 - count) + [quiet] * count, True)
            self.assertEqual((row["cycles_per_pkt"], row["verdict"]), (cycles, verdict))
            self.assertEqual(row["disturbed_samples"], 8 - count)

    def test_an_envelope_that_is_a_tenth_above_the_best_sample_is_no_verdict(self):
        for second, verdict in ((5.5, ""), (5.6, "noisy")):
            [row] = rows.build_rows([sample(cycles=c) for c in (5.0, *[second] * 4)], True)
            self.assertEqual(row["verdict"], verdict)

    def test_what_disturbs_is_a_matter_of_time(self):
        samples = [sample(ctx_switches=20, duration_s=0.3), sample(ctx_switches=40, duration_s=2.0),
                   sample(ctx_switches=41, duration_s=2.0)]
        [row] = rows.build_rows(samples, True)
        self.assertEqual(row["disturbed_samples"], 1)
        self.assertIn("1 of 3 samples", output.footer([row], [{"stream_cycles": 3.0}]))

    def test_a_worker_that_told_of_no_work_is_left_out_and_nothing_is_compared_with_it(self):
        [row] = rows.build_rows([sample(cycles=0.0, round=0), sample(cycles=5.0, round=1)], True)
        self.assertEqual((row["cycles_per_pkt"], row["left_out"]), (5.0, ["no work was seen"]))
        for one, other in ((1, 0), (0, 1)):
            table = rows.build_rows([sample("packetized", 5.0 * one), sample("streaming", 5.0 * other)],
                                    True)
            self.assertEqual([row["verdict"] for row in table],
                             ["" if one else "noisy", "" if other else "noisy"])
            self.assertNotIn("cycles_ratio", table[0])

    def test_a_failed_run_is_never_the_row_unless_nothing_else_is_there(self):
        failed = sample(cycles=1.0, failure="6 frames were neither sent back nor counted")
        [row] = rows.build_rows([sample(), failed], True)
        self.assertEqual((row["cycles_per_pkt"], row["verdict"]), (5.0, ""))
        self.assertIn("left out: echo", output.footer([row], [{"stream_cycles": 3.0}]))
        [row] = rows.build_rows([failed], True)
        self.assertEqual(row["verdict"], "FAILED")
        self.assertIn("6 frames", output.footer([row], [{"stream_cycles": 3.0}]))

    def test_without_hugepages_there_is_no_verdict(self):
        [row] = rows.build_rows([sample()], False)
        self.assertEqual(row["verdict"], "no verdict")


class Ratios(unittest.TestCase):
    def test_envelopes_are_compared_and_neighbours_say_how_far_they_differ(self):
        packetized, streaming = (20.0, 30.0, 22.0, 24.0, 60.0), (5.0, 5.0, 10.0, 6.0, 6.0)
        samples = [one for i, (p, s) in enumerate(zip(packetized, streaming))
                   for one in (sample("packetized", p, 600 / p, round=i),
                               sample("streaming", s, 600 / s, round=i))]
        row, _ = rows.build_rows(samples, True)
        # 22 over 5; of 2.2, 4, 4, 6 and 10 the second and the fourth.
        self.assertEqual(row["cycles_ratio"], {"value": 4.4, "low": 4.0, "high": 6.0, "pairs": 5})
        self.assertAlmostEqual(row["mpps_ratio"]["value"], 4.4)

    def test_every_interface_is_compared_with_streaming(self):
        samples = [sample("packetized", 20.0, 50.0), sample("streaming", 10.0, 100.0),
                   sample("bilateral", 11.0, 80.0)]
        packetized, streaming, bilateral = rows.build_rows(samples, True)
        self.assertEqual(packetized["cycles_ratio"]["value"], 2.0)
        self.assertEqual(bilateral["cycles_ratio"]["value"], 1.1)
        self.assertEqual(bilateral["mpps_ratio"]["value"], 1.25)
        self.assertNotIn("cycles_ratio", streaming)

    def test_rates_are_marked_where_the_device_is_the_limit(self):
        for busy, cell in ((0.95, "1.00 (1.00..1.00)d"), (0.94, "1.00 (1.00..1.00)")):
            samples = [sample("packetized"), sample("streaming", device_busy=busy, worker_busy=0.4)]
            line = output.side_by_side(rows.build_rows(samples, True)).splitlines()[-1]
            self.assertTrue(line.endswith(cell), line)

    def test_neighbours_that_agree_decide_whatever_the_noise(self):
        five = (0.1, 0.4, 0.5, 0.6, 0.9)  # Quartiles: 0.4 and 0.6.
        for pairs, limit, agreed in ((five, 0.6, True), (five, 0.59, None), (five, 0.4, None),
                                     (five, 0.39, False), (five[1:], 1.0, None)):
            found = rows.ratio({"value": 1.0}, {"value": 2.0}, list(pairs))
            self.assertEqual(rows.at_most(found, limit), agreed, (pairs, limit))

    def test_the_inverse_of_a_ratio_keeps_its_order(self):
        found = {"value": 2.0, "low": 1.0, "high": 4.0, "pairs": 5}
        self.assertEqual(rows.inverse(found), {"value": 0.5, "low": 0.25, "high": 1.0, "pairs": 5})

    def test_dropping_what_the_other_sends_is_not_compared(self):
        packetized = sample("packetized", 20.0, rx_pkts=1000, drops={})
        for dropped, ratio in ((10, 4.0), (11, None)):
            streaming = sample(cycles=5.0, rx_pkts=1000, drops={"tx_unframeable": dropped})
            table = rows.build_rows([packetized, streaming], True)
            found = table[0]["cycles_ratio"]
            self.assertEqual(found and found["value"], ratio)
        self.assertIn("unequal work", output.side_by_side(table))

    def test_a_worker_as_busy_as_the_device_is_not_device_bound(self):
        samples = [sample("packetized"), sample("streaming", device_busy=0.97, worker_busy=0.99)]
        self.assertFalse(rows.build_rows(samples, True)[0]["device_bound"])


class Verdicts(unittest.TestCase):
    def verdict(self, samples, number, hugepages=True, stream_cycles=3.0):
        return targets.verdicts(rows.build_rows(samples, hugepages), hugepages, stream_cycles)[number]

    def test_a_target_is_met_up_to_its_limit(self):
        self.assertTrue(self.verdict([sample("packetized", 17.0)], 0).endswith(": met"))
        self.assertIn("NOT MET", self.verdict([sample("packetized", 17.1)], 0))

    def test_packetized_is_held_against_testpmd_of_the_same_run(self):
        null = sample("net_null", 16.0, app="testpmd", mode="macswap", peer=True)
        self.assertIn("NOT MET", self.verdict([sample("packetized", 16.5), null], 1))
        self.assertIn(": met", self.verdict([sample("packetized", 15.5), null], 1))

    def test_the_worst_traffic_decides(self):
        samples = [sample(cycles=2.0), sample(cycles=8.0, traffic="imix")]
        self.assertIn("8.0 (imix): NOT MET", self.verdict(samples, 2))

    def test_of_a_capture_the_part_that_every_nic_can_send_is_judged(self):
        samples = [sample(cycles=3.0, traffic="capture-ipv4"), sample(cycles=99.0, traffic="capture")]
        for number in (2, 3):
            line = self.verdict(samples, number)
            self.assertTrue(line.endswith("3.0 (capture-ipv4): met"), line)
            self.assertIn("capture-ipv4", line.split(":")[0] + line.split(":")[1])

    def test_a_missed_target_names_the_floor_of_the_host(self):
        samples = [sample(cycles=14.0, traffic="random")]
        self.assertIn("costs 12.5", self.verdict(samples, 3, stream_cycles=12.5))
        self.assertNotIn("costs", self.verdict(samples, 3, stream_cycles=3.0))

    def test_without_hugepages_the_value_is_shown_and_not_judged(self):
        self.assertIn("17.0 (64): no verdict", self.verdict([sample("packetized", 17.0)], 0, False))

    def test_what_was_not_run_is_said(self):
        for number in (0, 4, 5):
            self.assertIn("not measured", self.verdict([sample()], number))

    def test_bilateral_is_held_against_streaming_of_the_same_rounds(self):
        for number, traffic, met, missed in ((4, "64", 11.5, 11.6), (5, "1518", 10.5, 10.6)):
            for cycles, end in ((met, ": met"), (missed, "NOT MET")):
                samples = [sample("streaming", 10.0, traffic=traffic),
                           sample("bilateral", cycles, traffic=traffic)]
                self.assertTrue(self.verdict(samples, number).endswith(end), (traffic, cycles))
                self.assertIn("no verdict", self.verdict(samples, number, False))
        noisy = [sample("streaming", c) for c in (5.0, 6.0, 6.0, 6.0, 6.0)] + [sample("bilateral")]
        self.assertTrue(self.verdict(noisy, 4).endswith("no verdict, noisy"))

    def found(self, samples, text, hugepages=True):
        lines = targets.verdicts(rows.build_rows(samples, hugepages), hugepages, 3.0)
        [line] = [line for line in lines if line.startswith(text)]
        return line

    def test_what_streaming_saves_is_judged_in_cycles_and_in_frames_delivered(self):
        for traffic, least in (("64", 1.5), ("512", 1.2), ("imix", 1.2), ("capture-ipv4", 1.2),
                               ("1518", 1.0), ("random", 1.0)):
            for cycles, mpps, end in ((7.0, 100 * least, ": met"), (7.1, 99 * least, ": NOT MET")):
                samples = [sample("packetized", 10.0, 100.0, traffic=traffic),
                           sample("streaming", cycles, mpps, traffic=traffic)]
                for what in ("cycles", "Mpps"):
                    line = self.found(samples, f"streaming/packetized {what}, {traffic},")
                    self.assertTrue(line.endswith(end), line)
        self.assertIn("not measured", self.found([sample()], "streaming/packetized Mpps, 64,"))

    def test_pairs_decide_a_ratio_of_noisy_rows(self):
        def at(iface, cycles, number):
            return sample(iface, cycles, 500 / cycles, round=number)

        noise = (1.0, 2.0, 4.0, 8.0, 16.0)
        samples = [at(iface, cycles * factor, number) for number, factor in enumerate(noise)
                   for iface, cycles in (("packetized", 10.0), ("streaming", 6.0))]
        for what in ("cycles", "Mpps"):
            line = self.found(samples, f"streaming/packetized {what}, 64,")
            self.assertTrue(line.endswith(": met"), line)
            self.assertIn("no verdict", self.found(samples, f"streaming/packetized {what}, 64,", False))

    def test_the_limit_of_the_model_is_named_beside_a_rate(self):
        samples = [sample("packetized"), sample("streaming", device_busy=0.97, worker_busy=0.4)]
        self.assertIn("plays the NIC is the limit", self.found(samples, "streaming/packetized Mpps, 64,"))

    def test_streaming_is_held_against_memif_of_the_same_run(self):
        memif = sample("net_memif", 100.0, 50.0, app="testpmd", mode="macswap", peer=True)
        for mpps, end in ((100.0, "2.00: met"), (99.0, "1.98: NOT MET")):
            self.assertTrue(self.found([sample(mpps=mpps), memif], "streaming/net_memif").endswith(end))


def maglev(iface, cycles, traffic="16 flows", mode="ip", **fields):
    """At 2.5 GHz: 100 cycles are 40 ns; a worker that is busy all the time sends 25 Mpps."""
    return sample(iface, cycles, 2500 / cycles, app="maglev", mode=mode, traffic=traffic,
                  worker_busy=1.0, **fields)


class MaglevVerdicts(unittest.TestCase):
    def lines(self, *samples, hugepages=True, engine=()):
        return targets.verdicts(rows.build_rows(list(samples), hugepages), hugepages, 3.0,
                                {"maglev": list(engine)})

    def found(self, lines, *words):
        [line] = [line for line in lines if all(word in line for word in words)]
        return line

    def test_time_per_packet_counts_what_was_received_while_the_worker_was_busy(self):
        [row] = rows.build_rows([maglev("streaming", 100.0)], True)
        self.assertAlmostEqual(row["ns_per_pkt"], 40.0)
        half = sample(mpps=10.0, worker_busy=0.5, rx_pkts=200, tx_pkts=100)  # 20 Mpps, 0.5 s
        [row] = rows.build_rows([half], True)
        self.assertAlmostEqual(row["ns_per_pkt"], 25.0)

    def test_what_sends_nothing_or_is_a_peer_has_no_time(self):
        silent = maglev("streaming", 100.0) | {"mpps": 0.0}
        peer = sample("net_null", 16.0, app="testpmd", mode="macswap", peer=True)
        del peer["worker_busy"]
        for row in rows.build_rows([silent, peer], True):
            self.assertIsNone(row["ns_per_pkt"])
            self.assertIn(row["iface"], output.table([row]))

    def test_the_engine_is_held_against_the_limit_of_its_traffic_by_its_envelope(self):
        lines = self.lines(maglev("packetized", 75.5),
                           engine=[{"16 flows": 29.0, "2^20 flows": 59.0},
                                   {"16 flows": 30.2, "2^20 flows": 59.9},
                                   {"16 flows": 31.0, "2^20 flows": 70.0},
                                   {"16 flows": 50.0, "2^20 flows": 90.0},
                                   {"16 flows": 60.0, "2^20 flows": 99.0}])
        self.assertTrue(self.found(lines, "engine alone", "16").endswith("30.2 (29.0..31.0): NOT MET"))
        self.assertTrue(self.found(lines, "engine alone", "2^20").endswith("59.9 (59.0..70.0): met"))
        self.assertIn("not measured", self.found(self.lines(maglev("packetized", 75.5)),
                                                 "engine alone", "16"))

    def test_each_interface_has_its_time(self):
        lines = self.lines(maglev("packetized", 75.5), maglev("streaming", 74.5))
        self.assertTrue(self.found(lines, "packetized, 64 B, 16").endswith("30.2 ns/packet"))
        self.assertTrue(self.found(lines, "streaming, 64 B, 16").endswith("29.8 ns/packet"))

    def test_streaming_over_packetized_is_said_for_each_traffic(self):
        lines = self.lines(maglev("packetized", 100.0, round=0), maglev("streaming", 80.0, round=0),
                           maglev("packetized", 100.0, round=1), maglev("streaming", 40.0, round=1))
        self.assertIn("0.40 (0.40..0.80)", self.found(lines, "streaming/packetized", "16 flows"))

    def test_streaming_is_held_against_packetized_by_encapsulation(self):
        for mode, met, missed in (("ip", 90, 91), ("mac", 70, 71), ("nat", 70, 71)):
            for cycles, end in ((met, ": met"), (missed, ": NOT MET")):
                samples = [maglev("packetized", 100.0, mode=mode),
                           maglev("streaming", float(cycles), mode=mode)]
                words = ("streaming/packetized", f"maglev {mode}", "16 flows")
                self.assertTrue(self.found(self.lines(*samples), *words).endswith(end), mode)
                self.assertIn("no verdict", self.found(self.lines(*samples, hugepages=False), *words))

    def test_an_encapsulation_that_was_not_run_is_not_mentioned(self):
        lines = self.lines(maglev("packetized", 75.5, mode="mac"))
        self.assertFalse(any("maglev ip" in line or "maglev nat" in line for line in lines), lines)
        self.assertIn("not measured", self.found(lines, "streaming/packetized", "mac, 16 flows"))

    def test_there_is_no_ratio_where_one_interface_drops_what_the_other_sends(self):
        lines = self.lines(maglev("packetized", 100.0, rx_pkts=1000, tx_pkts=1000, drops={}),
                           maglev("streaming", 50.0, rx_pkts=1000, tx_pkts=500,
                                  drops={"tx_full": 500}))
        self.assertIn("not equal", self.found(lines, "streaming/packetized", "16 flows"))

    def test_the_targets_of_an_app_are_shown_where_it_was_run(self):
        self.assertFalse(any("maglev" in line for line in self.lines(sample())))
        lines = self.lines(maglev("streaming", 50.0))
        self.assertTrue(all("maglev" in line for line in lines))
        both = self.lines(sample(), maglev("streaming", 50.0))
        self.assertEqual(len(both), len(self.lines(sample())) + len(lines))


def kv(iface, cycles, traffic="1 request", **fields):
    """As maglev."""
    return sample(iface, cycles, 2500 / cycles, app="kv", mode="mica", traffic=traffic,
                  worker_busy=1.0, wire={"client_get_p50_ns": 1500, "client_get_p99_ns": 9000},
                  **fields)


class CableVerdicts(unittest.TestCase):
    # Envelopes of three: the best. 20 over 10; of 2, 1.5 and 1 the first and the last.
    RATES = {"net_memif": (10.0, 8.0, 5.0), "packetized": (20.0, 12.0, 5.0),
             "streaming": (29.0, 29.0, 29.0), "bilateral": (40.0, 40.0, 39.0)}

    def samples(self, *paths, size=64):
        return [{"path": path, "bytes": size, "mpps": rate, "round": i}
                for path in paths for i, rate in enumerate(self.RATES[path])]

    def test_rates_are_held_against_memifs_of_the_same_run(self):
        lines = cable_report.verdicts(self.samples(*self.RATES), True)
        for path, end in (("packetized", "2.00 (1.00..2.00): met"), ("streaming", "NOT MET"),
                          ("bilateral", ": met")):
            [line] = [line for line in lines if path in line]
            self.assertTrue(line.endswith(end), line)

    def test_without_memif_or_hugepages_there_is_no_verdict(self):
        for line in cable_report.verdicts(self.samples("streaming"), True):
            self.assertIn("not measured", line)
        for line in cable_report.verdicts(self.samples(*self.RATES), False):
            self.assertIn("no verdict", line)
        # Another size is no target.
        for line in cable_report.verdicts(self.samples(*self.RATES, size=1518), True):
            self.assertIn("not measured", line)

    def test_the_table_has_a_row_for_each_path_and_two_columns_for_each_size(self):
        samples = self.samples(*self.RATES) + self.samples(*self.RATES, size=1518)
        table = cable_report.lines(samples)
        self.assertEqual([line.split()[0] for line in table[2:]], list(self.RATES))
        [row] = [line for line in table if line.startswith("packetized")]
        self.assertEqual(row.count("20.00 (20.00..12.00)"), 2)
        self.assertEqual(row.count("2.00 (1.00..2.00)"), 2)

    def test_the_rates_of_the_first_lines_do_not_count(self):
        said = "".join(f"    0.{i} s  rx {i}.500 Mpps  tx 0.0 Mpps\n" for i in range(5))
        self.assertEqual(cable_comparison.rates(said), [3.5, 4.5])


class KvVerdicts(unittest.TestCase):
    def lines(self, *samples, **more):
        return targets.verdicts(rows.build_rows(list(samples), True), True, 3.0, **more)

    def found(self, lines, *words):
        [line] = [line for line in lines if all(word in line for word in words)]
        return line

    def test_requests_are_counted_by_the_datagram(self):
        line = self.found(self.lines(kv("streaming", 250.0, "16 requests")), "Mops of")
        self.assertIn("160.00 Mops of the worker's time", line)  # 100 ns for 16 requests.
        self.assertIn("p50 1.5, p99 9.0 us", line)

    def test_streaming_is_held_against_packetized_at_one_request(self):
        for cycles, end in ((260.0, "1.30: met"), (200.0, "1.00: NOT MET")):
            lines = self.lines(kv("packetized", cycles), kv("streaming", 200.0))
            line = self.found(lines, "1.3x")
            self.assertTrue(line.endswith(end), line)
        line = self.found(self.lines(kv("streaming", 200.0)), "1.3x")
        self.assertTrue(line.endswith("not measured in this run"))

    def test_streaming_is_held_against_the_table_that_does_the_same_share_of_gets(self):
        # Three of four are gets: 0.75 x 40 + 0.25 x 80 = 50 ns in the table alone.
        served = {"requests": 400, "get_hits": 299, "get_misses": 1}
        engines = {"kv": [{"get": get, "set": set_} for get, set_ in
                          ((30.0, 70.0), (40.0, 80.0), (41.0, 80.0), (60.0, 90.0), (99.0, 99.0))]}
        for cycles, end in ((2500.0, "0.80: met"), (2600.0, "0.77: NOT MET")):  # 62.5, 65 ns each.
            lines = self.lines(kv("streaming", cycles, "16 requests", mica=served),
                               engines=engines)
            line = self.found(lines, "table alone")
            self.assertIn("(20.00 Mops)", line)
            self.assertTrue(line.endswith(end), line)

    def test_what_was_not_run_is_said(self):
        lines = self.lines(kv("streaming", 200.0))
        for words in ("table alone", "memcached's protocol"):
            self.assertTrue(self.found(lines, words).endswith("not measured in this run"))


def logmon(iface, cycles, rule_set="light", **fields):
    """Two datagrams of 1000 bytes each came; nothing was sent."""
    return sample(iface, cycles, 0.0, app="logmon", mode="lines", traffic=rule_set, rx_pkts=2,
                  tx_pkts=0, drops={},
                  logmon={"sources": {"line_datagrams": 2, "text_bytes": 2000}}, **fields)


def logmon_engine(bare, scanner=2.0, state=41 << 20, given_up=0,
                  sources=100000):
    """At 2.5 GHz. Chunks of another size are nobody's."""
    def scan(rule_set, chunk, cycles):
        return {"set": rule_set, "chunk_bytes": chunk, "bare_cycles_per_byte": cycles,
                "scanner_cycles_per_byte": scanner, "scanner_ratio": cycles / scanner,
                "bursts_cycles_per_byte": 2.5, "frames_cycles_per_byte": 4.0}

    return {"tsc_hz": 2.5e9,
            "scans": [scan("light", 1472, bare), scan("light", 64, 99.0), scan("heavy", 1472, 20.0)],
            "state": {"sources": sources, "bytes": state, "unfinished_bytes": 12 << 20,
                      "given_up_lines": given_up}}


class LogmonVerdicts(unittest.TestCase):
    def lines(self, *samples, hugepages=True, engine=()):
        return targets.verdicts(rows.build_rows(list(samples), hugepages), hugepages, 3.0,
                                {"logmon": list(engine)})

    def found(self, lines, *words):
        [line] = [line for line in lines if all(word in line for word in words)]
        return line

    def test_streaming_is_held_against_bare_hyperscan_by_the_byte(self):
        for cycles, end in ((2000.0, "0.90: met"), (2100.0, "0.86: NOT MET")):  # 2.0, 2.1 a byte.
            lines = self.lines(logmon("streaming", cycles),
                               engine=[logmon_engine(c) for c in (1.8, 1.7, 1.9, 9.0, 9.9)])
            line = self.found(lines, "light", "bare")
            self.assertIn("(1.80 cycles/byte)", line)
            self.assertTrue(line.endswith(end), line)

    def test_each_set_of_filters_is_held_against_its_own(self):
        lines = self.lines(logmon("streaming", 2000.0), logmon("streaming", 16000.0, "heavy"),
                           engine=[logmon_engine(1.0)])
        self.assertTrue(self.found(lines, "light", "bare").endswith("0.50: NOT MET"))
        self.assertTrue(self.found(lines, "heavy", "bare").endswith("1.25: met"))

    def test_noisy_rows_and_missing_hugepages_give_no_verdict(self):
        engine = [logmon_engine(1.8)]
        lines = self.lines(*(logmon("streaming", c) for c in (1000.0, *[2000.0] * 4)), engine=engine)
        self.assertTrue(self.found(lines, "light", "bare").endswith("no verdict, noisy"))
        lines = self.lines(logmon("streaming", 2000.0), hugepages=False, engine=engine)
        self.assertTrue(self.found(lines, "light", "bare").endswith("without hugepages"))

    def test_streaming_is_not_slower_than_packetized(self):
        for cycles, end in ((2000.0, "1.00 (1.00..1.00): met"), (1900.0, "(0.95..0.95): NOT MET")):
            lines = self.lines(logmon("packetized", cycles), logmon("streaming", 2000.0))
            line = self.found(lines, "light", "packetized")
            self.assertTrue(line.endswith(end), line)

    def test_the_memory_of_sources_has_a_limit(self):
        for engine, end in ((logmon_engine(1.0, state=64 << 20), ": met"),
                            (logmon_engine(1.0, state=(64 << 20) + 1), ": NOT MET"),
                            (logmon_engine(1.0, sources=99999), ": NOT MET"),
                            (logmon_engine(1.0, given_up=1), ": NOT MET")):
            line = self.found(self.lines(logmon("streaming", 1.0), engine=[engine]), "state of")
            self.assertTrue(line.endswith(end), line)

    def test_what_was_not_run_is_said(self):
        lines = self.lines(logmon("streaming", 2000.0))
        self.assertEqual(len(lines), 5)
        self.assertTrue(all(line.endswith("not measured in this run") for line in lines))

    def test_every_line_of_the_table_has_rate_cycles_and_share_of_bare(self):
        table = {rows.key(row): row for row in rows.build_rows([logmon("streaming", 4000.0)], True)}
        told = logmon_report.lines(table, [logmon_engine(1.0)])
        cells = [line.split()[-4:] for line in told if line.startswith("light")]
        self.assertEqual(cells, [["20.00", "1.00", "-", "1.00x"], ["10.00", "2.00", "-", "0.50x"],
                                 ["8.00", "2.50", "-", "0.40x"], ["5.00", "4.00", "-", "0.25x"],
                                 ["5.00", "4.00", "4000", "0.25x"]])
        self.assertEqual([" ".join(line.split()[1:-4]) for line in told if line.startswith("light")],
                         ["in memory, hs_scan_stream", "in memory, lines",
                          "in memory, bursts of frames", "in memory, single frames", "streaming"])

    def test_a_run_without_text_has_no_line(self):
        silent = logmon("streaming", 0.0)
        silent["logmon"] = {"sources": {"line_datagrams": 0, "text_bytes": 0}}
        table = {rows.key(row): row for row in rows.build_rows([silent], True)}
        self.assertFalse(any("streaming" in line for line in logmon_report.lines(table, [])))
        self.assertIn("not measured", self.found(self.lines(silent, engine=[logmon_engine(1.0)]),
                                                 "light", "bare"))


class NothingSent(unittest.TestCase):
    def test_an_app_that_answers_nothing_has_no_rates(self):
        table = rows.build_rows([logmon("packetized", 30.0), logmon("streaming", 20.0)], True)
        self.assertEqual(table[0]["cycles_ratio"]["value"], 1.5)
        self.assertIsNone(table[0]["mpps_ratio"])
        title, _, line = output.side_by_side(table).splitlines()
        self.assertEqual(title, "logmon lines: worker cycles per packet | over streaming's")
        self.assertEqual(line.split(), ["light", "30.0", "20.0", "|", "1.50", "(1.50..1.50)"])
        self.assertEqual(output.table(table).splitlines()[1].split()[:8],
                         ["logmon", "lines", "light", "packetized", "-", "-", "30.0", "-"])


def telemetry_engine(ns, error=0.02, recall=0.99, member=50.0):
    """univmon takes twice the time. `member`: ns of librte_member's sketch."""
    def contestant(time):
        return {"ns_per_packet": time, "are_top100": error, "are_top1000": 0.1,
                "recall_at_100": recall, "memory_bytes": 8 << 20}

    return {"sketch": contestant(ns), "univmon": contestant(2 * ns), "member": contestant(member)}


class TelemetryVerdicts(unittest.TestCase):
    def verdicts(self, *engine):
        return telemetry_report.verdicts(list(engine))

    def test_the_engine_has_five_nanoseconds(self):
        line = self.verdicts(*map(telemetry_engine, (4.0, 5.0, 9.0, 9.0, 9.0)))[0]
        self.assertTrue(line.endswith("5.00 (4.00..9.00): met"), line)
        self.assertTrue(self.verdicts(telemetry_engine(5.1))[0].endswith("NOT MET"))

    def test_errors_have_their_limits(self):
        for error, end in ((0.022, ": met"), (0.0221, ": NOT MET")):
            self.assertTrue(self.verdicts(telemetry_engine(4.0, error))[1].endswith(end))
        self.assertTrue(self.verdicts(telemetry_engine(4.0, recall=0.989))[2].endswith(": NOT MET"))

    def test_what_was_not_run_is_said(self):
        for line in self.verdicts():
            self.assertTrue(line.endswith("not measured in this run"), line)

    def test_the_engine_has_a_fifth_of_rte_members_time_in_the_same_run(self):
        # Envelopes: the second of five each; pairs: 0.2, 0.1, 0.2, 0.1, 0.2.
        runs = [telemetry_engine(ns, member=member) for ns, member in
                ((10.0, 50.0), (5.0, 50.0), (10.4, 52.0), (9.0, 90.0), (20.0, 100.0))]
        line = self.verdicts(*runs)[3]
        self.assertIn("rte_member", line)
        self.assertTrue(line.endswith("0.18 (0.10..0.20): met"), line)
        self.assertTrue(self.verdicts(telemetry_engine(10.1))[3].endswith("0.20): NOT MET"))

    def test_interfaces_stand_beside_the_engine_of_the_same_settings(self):
        row = sample("streaming", 100.0, 25.0, app="telemetry", mode="univmon", traffic="200k flows",
                     worker_busy=1.0)
        table = {rows.key(found): found for found in rows.build_rows([row], True)}
        told = telemetry_report.lines(table, [telemetry_engine(4.0)])
        self.assertEqual(told, [
            "telemetry, sketch, p 0.01, engine alone: 4.00 ns/packet, 8.0 MiB of counters",
            "telemetry, univmon, p 0.01, engine alone: 8.00 ns/packet, 8.0 MiB of counters",
            "telemetry, univmon, p 0.01, streaming: 25.00 Mpps, 100.0 cycles/packet, "
            "40.0 ns/packet"])


def kv_row(server, path, requests, link="", client=None, **cpu_s):
    """Three windows of a second: with a tenth less, with so many, with a tenth more requests."""
    windows = [{"requests": requests * n // 10, "seconds": 1.0, **cpu_s}
               for n in (9, 11, 10)]
    return {"server": server, "flags": "", "path": path, "link": link, "windows": windows,
            "client": client}


class KvComparison(unittest.TestCase):
    MEMCACHED = kv_row("memcached", "kernel UDP", 160000, "loopback", process_s=0.8)  # 200 k/s.

    def lines(self, *found, missing=()):
        return kv_report.lines({"work": "work", "rows": list(found), "missing": list(missing)})

    def verdicts(self, *found):
        return kv_report.verdicts({"rows": list(found)},
                                  lambda text, met, *rows: targets.judge(text, True, met, *rows))

    def test_a_second_of_busy_worker_is_held_against_one_of_memcacheds_process(self):
        for requests, ratio, end in ((1000000, "10.0", ": met"), (980000, "9.8", ": NOT MET")):
            [line] = self.verdicts(self.MEMCACHED, kv_row("sluice-kv streaming", "model NIC",
                                                          requests, busy_s=0.5, process_s=2.0))
            self.assertIn(f"process) {ratio}, ", line)
            self.assertTrue(line.endswith(end), line)

    def test_what_all_threads_took_stands_beside_it(self):
        [line] = self.verdicts(self.MEMCACHED, kv_row("sluice-kv streaming", "model NIC", 1000000,
                                                      busy_s=0.5, process_s=2.0))
        self.assertIn("with all that polls 2.5:", line)

    def test_a_memcached_that_waits_for_its_client_gives_no_verdict(self):
        waiting = kv_row("memcached", "kernel UDP", 160000, "loopback", process_s=0.79)
        [line] = self.verdicts(waiting, kv_row("sluice-kv streaming", "model NIC", 1000000,
                                               busy_s=0.1, process_s=2.0))
        self.assertTrue(line.endswith("no verdict, idle"), line)

    def test_each_interface_has_its_line(self):
        ours = [kv_row(f"sluice-kv {iface}", "model NIC", 10, busy_s=1.0, process_s=1.0)
                for iface in ("packetized", "streaming")]
        self.assertEqual(len(self.verdicts(self.MEMCACHED, *ours)), 2)

    def test_what_came_over_a_veth_pair_is_not_judged(self):
        rest = [kv_row("sluice-kv packetized", "af_packet", 10**9, "veth", busy_s=1.0,
                       process_s=1.0),
                kv_row("memcached", "kernel UDP", 1, "veth", process_s=1.0)]
        for found in ([], [self.MEMCACHED], rest):
            [line] = self.verdicts(*found)
            self.assertTrue(line.endswith("not measured in this run"), line)

    def test_every_row_names_its_path(self):
        client = {"lost": 3, "get_latency_us": {"p50": 100.4, "p99": 900.0}}
        lines = self.lines(kv_row("sluice-kv streaming", "model NIC", 1000000, busy_s=0.5,
                                  process_s=2.0),
                           kv_row("memcached", "kernel UDP", 160000, "veth", client, process_s=0.8))
        self.assertEqual(lines[0], "work:")
        self.assertEqual(lines[2].split(), ["sluice-kv", "streaming", "model", "NIC", "2200",
                                            "(2200..2000)", "550", "(550..500)", "1.000", "-",
                                            "-", "-"])
        self.assertEqual(lines[3].split(), ["memcached", "kernel", "UDP,", "veth", "-", "220",
                                            "(220..200)", "0.160", "100", "900", "3"])

    def test_what_is_missing_says_why(self):
        self.assertIn("veth: not measured, only root can make a veth pair",
                      self.lines(self.MEMCACHED,
                                 missing=["veth: not measured, only root can make a veth pair"]))


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
        # 1518: FCS, Ethernet, IPv4 and UDP take 4 + 14 + 20 + 8.
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


class Growth(unittest.TestCase):
    def measured(self, cost, repeats=1, deadline=float("inf")):
        """cost: of an interface and the flags of a point."""
        asked = []

        def app_sample(app, iface, flags, duration_s):
            asked.append((app, iface, tuple(flags), duration_s))
            return {"cycles_per_pkt": cost(iface, flags)}
        with tempfile.TemporaryDirectory() as folder:
            found = {}
            growth.measure(found, ["packetized", "streaming"], repeats, 0, deadline, folder,
                           app_sample, lambda sample: None)
        return found, asked

    def test_every_point_of_every_curve_is_sampled_in_each_round(self):
        found, asked = self.measured(lambda iface, flags: 1.0, repeats=3)
        points = len(growth.plan(["packetized", "streaming"]))
        self.assertEqual(len(asked), 3 * points)
        self.assertEqual(asked[:points] * 3, asked)
        self.assertTrue(all(len(samples) == 3 for points in found.values()
                            for samples in points.values()))
        self.assertEqual({app: s for app, _, _, s in asked},
                         {"echo": 0.3, "maglev": 1.0, "kv": 1.0, "telemetry": 1.0})

    def test_files_of_a_point_are_written_once(self):
        written = []

        def flags(point, _):
            written.append(point)
            return []
        curve = growth.Curve("echo", "flows", (1, 2), flags)
        with unittest.mock.patch.object(growth, "CURVES", [curve]):
            found, asked = self.measured(lambda iface, flags: 1.0, repeats=3)
        self.assertEqual((written, len(asked)), ([1, 2], 12))
        self.assertEqual(set(found), {(0, "packetized"), (0, "streaming")})

    def test_curves_reach_as_far_as_the_applications_do(self):
        last = {(curve.app, curve.axis): (curve.points[0], curve.points[-1])
                for curve in growth.CURVES}
        self.assertEqual(last["echo", "pipes"], (1, 1024))
        for curve in (("echo", "flows"), ("maglev", "connections"), ("telemetry", "flows"),
                      ("kv", "items")):
            self.assertLessEqual(last[curve][0], 1024)
            self.assertEqual(last[curve][1], 1 << 20)

    def test_no_round_begins_after_the_deadline(self):
        _, asked = self.measured(lambda iface, flags: 1.0, repeats=3, deadline=0)
        self.assertEqual(len(asked), len(growth.plan(["packetized", "streaming"])))

    def test_a_line_ends_with_its_growth(self):
        def cost(iface, flags):
            sizes = [int(flag.split("=")[1]) for flag in flags if flag.startswith("--frame_size")]
            return sizes[0] / 10 if sizes and iface == "streaming" else 5.0
        lines = growth.lines(self.measured(cost)[0], {})
        self.assertEqual(lines[0], "echo: worker cycles per packet by frame size")
        self.assertEqual(lines[1].split(), ["64", "128", "256", "512", "1K", "1518", "growth"])
        self.assertEqual(lines[2].split(), ["packetized", *["5.0"] * 6, "1.00x", "flat"])
        self.assertEqual(lines[3].split()[0:2] + lines[3].split()[-3:],
                         ["streaming", "6.4", "151.8", "23.72x", "GROWS"])
        self.assertEqual(sum("by pipes" in line for line in lines), 1)

    def test_a_point_that_failed_has_no_cost(self):
        lines = growth.lines(self.measured(lambda iface, flags: 0.0)[0], {})
        self.assertEqual(lines[2].split(), ["packetized", *["-"] * 7])

    def test_a_curve_is_flat_up_to_a_third_or_grows_with_its_bare_table_or_grows(self):
        for found, bare, said in ((1.3, None, "flat"), (1.31, None, "GROWS"), (0.5, 2.0, "flat"),
                                  (2.0, 2.0, "grows, but not more than the bare table"),
                                  (2.01, 2.0, "GROWS"), (None, 2.0, "")):
            self.assertEqual(growth.verdict(found, bare), said)
        self.assertEqual(growth.verdict(1.0, None, noisy=True), "noisy")

    def test_a_curve_is_noisy_where_an_end_has_too_few_quiet_samples(self):
        curve = growth.Curve("echo", "flows", (1, 2, 3), None)

        def samples(*costs):
            return [{"cycles_per_pkt": cost} for cost in costs]
        quiet, loud = samples(10.0, 11.0, 11.0, 11.0, 11.0), samples(10.0, *[11.1] * 4)
        for points, noisy in (((quiet, loud, quiet), False), ((loud, quiet, quiet), True),
                              ((quiet, quiet, loud), True)):
            costs, found = growth.costs_of(curve, dict(zip(curve.points, points)))
            self.assertEqual((len(costs), found), (3, noisy))

    def test_points_are_short_where_they_are_round(self):
        self.assertEqual([growth.short(point) for point in (16, 1024, 1518, 1 << 20, 1048573, 2.0)],
                         ["16", "1K", "1518", "1M", "1048573", "2"])

    def test_a_bare_table_stands_below_its_curve(self):
        [number] = [i for i, c in enumerate(growth.CURVES) if c.axis == "connections"]
        points = growth.CURVES[number].points

        def cost(_, flags):
            flows = [int(flag.split("=")[1]) for flag in flags if flag.startswith("--flows")]
            return 60.0 if flows == [16] else 120.0
        found = {key: value for key, value in self.measured(cost)[0].items() if key[0] == number}
        lines = growth.lines(found, {number: dict(zip(points, (4.0, 5.0, 6.0, 8.0, 12.0)))})
        self.assertEqual(len(lines), 5)
        self.assertEqual(lines[2].split(maxsplit=7)[-2:],
                         ["2.00x", "grows, but not more than the bare table"])
        self.assertEqual(lines[4].split()[-6:], ["4.0", "5.0", "6.0", "8.0", "12.0", "3.00x"])

    def test_programs_of_bare_tables_are_asked_for_each_point(self):
        told = {"maglev": json.dumps({"benchmarks": [{"name": "FindHit/flows:16/ahead:8",
                                                      "cpu_time": 3.5}]}),
                "telemetry": '[{"name": "plain_count_min", "ns_per_packet": 4.5}]',
                "kv": "partition, cache mode    64.0      5.2     21.7     18.7     50.0     20.0\n"}
        asked = []

        def program_says(program, arguments):
            asked.append((program, arguments))
            return told[program.split("/")[1]]
        found = growth.measure_bare(program_says)
        costs = {growth.CURVES[number].app: set(points.values())
                 for number, points in found.items()}
        self.assertEqual(costs, {"maglev": {3.5}, "telemetry": {4.5}, "kv": {20.0}})
        self.assertEqual(len(asked), sum(len(points) for points in found.values()))
        self.assertIn(("tests/kv/sluice-kv-bench", ["1024", "1"]), asked)

    def test_workers_are_played_as_far_as_the_model_goes(self):
        said = json.dumps({"plots": {"workers": {"packetized": [[1, 59.0, 17.0], [16, 83.0, 34.0]],
                                                 "pipes": [[1, 148.8, 5.0], [16, 148.8, 6.0]]}}})
        lines = growth.worker_lines(growth.play_workers(lambda program, arguments: said))
        self.assertIn("modelled", lines[0])
        self.assertEqual([line.split() for line in lines[1:]],
                         [["1", "16", "growth"], ["packetized", "17.0", "34.0", "2.00x", "GROWS"],
                          ["pipes", "5.0", "6.0", "1.20x", "flat"]])


class PaperRatios(unittest.TestCase):
    def test_what_the_paper_found_stands_beside_what_was_measured(self):
        lines = paper_ratios.lines(rows.build_rows(
            [maglev("packetized", 150.0), maglev("streaming", 100.0), maglev("bilateral", 50.0),
             logmon("packetized", 30.0), logmon("streaming", 20.0)], True))
        self.assertEqual(len(lines), 4)
        self.assertIn("measured", lines[1])
        self.assertEqual(lines[2].split(), ["maglev", "ip", "16", "flows", "6.0", "(138", "/", "23",
                                            "Mpps)", "1.50", "(1.50..1.50)", "1.50",
                                            "(1.50..1.50)"])
        self.assertEqual(lines[3].split(), ["logmon", "lines", "light", "1.0-1.9", "(2-100", "/",
                                            "2-53.2", "Gb/s)", "1.50", "(1.50..1.50)", "-"])

    def test_what_is_noisy_says_so(self):
        noisy = [maglev("streaming", cycles) for cycles in (100.0, *[120.0] * 4)]
        lines = paper_ratios.lines(rows.build_rows([maglev("packetized", 150.0), *noisy], True))
        self.assertTrue(lines[2].endswith("noisy"), lines)

    def test_what_is_not_the_papers_or_has_no_partner_has_no_line(self):
        for samples in ([sample("packetized"), sample("streaming")], [maglev("packetized", 150.0)]):
            self.assertEqual(paper_ratios.lines(rows.build_rows(samples, True)), [])


class SideBySide(unittest.TestCase):
    def test_one_line_for_each_traffic_with_every_interface(self):
        table = rows.build_rows([sample("packetized", 52.5, 8.0), sample("streaming", 35.0, 16.0),
                                 sample("bilateral", 42.0, 12.8),
                                 sample("streaming", 70.0, 5.0, traffic="imix")], True)
        lines = [line.split() for line in output.side_by_side(table).splitlines()]
        self.assertEqual(lines[2], ["64", "52.5", "35.0", "42.0", "|", "1.50", "(1.50..1.50)", "1.20",
                                    "(1.20..1.20)", "|", "8.00", "16.00", "12.80", "|", "2.00",
                                    "(2.00..2.00)", "1.25", "(1.25..1.25)"])
        self.assertEqual(lines[3][:4], ["imix", "-", "70.0", "-"])

    def test_a_line_of_maglev_begins_with_its_time_per_packet(self):
        table = rows.build_rows([maglev("packetized", 150.0), maglev("streaming", 100.0)], True)
        title, _, line = output.side_by_side(table).splitlines()
        self.assertTrue(title.startswith("maglev ip: worker ns per packet | worker cycles"), title)
        self.assertEqual(line.split()[:9], ["16", "flows", "60.0", "40.0", "|", "150.0", "100.0", "|",
                                            "1.50"])

    def test_peers_and_runs_without_streaming_have_their_lines_too(self):
        table = rows.build_rows([sample("bilateral", 42.0), sample("net_null", app="testpmd",
                                                                   peer=True)], True)
        text = output.side_by_side(table)
        self.assertIn("42.0", text)
        self.assertNotIn("net_null", text)


class Files(unittest.TestCase):
    def test_json_csv_and_plot_hold_every_row(self):
        table = rows.build_rows([sample("packetized"), sample()], True)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "out"
            output.write_json(path, {"git": "abc"}, table)
            report = json.loads(path.read_text())
            self.assertEqual(report["manifest"]["git"], "abc")
            self.assertEqual([r["iface"] for r in report["rows"]], ["packetized", "streaming"])
            output.write_csv(path, table)
            lines = list(csv.DictReader(path.read_text().splitlines()))
            self.assertEqual([line["drops"] for line in lines], ["5", "5"])
            self.assertEqual(lines[0]["mpps_ratio_value"], "1.0")
            plot.plot(path, table, "title")
            self.assertTrue(path.read_bytes().startswith(b"\x89PNG"))


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
    """Seconds that pass when the test says so."""
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
        shown.step("a")  # 10 s for a quarter of the cost.
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
    """What was measured is kept, and the exit code says that it is not all."""

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
                    (instructions, "count", lambda bench, burst: 50.0),
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
        # Four rows of a round, and half of the next.
        self.assertEqual([len(row["samples"]) for row in kept["rows"]], [2, 2, 1, 1])
        self.assertIn("ended early (interrupted)", html)
        self.assertIn("echo increment: worker cycles per packet", printed)
        self.assertRegex(said, r"throughput: interrupted; what was measured is in \S+kept.json\n$")

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
            throughput.choose_interfaces(["coherent"], known)
        self.assertEqual(end.exception.code, 2)
        self.assertIn("--ifaces: no 'coherent'", said.getvalue())


if __name__ == "__main__":
    unittest.main()
