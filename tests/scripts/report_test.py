#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests scripts/report: the changes that it reports, the files that it accepts, and the contents of
the page. Samples are written by hand, and every expected value is derived from them here."""
import copy
import functools
import html.parser
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

import measurements
from measurements import QUIET, SCRIPTS, SLOPPY, samples, throughput, usual

import apart
import comparison
import decision
import inputs
import pictures
import report

WORSE = tuple(1.1 * factor for factor in QUIET)  # All of these exceed the worst of QUIET.


class Apart(unittest.TestCase):
    def test_the_least_rank_that_noise_alone_rarely_reaches(self):
        # The probability 2 * C(n + m - k, m) / C(n + m, m) must be at most 0.01.
        for ours, theirs, k in ((5, 5, 5), (4, 4, None), (9, 9, 6), (3, 9, 3), (9, 3, 9), (1, 1, None),
                                (0, 9, None)):
            self.assertEqual(apart.rank(ours, theirs), k, (ours, theirs))

    def test_who_is_better(self):
        low, high = [1, 2, 3, 4, 5], [6, 7, 8, 9, 10]
        for ours, theirs, best, said in (
                (low, high, min, "better"), (high, low, min, "worse"),
                (low, high, max, "worse"), (high, low, max, "better"),
                ([1, 2, 3, 4, 6.5], high, min, "within noise"), (low, low, min, "within noise"),
                ([1, 2, 3, 4], high, min, "too few samples"), ([], high, min, "too few samples"),
                # Of nine samples, the six best count, so three disturbed samples do not change
                # anything.
                ([1, 2, 3, 4, 5, 6, 90, 91, 92], [7, 8, 9, 10, 11, 12, 13, 14, 15], min, "better"),
                ([1, 2, 3, 4, 5, 60, 90, 91, 92], [7, 8, 9, 10, 11, 12, 13, 14, 15], min,
                 "within noise")):
            self.assertEqual(apart.tell_apart(ours, theirs, best), said, (ours, theirs))


class Comparisons(unittest.TestCase):
    def verdicts(self, old, new, metric="cycles_per_pkt"):
        return {change.name[2:]: change.verdict for change in
                comparison.compare_rows(old["rows"], new["rows"]) if change.metric == metric}

    def compare(self, old, new, **fields):
        return self.verdicts(throughput(*samples("streaming", 10.0, old)),
                             throughput(*samples("streaming", 10.0, new, **fields)))[
                                 "streaming", "64"]

    def test_what_changed_beyond_noise(self):
        for old, new, verdict in (
                (QUIET, QUIET, "within noise"),
                (QUIET, WORSE, "worse"),
                (WORSE, QUIET, "better"),
                (QUIET, (1.01, 1.02, 1.03, *WORSE[3:]), "within noise"),
                (SLOPPY, tuple(3 * factor for factor in QUIET), "no verdict: the old row is noisy"),
                (QUIET, SLOPPY, "no verdict: the new row is noisy"),
                (QUIET[:4], (2.0, 2.0, 2.0, 2.0), "too few samples")):
            self.assertEqual(self.compare(old, new), verdict, (old, new))

    def test_rates_are_better_when_they_are_higher_and_only_where_the_device_was_no_limit(self):
        quiet, faster = samples("streaming", 10.0), samples("streaming", 5.0)
        bound = samples("streaming", 5.0, device_busy=0.95)
        for new, verdict in ((faster, "better"), (bound, "no verdict: the model NIC was the limit")):
            self.assertEqual(self.verdicts(throughput(*quiet), throughput(*new), "mpps"),
                             {("streaming", "64"): verdict})

    def test_rows_of_one_run_alone_are_named(self):
        old = throughput(*samples("streaming", 10.0), *samples("packetized", 10.0))
        new = throughput(*samples("streaming", 10.0), *samples("bilateral", 10.0))
        self.assertEqual(self.verdicts(old, new), {
            ("streaming", "64"): "within noise", ("packetized", "64"): "only in the old run",
            ("bilateral", "64"): "only in the new run"})

    def test_another_host_is_not_judged_and_another_kernel_is_named(self):
        old, new = usual(), usual(2.0)
        for name, value, judged in (("cpu", "Other CPU", False), ("hugepages", False, False),
                                    ("kernel", "6.2.0", True), ("dpdk", "24.11", True)):
            other = copy.deepcopy(new)
            other["manifest"][name] = value
            changes, notes = comparison.compare(inputs.THROUGHPUT, old, other)
            self.assertEqual(any(c.verdict in comparison.CHANGED for c in changes), judged, name)
            self.assertIn(name, notes[0])

    def test_growth_is_compared_point_by_point(self):
        new = copy.deepcopy(measurements.GROWTH)
        for one in new["rows"][0]["points"]["1024"]:
            one["cycles_per_pkt"] += 10
        changes, _ = comparison.compare(inputs.GROWTH, measurements.GROWTH, new)
        self.assertEqual({change.name: change.verdict for change in changes
                          if change.verdict != "within noise"},
                         {("echo", "flows", "packetized", "1024"): "worse"})

    def test_lines_begin_with_what_changed(self):
        changes, _ = comparison.compare(inputs.THROUGHPUT, usual(), usual(1.2))
        said = comparison.lines(changes)
        self.assertEqual(said[0], "worse  echo increment packetized 64: cycles_per_pkt "
                                  "50.50 -> 60.60 (1.20x)")
        # There are seven rows with two figures each. In the three rows with 64, both figures
        # changed.
        self.assertIn("6 of 14 figures changed beyond noise", said)
        self.assertIn("2: no verdict: the old row is noisy", said)


class Inputs(unittest.TestCase):
    def refuse(self, data, words):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "in.json"
            path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
            with self.assertRaises(inputs.BadInput) as said:
                report.make([str(path)])
            self.assertIn(words, str(said.exception))
            self.assertNotIn("\n", str(said.exception))

    def test_files_that_are_none(self):
        for data, words in (("", "no JSON"), ("[" * 100000, "no JSON"), ("[]", "not a file of"),
                            ("{}", "not a file of"), ('{"rows": [1]}', "not a file of"),
                            ('{"rows": []}', "not a file of")):
            self.refuse(data, words)

    def test_members_that_are_missing_or_wrong(self):
        def changed(data, *path, value=None):
            data = copy.deepcopy(data)
            inner = data
            for step in path[:-1]:
                inner = inner[step]
            if value is None:
                del inner[path[-1]]
            else:
                inner[path[-1]] = value
            return data

        row = ("rows", 0)
        for data, words in (
                (changed(usual(), "manifest"), "no 'manifest'"),
                (changed(usual(), *row, "samples", 0, "round"), "rows 0, samples 0 has no 'round'"),
                (changed(usual(), *row, "verdict", value=3), "verdict has a wrong type"),
                (changed(usual(), *row, "mpps", value=True), "mpps has a wrong type"),
                (changed(usual(), *row, "mpps", value=float("nan")), "not a finite number"),
                (changed(usual(), *row, "samples", 2, "drops", value="x"),
                 "not in the format of scripts/throughput"),
                (changed(measurements.GROWTH, *row, "points", "x", value=[]), "'x' is not a point"),
                (changed(measurements.CURVES, "curves", 0, "origin", value="felt"),
                 "not one of measured, simulated"),
                (changed(measurements.CURVES, "curves", 0, "series", 0, "points", 0, value=[1]),
                 "is not [x, y]"),
                (changed(measurements.CURVES, "curves", 0, "series", 0, "points", 0, value=[1, 0]),
                 "0 on a logarithmic axis"),
                (changed(measurements.ZERO_LOSS, "zero_loss", 0, "low_mpps"), "no 'low_mpps'")):
            self.refuse(data, words)

    def test_three_of_a_kind_and_pairs_that_are_not_compared(self):
        with tempfile.TemporaryDirectory() as folder:
            a, b, c, paper, more = measurements.write(folder, a=usual(), b=usual(), c=usual(),
                                                      p=measurements.PAPER, q=measurements.PAPER)
            for files, words in (([a, b, c], "a third file"), ([a, b, paper], "no others"),
                                 ([paper, more], "only runs of scripts/throughput")):
                with self.assertRaisesRegex(inputs.BadInput, words):
                    report.make(files)


class Marks(html.parser.HTMLParser):
    """Collects the elements of a page that the tests inspect."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.values, self.words, self.attributes = [], [], "", []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        given = dict(attrs)
        if "data-value" in given:
            self.values.append((given.get("data-group") or float(given["data-x"]),
                                given["data-series"], float(given["data-value"])))

    def handle_data(self, data):
        self.words += data


def page_of(**files):
    with tempfile.TemporaryDirectory() as folder:
        return report.make(measurements.write(folder, **files))[0]


EVERYTHING = {"t": usual(), "g": measurements.GROWTH, "p": measurements.PAPER,
              "c": measurements.CURVES, "z": measurements.ZERO_LOSS}


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.page = page_of(**EVERYTHING)
        cls.marks = Marks(cls.page)

    def test_pictures_hold_the_figures(self):
        found = set(self.marks.values)
        for row in decision.ours(EVERYTHING["t"]["rows"]):
            for spread in ("cycles_spread", "mpps_spread"):
                self.assertIn((row["traffic"], row["iface"], row[spread]["value"]), found)
        for point in ((16.0, "packetized", 11.0), (1048576.0, "streaming", 32.5),  # The second of 5.
                      (0.5, "Wave, polling", 20.25), (1000.0, "Wave, polling", 2.5),
                      (90.0, "streaming p99", 40.5), (90.0, "paper's model", 30.0)):
            self.assertIn(point, found)

    def test_nothing_comes_from_elsewhere(self):
        for name, value in self.marks.attributes:
            self.assertNotIn(name, ("src", "href", "srcset", "action"), value)
        self.assertNotRegex(self.page, r"url\(|@import|https?:")
        self.assertIn("default-src 'none'", self.page.replace("&#x27;", "'"))
        self.assertLess(len(self.page), 3_000_000)

    def test_simulated_figures_are_marked_wherever_they_stand(self):
        papers = self.page.split('id="papers-and-simulation"')[1].split("</section>")[0]
        self.assertEqual(papers.count('class="badge measured"'), 0)
        # The warning, the table and four pictures each have a badge.
        self.assertEqual(papers.count('class="badge simulated"'), 6)
        curves = self.page.split('id="curves"')[1].split("</section>")[0]
        self.assertIn("dashed: simulated in virtual time", curves)
        self.assertIn("</span>paper&#x27;s model (simulated)</li>", curves)
        self.assertRegex(curves, r'<polyline class="c\d simulated"')
        self.assertIn("paper&#x27;s model (simulated): 90", curves)
        self.assertEqual(curves.count('class="badge measured"'), 0)
        for part in self.page.split('<section id="')[1:]:
            if not part.startswith(("papers", "curves")):
                self.assertNotIn("badge simulated", part)

    def test_the_decision_stands_first(self):
        self.assertLess(self.page.index('id="decision"'), self.page.index('id="applications"'))
        self.assertLess(self.page.index('id="decision"'), self.page.index("Targets of this project"))
        first = self.page.index('class="sentence"')
        self.assertLess(first, self.page.index("<table"))
        self.assertIn("of 2 workloads: bilateral in 1, streaming or bilateral in 1", self.marks.words)
        self.assertIn("packetized 50.5, 5.00x (5.00…5.00)", self.marks.words)

    def test_a_refused_zero_loss_rate_shows_no_figure(self):
        self.assertIn("9.750…10.000", self.marks.words)
        self.assertIn("the generator was the limit", self.marks.words)
        self.assertNotIn("99.000", self.marks.words)

    def test_text_of_files_is_text(self):
        evil = "</script><script>alert(1)</script><img src=x onerror=y>\"'"
        run = throughput(*samples("packetized", 20.0, traffic=evil),
                         *samples("bilateral", 10.0, traffic=evil), cpu=evil, git=evil)
        marks = Marks(page_of(t=run))
        self.assertNotIn("img", marks.tags)
        self.assertEqual(marks.tags.count("script"), 1)
        self.assertIn(evil, marks.words)

    def test_a_run_that_was_stopped_and_files_of_other_builds_say_so(self):
        growth = copy.deepcopy(measurements.GROWTH)
        growth["manifest"]["git"] = "fedcba98"
        words = Marks(page_of(t=throughput(*samples("streaming", 5.0), stopped="interrupted"),
                              g=growth)).words
        self.assertIn("ended early (interrupted)", words)
        self.assertIn("growth were measured on another build", words)

    def test_without_rows_there_is_no_decision(self):
        words = Marks(page_of(c=measurements.CURVES)).words
        self.assertIn("there is no decision", words)

    def test_whiskers_end_within_the_picture_wherever_the_best_sample_is(self):
        for ends in ((15.0, 3.0), (3.0, 15.0)):
            mark = {"value": 5.0, "ends": ends, "hover": "", "doubt": False}
            picture = pictures.bars("t", "x", "y", ["64"], ["a"], {("64", "a"): mark},
                                    ("measured", ""), "doubtful")
            [(y1, y2)] = re.findall(r'class="whisker".* y1="([-\d.]+)" y2="([-\d.]+)"', picture)
            # The whisker ranges from 3 to 15, where the axis ends. It therefore extends from a
            # fifth of the height to the top.
            self.assertEqual(min(float(y1), float(y2)), pictures.TOP)
            bottom = pictures.HEIGHT - pictures.BOTTOM
            self.assertAlmostEqual(max(float(y1), float(y2)),
                                   bottom - (bottom - pictures.TOP) / 5, delta=0.06)

    def test_axes_lines_on_bars_and_pale_bars_are_explained_in_place(self):
        for doubt in (False, True):
            mark = {"value": 5.0, "ends": (4.0, 6.0), "hover": "", "doubt": doubt}
            picture = pictures.bars("t", "frame size", "cycles", ["64"], ["a"], {("64", "a"): mark},
                                    ("measured", ""), "no hugepages")
            self.assertIn(">frame size</text>", picture)
            self.assertIn("Line on a bar: the range of the samples", picture)
            self.assertEqual("Pale, dashed: no hugepages" in picture, doubt)

    def test_ticks_are_round(self):
        for highest, ticks in ((1, [0, .2, .4, .6, .8, 1]), (47.0, [0, 10, 20, 30, 40, 50]),
                               (0, [0, 1]), (1001, [0, 500, 1000, 1500])):
            self.assertEqual([round(tick, 9) for tick in pictures.nice_steps(highest)], ticks)
        self.assertEqual(pictures.decades(16, 1048576), [10.0 ** n for n in range(1, 8)])
        self.assertEqual(pictures.decades(10, 10), [10.0, 100.0])


class CommandLine(unittest.TestCase):
    def run_report(self, *arguments):
        return subprocess.run([SCRIPTS / "report", *arguments], capture_output=True, text=True,
                              check=False)

    def test_two_runs_are_compared_and_what_changed_is_printed(self):
        with tempfile.TemporaryDirectory() as folder:
            old, new = measurements.write(folder, old=usual(), new=usual(1.2))
            place = f"{folder}/page.html"
            done = self.run_report(old, new, f"--page={place}")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("6 of 14 figures changed beyond noise", done.stdout)
            self.assertEqual(done.stdout.splitlines()[-1], f"written: {place}")
            words = Marks(pathlib.Path(place).read_text(encoding="utf-8")).words
            self.assertIn("What changed: throughput", words)
            self.assertEqual(sorted(p.name for p in pathlib.Path(folder).iterdir()),
                             ["new.json", "old.json", "page.html"])

    def test_bad_arguments_end_with_2_and_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            [good] = measurements.write(folder, good=usual())
            wide = pathlib.Path(folder, "wide.json")
            wide.write_text(json.dumps(measurements.CURVES).replace("40.5", "1e300"), "utf-8")
            half = pathlib.Path(folder, "half.json")
            half.write_text(json.dumps(measurements.CURVES).replace("64 bytes", "\\ud800"), "utf-8")
            curves = copy.deepcopy(measurements.CURVES)
            curves["curves"][0]["name"] = "a\nb\x1b[2J"
            curves["curves"][0]["series"][0]["points"] = [[1]]
            [escapes] = measurements.write(folder, escapes=curves)
            before = set(pathlib.Path(folder).parent.glob(f"{pathlib.Path(folder).name}*"))
            for arguments, words in ((["/none.json"], "/none.json: No such file"),
                                     ([folder], "Is a directory"),
                                     ([good, f"--page={folder}"], "--page="),
                                     ([str(wide)], "not between 1e-30 and 1e+30"),
                                     ([str(half)], "incomplete character"),
                                     ([escapes], "a?b?[2J, streaming p99, point [1] is not"),
                                     (["--pages=x"], "--pages")):
                done = self.run_report(*arguments)
                self.assertEqual(done.returncode, 2, arguments)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertIn(words, done.stderr)
            self.assertEqual(
                set(pathlib.Path(folder).parent.glob(f"{pathlib.Path(folder).name}*")), before)


class Hostile(unittest.TestCase):
    VALUES = [None, True, -1, 0, 2 ** 63, 10 ** 400, 1e308, 5e-324, float("nan"), float("inf"), "",
              "x", "\x1b[2J\n", "\u0661", [], {}, "9" * 400, "\ud800", "echo"]

    def places(self, thing, path=()):
        items = thing.items() if isinstance(thing, dict) else \
            enumerate(thing) if isinstance(thing, list) else ()
        for key, item in items:
            yield (*path, key)
            yield from self.places(item, (*path, key))

    def test_files_that_are_bent_anywhere_make_a_page_or_one_line(self):
        whole = {name: (data, list(self.places(data))) for name, data in EVERYTHING.items()}
        refused = 0
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(300):
                dice = random.Random(seed)
                name = dice.choice(list(whole))
                data = copy.deepcopy(whole[name][0])
                *path, last = dice.choice(whole[name][1])
                thing = functools.reduce(lambda inner, key: inner[key], path, data)
                if dice.random() < 0.2:
                    del thing[last]
                else:
                    thing[last] = dice.choice(self.VALUES)
                try:
                    report.make(measurements.write(folder, bent=data))[0].encode()
                except inputs.BadInput:
                    refused += 1
        self.assertGreater(refused, 50)


if __name__ == "__main__":
    unittest.main()
