#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tables and verdicts of round trips of a null RPC."""
import json
import pathlib
import tempfile
import unittest

import samples  # pylint: disable=unused-import
import inputs
import output
import rpc_comparison
import rpc_report

LINE = rpc_comparison.LINE
# The p50 of eight rounds in us. The envelope is the second-best value.
P50 = {LINE: [0.4] * 8, "coherent": [2.0, 2.1, 2.2, 2.2, 2.2, 2.2, 2.2, 9.0],
       "packetized": [3.0, 4.2, 4.4, 4.4, 4.4, 4.4, 4.4, 4.4],
       "kernel UDP": [9.0, 10.5, 11.0, 11.0, 11.0, 11.0, 11.0, 11.0]}
COUNTS = {"coherent": 100.0, "packetized": 400.0, "kernel UDP": 2000.0}


def measured(times=None):
    return [{"path": path, "round": number, "p50": us, "p99": 10 * us, "answered": 5, "failed": 0}
            for path, values in (times or P50).items() for number, us in enumerate(values)]


class Reports(unittest.TestCase):
    def test_the_table_has_a_row_for_each_path(self):
        _, _, *rows, note = rpc_report.lines(measured(), COUNTS, LINE)
        self.assertEqual([row[:16].strip() for row in rows], list(P50))
        self.assertEqual(rows[0].split()[2:], ["0.40", "(0.40..0.40)", "4.00", "(4.00..4.00)"])
        # 2.1 is within 10 % of 2.0; 4.2 is not within 10 % of 3.0.
        self.assertIn("2.10 (2.00..2.20)", rows[1])
        self.assertNotIn("noisy", rows[1])
        # The ratios of the rounds are 1.5, six times 2, and 0.49. Wilcoxon's table contains 3 for
        # eight pairs, so the interval ranges from the fourth ratio of two rounds, (1 / 2.2 + 1 / 9)
        # / (2 / 4.4), to the fourth-last one.
        self.assertIn("2.00 (1.24..2.00)", rows[2])
        self.assertTrue(rows[2].endswith("400  noisy"), rows[2])
        self.assertIn("5.00 (3.11..5.00)", rows[3])
        self.assertIn("kernel's part", note)

    def test_neighbours_decide(self):
        lines = rpc_report.verdicts(measured(), COUNTS)
        self.assertEqual([line.rsplit(": ", 1)[1] for line in lines], ["met", "met", "NOT MET"])
        self.assertIn("0.25", lines[-1])
        slower = P50 | {"packetized": [1.0] * 8, "kernel UDP": [2.0, 3.0] * 4}
        lines = rpc_report.verdicts(measured(slower), COUNTS | {"packetized": 500.0})
        self.assertEqual([line.rsplit(": ", 1)[1] for line in lines], ["NOT MET", "noisy", "met"])
        self.assertFalse(rpc_report.verdicts(measured({"coherent": [1.0]}), {}))

    def test_what_is_written_is_a_picture_of_the_page(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "rpc.json"
            output.write_json(str(path), {"cpu": "c", "git": "g", "date": "d"},
                              rpc_report.curves(measured()), "curves")
            kind, data = inputs.read(path)
        self.assertEqual(kind, inputs.CURVES)
        self.assertEqual([one["points"] for one in data["curves"][0]["series"]][:2],
                         [[[50, 0.4], [99, 4.0]], [[50, 2.1], [99, 21.0]]])

    def test_a_sample_is_what_programs_report(self):
        report = json.loads('{"answered": 7, "refused": 1, "lost": 2, "corrupted": 4, '
                            '"latency_us": {"p50": 1.5, "p99": 3.5}}')
        self.assertEqual(rpc_comparison.read("coherent", report),
                         {"path": "coherent", "p50": 1.5, "p99": 3.5, "answered": 7, "failed": 7})
        self.assertIn("--iface=streaming", rpc_comparison.command("streaming", 0.5))
        self.assertEqual(rpc_comparison.command("kernel UDP", 0.5)[1:], ["0.5"])


if __name__ == "__main__":
    unittest.main()
