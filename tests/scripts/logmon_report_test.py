#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Verdicts on sluice-logmon."""
import unittest

from samples import logmon
import logmon_report
import output
import rows
import targets


def logmon_engine(bare, scanner=2.0, state=41 << 20, given_up=0,
                  sources=100000):
    """Returns results at 2.5 GHz. The report must ignore chunks of other sizes."""
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
        for cycles, end in ((2000.0, "0.90: met"), (2100.0, "0.86: NOT MET")):  # 2.0, 2.1 per byte.
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


if __name__ == "__main__":
    unittest.main()
