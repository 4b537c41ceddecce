#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Rows of the table: envelopes, ratios, the device as the bottleneck, and their display."""
import csv
import itertools
import json
import pathlib
import random
import tempfile
import unittest

from samples import maglev, sample
import measurements
import output
import paired
import plot
import report
import rows


class Rows(unittest.TestCase):
    def test_a_row_is_the_sample_at_the_quartile_next_to_the_best(self):
        cycles = (9.0, 5.0, 6.0, 30.0, 7.0)
        samples = [sample(cycles=c, mpps=600 / c, round=i) for i, c in enumerate(cycles)]
        [row] = rows.build_rows(samples, True)
        self.assertEqual(row["cycles_per_pkt"], 6.0)
        self.assertEqual(row["cycles_spread"], {"low": 5.0, "value": 6.0, "high": 7.0})
        self.assertEqual(row["mpps_spread"], {"low": 600 / 7, "value": 100.0, "high": 120.0})
        self.assertEqual(len(row["samples"]), 5)

    def test_all_figures_of_a_row_are_of_the_same_samples_and_within_their_range(self):
        # The rates do not follow the cycles: the three best of five samples have the rates 50, 45
        # and 60.
        samples = [sample(cycles=c, mpps=m, gbps=m / 2, round=i) for i, (c, m) in
                   enumerate(((9.0, 70.0), (5.0, 50.0), (6.0, 45.0), (30.0, 80.0), (7.0, 60.0)))]
        [row] = rows.build_rows(samples, True)
        self.assertEqual((row["cycles_per_pkt"], row["mpps"], row["gbps"]), (6.0, 50.0, 25.0))
        self.assertEqual(row["mpps_spread"], {"low": 45.0, "value": 50.0, "high": 60.0})
        # The worker is busy for 0.9 of the time, at 45, 50 or 60 packets per microsecond.
        self.assertAlmostEqual(row["ns_per_pkt"], 1000 * 0.9 / 50)

    def test_rows_of_a_file_are_made_again_of_their_samples(self):
        made = rows.build_rows([sample(cycles=c, round=i) for i, c in enumerate((6.0, 5.0))]
                               + [sample(failure="late", round=2)], True)
        old = [made[0] | {"mpps": 1.0, "mpps_spread": {"best": 3.0}}]
        self.assertEqual(rows.rebuilt(old, True), made)

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
    def test_neighbours_are_compared(self):
        packetized, streaming = (20.0, 30.0, 22.0, 24.0, 60.0), (5.0, 5.0, 10.0, 6.0, 6.0)
        samples = [one for i, (p, s) in enumerate(zip(packetized, streaming))
                   for one in (sample("packetized", p, 600 / p, round=i),
                               sample("streaming", s, 600 / s, round=i))]
        row, _ = rows.build_rows(samples, True)
        # The expected value is the eighth of 15 ratios of two rounds: (1 / 10 + 1 / 6) / (1 / 22 +
        # 1 / 60). Five pairs are too few for an interval, so it ranges from the smallest to the
        # largest ratio. All pairs agree, which is the case for 2 of 32 outcomes.
        found = row["cycles_ratio"]
        self.assertAlmostEqual(found["value"], (1 / 10 + 1 / 6) / (1 / 22 + 1 / 60))
        self.assertEqual([found[name] for name in ("low", "high", "pairs", "chance")],
                         [2.2, 10.0, 5, 2 / 32])
        self.assertAlmostEqual(row["mpps_ratio"]["value"], found["value"])

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

    def test_no_ratio_is_outside_its_interval_on_a_busy_host(self):
        for workload in measurements.busy_host().values():
            for row in rows.build_rows(workload, True):
                for name in ("cycles_ratio", "mpps_ratio"):
                    if found := row.get(name):
                        self.assertTrue(found["low"] <= found["value"] <= found["high"], found)

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


class Paired(unittest.TestCase):
    def test_the_chance_is_that_of_all_exchanges_within_rounds(self):
        dice = random.Random(1)
        for _ in range(20):
            ours, theirs = ([dice.lognormvariate(0, 1) for _ in range(7)] for _ in range(2))

            def statistic(swaps):
                rates = [1 / y - 1 / x if swap else 1 / x - 1 / y
                         for x, y, swap in zip(ours, theirs, swaps)]
                order = sorted(rates, key=abs)
                return abs(sum((at + 1) * (1 if rate > 0 else -1) for at, rate in enumerate(order)))

            seen = statistic([False] * 7)
            as_far = sum(statistic(swaps) >= seen
                         for swaps in itertools.product((False, True), repeat=7))
            self.assertEqual(paired.cost_ratio(ours, theirs)["chance"], as_far / 2 ** 7)

    def test_intervals_end_where_wilcoxons_table_says(self):
        # The largest rank sum that a two-sided test at 5 % rejects, for 6 to 20 pairs.
        for pairs, rejected in ((6, 0), (7, 2), (8, 3), (9, 5), (10, 8), (12, 13), (15, 25), (20, 52)):
            self.assertEqual(paired.outside(pairs), rejected, pairs)
            self.assertLessEqual(paired.chance_of(pairs, rejected), 0.05)
            self.assertGreater(paired.chance_of(pairs, rejected + 1), 0.05)

    def test_how_many_pairs_a_chance_needs(self):
        for chance, pairs in ((0.05, 6), (0.05 / 3, 7), (0.05 / 6, 8)):  # 2 / 2^n.
            self.assertEqual(paired.least_pairs(chance), pairs)

    def test_equal_figures_decide_nothing(self):
        found = paired.ratio([2.0] * 9, [2.0] * 9)
        self.assertEqual((found["value"], found["low"], found["high"], found["chance"]), (1, 1, 1, 1))

    def test_intervals_hold_the_true_ratio(self):
        dice, held = random.Random(2), 0
        for _ in range(1000):
            rounds = [dice.expovariate(1) for _ in range(9)]  # Noise that both samples share.
            ours, theirs = ([cost * (1 + noise) + dice.expovariate(1) * cost for noise in rounds]
                            for cost in (3.0, 2.0))
            found = paired.cost_ratio(ours, theirs)
            held += found["low"] <= 1.5 <= found["high"]
        self.assertGreaterEqual(held, 950)  # The expected share is 96.1 % for nine pairs.

    def test_limits_are_kept_or_not_where_the_interval_says_so(self):
        found = {"value": 0.5, "low": 0.4, "high": 0.6, "pairs": 6}
        for limit, agreed in ((0.6, True), (0.59, None), (0.4, None), (0.39, False)):
            self.assertEqual(paired.at_most(found, limit), agreed, limit)
        self.assertIsNone(paired.at_most(found | {"pairs": 5}, 1.0))

    def test_the_inverse_of_a_ratio_keeps_its_order(self):
        found = {"value": 2.0, "low": 1.0, "high": 4.0, "pairs": 5}
        self.assertEqual(paired.inverse(found), {"value": 0.5, "low": 0.25, "high": 1.0, "pairs": 5})


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


if __name__ == "__main__":
    unittest.main()
