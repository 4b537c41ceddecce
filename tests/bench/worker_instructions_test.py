# SPDX-License-Identifier: BSD-3-Clause
"""Counts a worker's instructions per packet on all interfaces, and those of engines per request;
the count of a row may exceed its recorded count only by the permitted growth. Arguments:
scripts/bench, the compiler, the instruction set, the build folder."""
import sys
import unittest

SCRIPTS, COMPILER, MARCH, BUILD = sys.argv[1:5]
del sys.argv[1:5]
sys.path.insert(0, SCRIPTS)
import instruction_rows  # pylint: disable=wrong-import-position


class Rows(unittest.TestCase):
    def test_none_has_grown(self):
        if not COMPILER.startswith(instruction_rows.COMPILER + "."):
            self.skipTest(f"the figures are recorded for {instruction_rows.COMPILER}, not {COMPILER}")
        if MARCH != instruction_rows.MARCH:
            self.skipTest(f"the figures are recorded for {instruction_rows.MARCH}, not {MARCH}")
        rows = [(f"{row.iface} {row.size} {row.burst}", row.recorded,
                 instruction_rows.count(BUILD, row.iface, row.burst, row.size))
                for row in instruction_rows.ROWS]
        rows += [(row.name, row.recorded, instruction_rows.count_engine(BUILD, row))
                 for row in instruction_rows.ENGINE_ROWS]
        for name, recorded, found in rows:
            with self.subTest(name):
                print(f"{name}: {found:.2f}", file=sys.stderr)
                self.assertLessEqual(found, recorded * (1 + instruction_rows.GROWTH))
                self.assertGreater(found, recorded * instruction_rows.LEAST)


if __name__ == "__main__":
    unittest.main()
