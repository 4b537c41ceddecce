#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""end_to_end_test.py SLUICE_LOGMON: a log through the model NICs, as syslog, as lines that frames
split anywhere and as TCP, is counted as if it were read line by line. Works without root and
without hugepages."""

import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import harness
import log_lines
from logmon_run import EAL, LOGMON, Folder, Running, say

INTERFACES = harness.interfaces(LOGMON)
CONFIG = {"filters": [about for about, *_ in log_lines.FILTERS]}


class Counts(Folder):
    def check(self, text, report):
        found = report["logmon"]
        lines = log_lines.lines_of(text)
        self.assertEqual(found["lines"], len(lines))
        self.assertEqual(found["matched_lines"], len(lines))
        for nothing in ("truncated_lines", "torn_lines", "no_memory_lines"):
            self.assertEqual(found["scan"][nothing], 0)
        self.assertEqual([one["name"] for one in found["filters"]],
                         [one["name"] for one in CONFIG["filters"]])
        expected = log_lines.expected(text, CONFIG)
        for one in found["filters"]:
            events, values = expected[one["name"]]
            self.assertGreater(events, 0, one["name"])
            self.assertEqual(one["events"], events, one["name"])
            self.assertEqual(one.get("values", 0), len(values))
            if values:
                self.assertAlmostEqual(one["sum"], sum(values), places=3)
                self.assertEqual((one["min"], one["max"]), (min(values), max(values)))

    def test_every_transport_on_every_interface_counts_what_is_in_the_file(self):
        # A syslog message must fit in a frame. With the other transports, a line uses as many
        # frames as necessary.
        for iface, (log_as, frame_size) in harness.each(INTERFACES, (
                ("syslog", 1518), ("lines", 96), ("tcp", 1518), ("lines", 1518), ("tcp", 96))):
            with self.subTest(iface=iface, log_as=log_as, frame_size=frame_size):
                text = log_lines.make(
                    *((1000, 20_000) if frame_size == 96 else
                      (3000, 1300 if log_as == "syslog" else 60_000)), seed=frame_size)
                report = self.replay(text, f"--log_as={log_as}", f"--iface={iface}",
                                     f"--frame_size={frame_size}", "--log_sources=7",
                                     config=CONFIG)
                self.check(text, report)
                self.assertEqual(report["iface"], iface)
                sources = report["logmon"]["sources"]
                self.assertEqual(sources["new_sources"], 0 if log_as == "syslog" else 7)
                self.assertEqual(sources["finished_streams"], 7 if log_as == "tcp" else 0)
                for nothing in ("gaps", "evicted_sources", "other_frames", "without_priority"):
                    self.assertEqual(sources[nothing], 0)

    def test_two_workers_count_as_one(self):
        text = log_lines.make(1000, 1300, seed=2)
        for log_as in ("syslog", "tcp"):
            with self.subTest(log_as):
                report = self.replay(text, f"--log_as={log_as}", "--workers=2",
                                     "--log_sources=50", config=CONFIG)
                self.check(text, report)
                self.assertEqual(len(report["lcores"]), 2)

    def test_a_bump_in_the_wire_counts_and_forwards(self):
        text = log_lines.make(1000, 3000, seed=3)
        report = self.replay(text, "--log_as=tcp", "--pass_on", config=CONFIG)
        self.check(text, report)
        self.assertEqual(report["wire"]["returned"], report["rx_pkts"])

    def test_streams_that_begin_again_are_counted_again(self):
        text = log_lines.make(300, 1300, seed=4)
        for log_as in ("syslog", "lines", "tcp"):
            with self.subTest(log_as):
                with Running(f"--log={self.file('log', text)}", f"--log_as={log_as}",
                             '--filter="of the end"') as run:
                    run.wait(lambda r=run: r.ask("filters")["0"]["events"] > 5)
                    report = run.stop()["logmon"]
                self.assertEqual(report["sources"]["repeated_bytes"], 0)
                laps, rest = divmod(report["lines"], len(log_lines.lines_of(text)))
                self.assertAlmostEqual(report["filters"][0]["events"], laps + (rest > 0), delta=1)

    def test_of_a_line_that_is_too_long_the_beginning_counts(self):
        text = b"needle " + b"x" * 1000 + b" end\n" + b"y" * 256 + b" needle\nneedle\n"
        for log_as in ("lines", "tcp"):
            report = self.replay(text, f"--log_as={log_as}", "--frame_size=96",
                                 "--line_bytes=256", config={"filters": [
                                     {"pattern": "needle"}, {"pattern": "end"}]})["logmon"]
            self.assertEqual((report["lines"], report["scan"]["truncated_lines"]), (3, 2))
            self.assertEqual([one["events"] for one in report["filters"]], [2, 0])

    def test_the_sample_of_a_run_without_flags(self):
        code, said, errors = say(*EAL, "--", "--duration_s=1", "--json=-")
        self.assertEqual(code, 0, errors)
        report = json.loads(said)
        for one in report["logmon"]["filters"]:
            self.assertGreater(one["events"], 0, one["name"])
        self.assertEqual(report["rx_pkts"], report["logmon"]["lines"])
        self.assertEqual(report["rx_pkts"], report["consumed_pkts"])


if __name__ == "__main__":
    harness.run_on_all_cpus()
