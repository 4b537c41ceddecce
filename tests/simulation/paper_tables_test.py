#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""paper_tables_test.py <sluice-paper-rows> <scripts/paper> <paper_tables.md>: the inputs of the
values in the reproduction table, their verdicts, and that the page shows the results."""
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv[1]
SCRIPTS = pathlib.Path(sys.argv[2])
PAGE = pathlib.Path(sys.argv[3])
sys.path.insert(0, str(SCRIPTS))
sys.dont_write_bytecode = True
import paper_tables  # pylint: disable=wrong-import-position
import ranges  # pylint: disable=wrong-import-position

# Short runs suffice to show which values depend on which inputs.
SMALL = {"requests": "40", "echo_frames": "3000", "watchdog": "1ms", "watchdog_tick": "100us",
         "range_share": "0.05", "rpc_calls": "3000"}
# Counts whose values are exact; any other value means that the model is broken.
COUNTS = {"W5a", "W8a", "W9", "B1c", "B3a", "B3b", "B5g", "N1a", "N1b", "N1c", "N1d", "N2a", "N2b",
          "N2c", "N2d", "N2e", "N4a", "N5b", "L2", "L8mg", "L8ng"}
OTHER_VALUES = {"rx_descriptor": "16", "tx_descriptor": "32", "descriptors_fetched": "512",
                "nic_buffers": "20", "fpga_lanes": "8", "fpga_payload": "128", "pcie_generation": "3",
                "pcie_lanes": "8", "rpc_cores": "7", "shinjuku_workers": "3",
                "watchdog": "2ms", "watchdog_tick": "150us", "slow_stage": "3us"}


# Rows whose verdict holds only in part of a range, one per experiment. Both sides of each limit are
# tested.
LIMITS = (("F7b", "pipes_per_worker"), ("E1a", "fpga_payload"), ("L8nl", "reallocate"),
          ("F5d", "line_time"))
# Estimates that affect only rows without a verdict.
NO_VERDICT = {"offerer_validates"}


def run(changes):
    settings = [part for name, value in {**SMALL, **changes}.items()
                for part in ("--set", f"{name}={value}")]
    return subprocess.run([PROGRAM, *settings], capture_output=True, text=True, check=False)


def compute(changes):
    return json.loads(run(changes).stdout)


def values(computed):
    return {row["id"]: row["value"] for row in computed["rows"]}


def another(name, value):
    if name in OTHER_VALUES:
        return OTHER_VALUES[name]
    number, unit = re.fullmatch(r"([0-9.e+-]+)([a-z]*)", value).groups()
    if unit or "." in number:
        return f"{float(number) * 1.37:g}{unit}"
    return str(int(int(number) * 1.5) + 1)


class Inputs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.base = compute({})
        cls.inputs = [each["name"] for each in cls.base["inputs"]]
        cls.rows = values(cls.base)
        changes = [(each["name"], another(each["name"], each["value"]))
                   for each in cls.base["inputs"]]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            runs = list(pool.map(lambda change: values(compute(dict([change]))), changes))
        cls.changed = {name: {row for row, value in run_.items() if value != cls.rows[row]}
                       for (name, _), run_ in zip(changes, runs)}

    def test_nothing_changes_a_row_but_the_inputs_that_it_names(self):
        for row in self.base["rows"]:
            changing = {name for name in self.inputs if row["id"] in self.changed[name]}
            self.assertLessEqual(changing, set(row["inputs"]), row["id"])

    def test_every_input_changes_some_row(self):
        self.assertEqual([name for name in self.inputs if not self.changed[name]], [])

    def test_no_row_is_constant_but_counts_of_what_must_not_be(self):
        moved = set().union(*self.changed.values())
        self.assertEqual(set(self.rows) - moved, COUNTS)

    def test_what_is_reproduced_could_have_come_out_otherwise(self):
        data = json.loads((SCRIPTS / "values.json").read_text(encoding="utf-8"))
        moved = set().union(*self.changed.values())
        for row in paper_tables.join(data, self.base, {}):
            if row.get("counted") == "reproduced":
                self.assertIn(row["id"], moved)

    def test_what_a_row_stands_for_changes_it(self):
        for name, rows in {"pcie_oneway": {"W2", "B1", "B1a", "B4", "B6e", "D1"},
                           "mmio_read_uncached": {"W1", "W4", "W4a", "W4b", "W11b", "B6f"},
                           "context_switch": {"W4", "W5", "S1", "S2", "S3", "B6a", "B6b"},
                           "nic_memory": {"W4", "W6b", "W6c"},
                           "agent_decision": {"W6a", "B1", "B6e"},
                           "change_rate": {"B5a1", "B5b1", "B5c1"},
                           "slice": {"W7b"}, "load": {"W14a", "W14b"},
                           "coherent_line": {"S3"}, "packet_time": {"F5b", "F7c", "F7d"},
                           "line_time": {"F6c", "F6d", "F7c"}}.items():
            self.assertLessEqual(rows, self.changed[name], name)
        self.assertNotIn("B6e", self.changed["context_switch"])
        self.assertNotIn("W5", self.changed["nic_memory"])

    def test_the_same_inputs_give_the_same_values(self):
        self.assertEqual(run({}).stdout, run({}).stdout)

    def test_each_row_has_a_paper_or_says_that_none_has(self):
        data = json.loads((SCRIPTS / "values.json").read_text(encoding="utf-8"))
        joined = [row for row in paper_tables.join(data, self.base, {}) if "id" in row]
        self.assertLessEqual(set(self.rows), {row["id"] for row in joined})
        for row in joined:
            self.assertIn(row["source"], data["sources"])

    def test_a_plot_is_computed_alone_if_asked_for(self):
        said = subprocess.run([PROGRAM, "--rows", "none", "--plot", "rtt", "--set",
                               "echo_frames=3000"], capture_output=True, text=True, check=True)
        computed = json.loads(said.stdout)
        self.assertEqual((computed["rows"], list(computed["plots"])), ([], ["rtt"]))
        for name, points in computed["plots"]["rtt"].items():
            self.assertEqual(points[0][0], 1, name)
            for _, median, tail in points:
                self.assertLessEqual(median, tail, name)
        refused = subprocess.run([PROGRAM, "--plot", "nothing"], capture_output=True, text=True,
                                 check=False)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("nothing", refused.stderr.splitlines()[0])

    def test_inputs_that_are_none_are_refused(self):
        for name, value in (("pcie_oneway", "379"), ("pcie_oneway", "379s"), ("nothing", "1"),
                            ("requests", "1.5"), ("load", "x"), ("load", "-1"),
                            ("pcie_generation", "2"), ("fpga_payload", "64"),
                            ("frames_per_notification", "0"), ("pipes_per_worker", "0"),
                            ("echo_frames", "29"), ("rpc_calls", "99"), ("rpc_cores", "9")):
            refused = run({name: value})
            self.assertEqual(refused.returncode, 2, (name, value))
            self.assertIn(name, refused.stderr)


class Values(unittest.TestCase):
    """Each value of a paper: its place, and the quotation."""

    @classmethod
    def setUpClass(cls):
        data = json.loads((SCRIPTS / "values.json").read_text(encoding="utf-8"))
        cls.rows = [row for row in data["rows"] if "id" in row]

    def test_a_prediction_has_two_sides(self):
        for row in self.rows:
            if row.get("kind") == "prediction":
                self.assertTrue({"equals", "between"} & set(row), row["id"])

    def test_a_paper_is_cited_with_the_place(self):
        for row in self.rows:
            if row.get("paper") and row["source"] not in ("ours", "arithmetic"):
                self.assertTrue(row.get("where"), row["id"])

    def test_numbers_of_a_paper_stand_in_its_words(self):
        for row in self.rows:
            if row.get("kind") in ("prediction", "bound") and row.get("quote"):
                said = row["paper"].split(" = ")[-1]
                for number in re.findall(r"\d[\d.]*", said):
                    self.assertIn(number, row["quote"].replace(",", ""), row["id"])


class Verdicts(unittest.TestCase):
    INPUTS = {"cost": {"value": "100ns", "chosen_from": "X1"},
              "other": {"value": "1us", "chosen_from": ""}}

    def judge(self, paper, value, inputs=(), law=None, capped=False):
        row = {"id": "X1", "value": value, "inputs": list(inputs), "law": law, "capped": capped}
        return paper_tables.judge(paper, row, self.INPUTS)[0]

    def test_a_value_from_which_an_input_was_chosen_is_never_reproduced(self):
        paper = {"kind": "prediction", "equals": 100, "tolerance": 0.01}
        self.assertEqual(self.judge(paper, 100, ["cost"]), "fitted")
        self.assertEqual(self.judge(paper, 150, ["cost"]), "fitted, and missed")
        self.assertEqual(self.judge(paper, 100, ["other"]), "reproduced")

    def test_a_wire_that_limits_a_value_reproduces_nothing(self):
        paper = {"kind": "prediction", "equals": 100, "tolerance": 0.01}
        self.assertEqual(self.judge(paper, 100, ["other"], capped=True), "capped by the wire")
        self.assertEqual(self.judge(paper, 50, ["other"]), "differs by -50%")

    def test_what_is_beyond_its_tolerance_differs_by_so_much(self):
        paper = {"kind": "prediction", "equals": 100, "tolerance": 0.05}
        self.assertEqual(self.judge(paper, 105), "reproduced")
        self.assertEqual(self.judge(paper, 113), "differs by +13%")
        self.assertEqual(self.judge({"kind": "prediction", "between": [3, 4]}, 5), "differs")

    def test_one_side_is_a_bound(self):
        self.assertEqual(self.judge({"kind": "bound", "above": 88}, 98), "within the bound")
        self.assertEqual(self.judge({"kind": "bound", "below": 88}, 98), "outside the bound")

    def test_our_own_rules_have_words_of_their_own(self):
        for kind, word in (("invariant", "our invariant"), ("identity", "identity")):
            self.assertEqual(self.judge({"kind": kind, "equals": 0}, 0), word)
            self.assertEqual(self.judge({"kind": kind, "equals": 0}, 1), word + " FAILS")

    def test_a_claim_holds_or_does_not(self):
        paper = {"kind": "claim", "below_sum": {"cost": 2}}
        self.assertEqual(self.judge(paper, 200), "claim holds")
        self.assertEqual(self.judge(paper, 201), "claim does not hold")

    def test_a_law_is_a_check_of_the_simulator(self):
        law = {"expected": 10.0, "deviation": 0.5, "trials": 1000}
        self.assertTrue(self.judge({"kind": "check"}, 11, law=law).startswith(
            "check of the simulator: holds, 2.0 deviations"))
        self.assertTrue(self.judge({"kind": "check"}, 13, law=law).startswith(
            "check of the simulator: FAILS"))

    def test_a_sum_of_its_own_terms_is_a_check_of_the_simulator(self):
        paper = {"kind": "check", "sum": {"cost": 2, "other": 1}, "tolerance": 0.001}
        self.assertEqual(self.judge(paper, 1200), "check of the simulator: holds")
        self.assertEqual(self.judge(paper, 1300), "check of the simulator: FAILS")


class Ranges(unittest.TestCase):
    """The ranges of verdicts: values of ranges.json, and the algorithm."""

    @classmethod
    def setUpClass(cls):
        cls.stands = json.loads(paper_tables.RANGES.read_text(encoding="utf-8"))
        data = json.loads((SCRIPTS / "values.json").read_text(encoding="utf-8"))
        done = subprocess.run([PROGRAM, "--rows", ",".join(row for row, _ in LIMITS)],
                              capture_output=True, text=True, check=True)
        cls.sweeper = ranges.Sweeper(PROGRAM, [], data, json.loads(done.stdout))

    def test_limits_are_where_verdicts_change(self):
        for row, name in LIMITS:
            low, high = (self.stands[row]["inputs"][name][end] for end in ("low", "high"))
            self.assertTrue(low[1] or high[1], (row, name))
            for stands, falls in (low, high):
                words = [self.sweeper.words_at(name, value, [row]).get(row)
                         for value in (stands, falls) if value]
                self.assertEqual(words[0], self.sweeper.words[row], (row, name, stands))
                self.assertNotEqual(words[1:], words[:1], (row, name, falls))

    def test_an_input_without_a_source_has_a_range(self):
        """Inputs that were not measured are swept, except sample sizes and inputs of rows without a
        verdict."""
        inputs = self.sweeper.inputs.values()
        swept = {each["name"] for each in inputs if each["sweep"]}
        self.assertEqual({each["name"] for each in inputs
                          if each["origin"] == "estimate" and not each["chosen_from"]} - swept,
                         NO_VERDICT)
        self.assertEqual({name for each in self.stands.values() for name in each["inputs"]}, swept)
        for each in inputs:
            if each["sweep"]:
                points, _ = ranges.ends(each["sweep"])
                value = ranges.nanoseconds(each["value"])
                self.assertLessEqual(min(points), value, each["name"])
                self.assertGreaterEqual(max(points), value, each["name"])

    def test_points_go_outwards_to_the_ends_of_a_range(self):
        down, up = ranges.outwards(2, "1 to 32")
        self.assertEqual([round(point) for point in up], [8, 32])
        self.assertEqual(round(down[-1]), 1)
        self.assertEqual(ranges.outwards(256, "128 256 512"), [[128], [512]])
        self.assertEqual(ranges.outwards(1650, "0ns to 3.3us")[0][-1], 0)
        self.assertEqual(ranges.text_of(1650, "1us"), "1.65us")
        self.assertEqual(ranges.text_of(5.66, "2"), "6")

    def test_a_range_of_another_value_is_not_shown(self):
        found = {"X1": {"word": "claim holds", "value": 2.0, "inputs": {
            "pipes": {"swept": "1 to 32", "low": ["1", None], "high": ["5", "6"]},
            "cost": {"swept": "1ns to 9ns", "low": ["1ns", None], "high": ["9ns", None]}}}}
        self.assertEqual(ranges.shown(found, {"id": "X1", "value": 2.0}, "claim holds"),
                         "pipes 1 to 5")
        self.assertEqual(ranges.shown(found, {"id": "X1", "value": 2.1}, "claim holds"),
                         "not swept")
        self.assertEqual(ranges.shown(found, {"id": "X2", "value": 2.1}, "fitted"), "")
        del found["X1"]["inputs"]["pipes"]
        self.assertEqual(ranges.shown(found, {"id": "X1", "value": 2.0}, "claim holds"),
                         "all ranges")


class Page(unittest.TestCase):
    def test_shows_what_the_program_prints(self):
        printed = subprocess.run(
            [sys.executable, SCRIPTS / "paper_tables.py", "--program", PROGRAM,
             f"--json={os.devnull}"],
            capture_output=True, text=True, check=True).stdout
        page = PAGE.read_text(encoding="utf-8")
        shown = page.split(paper_tables.BEGIN)[1].split(paper_tables.END)[0]
        self.assertGreater(len(printed.splitlines()), 60)
        self.assertEqual(shown.strip().splitlines(), printed.strip().splitlines(),
                         "scripts/paper_tables --page docs/paper_tables.md fixes it; then read "
                         "what the page says about it again")
        self.assertNotIn("FAIL", printed)
        self.assertNotIn("| not swept |", printed, "scripts/paper_tables --ranges")


class Interrupt(unittest.TestCase):
    def test_what_was_computed_is_kept_and_the_exit_code_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder) / "rows.json"
            with subprocess.Popen(
                    [sys.executable, SCRIPTS / "paper_tables.py", "--program", PROGRAM,
                     f"--json={place}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    text=True) as process:
                for line in process.stderr:
                    # Lines in a file: completed steps, their total, and the remaining time.
                    self.assertRegex(line, r"^\[\d+/16, (\d+ s|\d+ min) left\] ")
                    if line.startswith("[2/16"):
                        break
                process.send_signal(signal.SIGINT)
                printed, said = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130)
            self.assertRegex(said.splitlines()[-1],
                             r"^paper_tables: interrupted; \d+ rows were computed$")
            kept = json.loads(place.read_text(encoding="utf-8"))
        self.assertEqual(kept["stopped"], "interrupted")
        ids = {row["id"] for row in kept["rows"] if row.get("ours") is not None}
        self.assertLessEqual({"W1", "E1"}, {re.match(r"[A-Z]\d", one)[0] for one in ids})
        self.assertFalse({one for one in ids if one.startswith("B6")})
        self.assertIn("| W1 |", printed)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
