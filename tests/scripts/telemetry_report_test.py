#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Verdicts on sluice-telemetry."""
import unittest

from samples import sample
import rows
import telemetry_report


def telemetry_engine(ns, error=0.02, recall=0.99, member=50.0):
    """Returns results in which univmon needs twice the time `ns`. `member` is the time of
    librte_member's sketch in ns."""
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
        # The ratios of the pairs are 0.2, 0.1, 0.2, 0.1 and 0.2. The eighth of 15 ratios of two
        # rounds is (1 / 52 + 1 / 90) / (1 / 10.4 + 1 / 9).
        runs = [telemetry_engine(ns, member=member) for ns, member in
                ((10.0, 50.0), (5.0, 50.0), (10.4, 52.0), (9.0, 90.0), (20.0, 100.0))]
        line = self.verdicts(*runs)[3]
        self.assertIn("rte_member", line)
        self.assertTrue(line.endswith("0.15 (0.10..0.20): met"), line)
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


if __name__ == "__main__":
    unittest.main()
