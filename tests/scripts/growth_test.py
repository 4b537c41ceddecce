#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the cost of a packet as tables grow: points, curves, their verdicts."""
import json
import tempfile
import unittest
import unittest.mock

import samples  # pylint: disable=unused-import
import growth


class Growth(unittest.TestCase):
    def measured(self, cost, repeats=1, deadline=float("inf")):
        """`cost` returns the cost for an interface and the flags of a point."""
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


if __name__ == "__main__":
    unittest.main()
