#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Verdicts on model NICs that are joined by a cable."""
import unittest

import samples  # pylint: disable=unused-import
import cable_comparison
import cable_report


class CableVerdicts(unittest.TestCase):
    # The envelope of three rates is the best of them. The ratios of packetized to net_memif are 20
    # / 10, 12 / 6 and 5 / 5 in one round, and 32 / 16, 25 / 15 and 17 / 11 in two rounds. In
    # ascending order, they are 1, 1.55, 1.67, 2, 2 and 2.
    RATES = {"net_memif": (10.0, 6.0, 5.0), "packetized": (20.0, 12.0, 5.0),
             "streaming": (29.0, 17.0, 14.0), "bilateral": (40.0, 40.0, 39.0)}

    def samples(self, *paths, size=64):
        return [{"path": path, "bytes": size, "mpps": rate, "round": i}
                for path in paths for i, rate in enumerate(self.RATES[path])]

    def test_rates_are_held_against_memifs_of_the_same_run(self):
        lines = cable_report.verdicts(self.samples(*self.RATES), True)
        for path, end in (("packetized", "1.83 (1.00..2.00): NOT MET"), ("streaming", "NOT MET"),
                          ("bilateral", ": met")):
            [line] = [line for line in lines if path in line]
            self.assertTrue(line.endswith(end), line)

    def test_without_memif_or_hugepages_there_is_no_verdict(self):
        for line in cable_report.verdicts(self.samples("streaming"), True):
            self.assertIn("not measured", line)
        for line in cable_report.verdicts(self.samples(*self.RATES), False):
            self.assertIn("no verdict", line)
        # Other sizes have no target.
        for line in cable_report.verdicts(self.samples(*self.RATES, size=1518), True):
            self.assertIn("not measured", line)

    def test_the_table_has_a_row_for_each_path_and_two_columns_for_each_size(self):
        samples = self.samples(*self.RATES) + self.samples(*self.RATES, size=1518)
        table = cable_report.lines(samples)
        self.assertEqual([line.split()[0] for line in table[2:]], list(self.RATES))
        [row] = [line for line in table if line.startswith("packetized")]
        self.assertEqual(row.count("20.00 (12.00..20.00)"), 2)
        self.assertEqual(row.count("1.83 (1.00..2.00)"), 2)

    def test_the_rates_of_the_first_lines_do_not_count(self):
        said = "".join(f"    0.{i} s  rx {i}.500 Mpps  tx 0.0 Mpps\n" for i in range(5))
        self.assertEqual(cable_comparison.rates(said), [3.5, 4.5])


if __name__ == "__main__":
    unittest.main()
