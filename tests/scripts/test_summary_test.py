#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The summary of scripts/test, from handwritten logs."""
import json
import pathlib
import subprocess
import tempfile
import unittest

SUMMARY = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "test_summary"
# The last lines of programs that use GoogleTest and unittest.
GTEST = "[  PASSED  ] 4 tests.\n[  SKIPPED ] 2 tests, listed below:\n[  SKIPPED ] Huge.Pages\n"
UNITTEST = "Ran 9 tests in 0.1s\n\nOK (skipped=3)\n"


def entry(name, result="OK", duration=1.0, **said):
    return json.dumps({"name": name, "result": result, "duration": duration} | said)


class Summary(unittest.TestCase):
    def said(self, *logs, failed_builds=0, runs=None, flags=()):
        with tempfile.TemporaryDirectory() as folder:
            names = []
            for i, log in enumerate(logs):
                path = pathlib.Path(folder, f"{i}.json")
                path.write_text("\n".join(log) + "\n", encoding="utf-8")
                names.append(f"{runs[i] if runs else f'run{i}'}={path}")
            done = subprocess.run([SUMMARY, f"--failed-builds={failed_builds}", *flags, *names],
                                  capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()

    def test_sums_over_runs(self):
        code, lines = self.said([entry("a"), entry("b", "SKIP"), entry("c", "EXPECTEDFAIL")],
                                [entry("a")])
        self.assertEqual((code, lines[-1]), (0, "3 passed, 0 failed, 1 skipped"))

    def test_everything_else_is_a_failure(self):
        for result in ("FAIL", "ERROR", "TIMEOUT", "INTERRUPT", "UNEXPECTEDPASS"):
            code, lines = self.said([entry("a"), entry("b", result)])
            self.assertEqual((code, lines[-1]), (1, "1 passed, 1 failed, 0 skipped"), result)
        code, lines = self.said([entry("a")], failed_builds=2)
        self.assertEqual((code, lines[-1]), (1, "1 passed, 2 failed, 0 skipped"))

    def test_cases_that_a_program_skipped_are_told_and_counted(self):
        code, lines = self.said([entry("gtest", stdout=GTEST), entry("python", stderr=UNITTEST)])
        self.assertEqual((code, lines[-1]), (0, "2 passed, 0 failed, 5 skipped"))
        self.assertEqual([line.split() for line in lines if "within" in line],
                         [["skipped", "within:", "2", "run0", "gtest"],
                          ["skipped", "within:", "3", "run0", "python"]])

    def test_a_run_that_cannot_be_is_told_and_counted(self):
        code, lines = self.said([entry("a")], flags=("--skipped-run=aarch64: not there",))
        self.assertEqual((code, lines[-2:]),
                         (0, ["skipped run: aarch64: not there", "1 passed, 0 failed, 1 skipped"]))

    def test_folders_that_programs_left_are_told_and_are_one_failure(self):
        code, lines = self.said([entry("a")], flags=("--left-run=x_1", "--left-run=y_2"))
        self.assertEqual((code, lines[-3:]),
                         (1, ["left in DPDK's runtime folder: x_1",
                              "left in DPDK's runtime folder: y_2",
                              "1 passed, 1 failed, 0 skipped"]))

    def test_the_ten_slowest_come_first_the_slowest_before_the_others(self):
        _, lines = self.said([entry(f"t{i}", duration=float(i)) for i in range(12)])
        self.assertEqual([line.split()[-1] for line in lines[:-1]],
                         [f"t{i}" for i in range(11, 1, -1)])

    def test_a_log_that_cannot_be_read_is_named_in_one_line(self):
        with tempfile.NamedTemporaryFile("w") as torn:
            torn.write('{"name": "a", ')
            torn.flush()
            for log in ("scripts", "release=/does/not/exist", f"release={torn.name}"):
                done = subprocess.run([SUMMARY, log], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertTrue(done.stderr.startswith(f"{log}: give "), done.stderr)

    def test_a_run_over_its_budget_is_named_and_only_strictly_a_failure(self):
        slow = [entry(f"t{i}", duration=1000.0) for i in range(3)]
        for flags, expected in (((), 0), (("--strict",), 1)):
            code, lines = self.said(slow, [entry("fast")], runs=("scripts", "asan"), flags=flags)
            self.assertEqual((code, lines[-1]), (expected, "4 passed, 0 failed, 0 skipped"))
            over = [line for line in lines if line.startswith("over budget: ")]
            self.assertEqual(len(over), 1)
            self.assertIn("scripts: 3000 s of tests, ", over[0])

    def test_each_run_has_a_budget_of_its_own(self):
        for run in ("scripts", "programs", "asan", "tsan", "tsan_programs", "fuzz",
                    "aarch64", "dpdk-24.11", "dpdk-25.11"):
            for duration, expected in ((1.0, 0), (1e5, 1)):
                code, lines = self.said([entry("t", duration=duration)], runs=(run,),
                                        flags=("--strict",))
                self.assertEqual(code, expected, lines)

    def test_what_has_no_budget_may_take_its_time(self):
        code, _ = self.said([entry("t", duration=1e5)], runs=("other",), flags=("--strict",))
        self.assertEqual(code, 0)


if __name__ == "__main__":
    unittest.main()
