#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""report_browser_test.py SCREENSHOTS: the page of scripts/report in a headless Chromium: no errors,
no requests, pictures with the numbers of the JSON, sorting, light, dark and print. Stores
screenshots in a folder."""
import pathlib
import sys
import tempfile
import unittest

import chromium
import measurements

import decision
import report

SHOTS = pathlib.Path(sys.argv.pop())
FILES = {"t": measurements.usual(), "g": measurements.GROWTH, "p": measurements.PAPER,
         "c": measurements.CURVES, "z": measurements.ZERO_LOSS}
MARKS = """[...document.querySelectorAll("svg .mark")].map(mark => {
  const boxes = [...mark.children].slice(1).map(part => part.getBoundingClientRect());
  const box = boxes[0];
  const svg = mark.ownerSVGElement.getBoundingClientRect();
  return {series: mark.dataset.series, group: mark.dataset.group, value: Number(mark.dataset.value),
          x: Number(mark.dataset.x), hover: mark.querySelector("title").textContent,
          title: mark.closest("figure").querySelector("figcaption").firstChild.textContent.trim(),
          height: box.height,
          inside: boxes.every(one => one.left >= svg.left && one.right <= svg.right + 1 &&
                                     one.top >= svg.top && one.bottom <= svg.bottom)}})"""
COLUMN = """[...document.querySelectorAll("#applications tbody tr")].map(
  row => row.cells[{0}].dataset.order)"""
CLICK = """document.querySelectorAll("#applications th button")[{0}].click()"""


@unittest.skipUnless(chromium.PROGRAM, "chromium is not installed: scripts/setup --all installs it")
class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        SHOTS.mkdir(parents=True, exist_ok=True)
        cls.folder = tempfile.TemporaryDirectory()
        cls.place = f"{cls.folder.name}/page.html"
        report.write_page(measurements.write(cls.folder.name, **FILES), cls.place)
        cls.browser = chromium.Chromium()
        cls.browser.open(cls.place)

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.folder.cleanup()

    def tearDown(self):
        self.browser.evaluate("0")  # Executing any command also reads the pending events.
        self.assertEqual(self.browser.errors(), [])
        self.assertEqual({url.split("#")[0] for url in self.browser.requests()},
                         {pathlib.Path(self.place).resolve().as_uri()})

    def marks(self):
        return self.browser.evaluate(MARKS)

    def test_pictures_hold_the_numbers_of_the_json(self):
        marks = self.marks()
        bars = {(mark["title"], mark["group"], mark["series"]): mark for mark in marks
                if mark.get("group")}
        for row in decision.ours(FILES["t"]["rows"]):
            for what, name in (("worker cycles a packet", "cycles_spread"),
                               ("million packets a second", "mpps_spread")):
                mark = bars["echo increment: " + what, row["traffic"], row["iface"]]
                self.assertEqual(mark["value"], row[name]["value"])
                self.assertIn(f"{row[name]['value']:.2f}", mark["hover"])
        points = {(mark["series"], mark["x"]): mark["value"] for mark in marks if not mark.get("group")}
        self.assertEqual(points["streaming p99", 90], 40.5)
        self.assertTrue(all(mark["inside"] for mark in marks))

    def test_bars_are_as_high_as_their_values(self):
        bars = [mark for mark in self.marks() if mark["title"].endswith("worker cycles a packet")]
        self.assertEqual(len(bars), 6)
        per_unit = [mark["height"] / mark["value"] for mark in bars]
        self.assertLess(max(per_unit) / min(per_unit), 1.02)

    def test_a_click_sorts_a_table_and_another_one_turns_it(self):
        self.browser.evaluate(CLICK.format(5))
        up = list(map(float, self.browser.evaluate(COLUMN.format(5))))
        self.assertEqual(len(up), 6)
        self.assertEqual(up, sorted(up))
        self.browser.evaluate(CLICK.format(5))
        self.assertEqual(list(map(float, self.browser.evaluate(COLUMN.format(5)))), up[::-1])
        self.browser.evaluate(CLICK.format(2))
        names = self.browser.evaluate(COLUMN.format(2))
        self.assertEqual(names, sorted(names))

    def test_light_dark_and_print(self):
        ground = "getComputedStyle(document.body).backgroundColor"
        colours = {}
        for scheme in ("light", "dark"):
            self.browser.emulate(scheme)
            colours[scheme] = self.browser.evaluate(ground)
            self.browser.screenshot(SHOTS / f"report-{scheme}.png")
            self.assertGreater((SHOTS / f"report-{scheme}.png").stat().st_size, 20_000)
        self.assertEqual(colours["light"], "rgb(255, 255, 255)")
        self.assertNotEqual(colours["dark"], colours["light"])
        self.browser.emulate("dark", "print")
        self.assertEqual(self.browser.evaluate(ground), "rgb(255, 255, 255)")
        self.browser.emulate()
        self.assertTrue(self.browser.pdf().startswith(b"%PDF"))

    def test_nothing_is_wider_than_a_small_screen(self):
        self.browser.call("Emulation.setDeviceMetricsOverride", width=390, height=800,
                          deviceScaleFactor=1, mobile=True)
        self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), 390)
        self.browser.call("Emulation.clearDeviceMetricsOverride")

    def test_tables_are_visible_to_their_last_column_at_1280_and_in_print(self):
        place = f"{self.folder.name}/busy.html"
        busy = sum(measurements.busy_host().values(), [])
        peer = measurements.samples("net_memif", 100.0, app="testpmd", mode="macswap", peer=True)
        report.write_page(measurements.write(
            self.folder.name, busy=measurements.throughput(*busy, *peer)), place)
        right = """Math.max(...[...document.querySelectorAll("table")].map(
          table => table.getBoundingClientRect().right))"""
        with chromium.Chromium() as other:
            other.open(place)
            # A4 with margins of 1 cm is 718 pixels wide.
            for width, media in ((1280, ""), (718, "print")):
                other.call("Emulation.setDeviceMetricsOverride", width=width, height=900,
                           deviceScaleFactor=1, mobile=False)
                other.emulate("light", media)
                self.assertLessEqual(other.evaluate(right), width, media)
                self.assertLessEqual(other.evaluate("document.documentElement.scrollWidth"), width)
                self.assertEqual(other.evaluate("""[...document.querySelectorAll(".scroll")].filter(
                  part => part.scrollWidth > part.clientWidth).length"""), 0)
                other.screenshot(SHOTS / f"busy-{width}.png")

    def test_an_error_and_a_request_would_be_seen(self):
        with chromium.Chromium() as other:
            bad = pathlib.Path(self.folder.name) / "bad.html"
            bad.write_text("<script>nothing()</script><img src='http://127.0.0.1:9/x.png'>",
                           encoding="utf-8")
            other.open(bad)
            self.assertTrue(other.errors())
            self.assertEqual(len(other.requests()), 2)

    def test_two_runs(self):
        old, new = measurements.write(self.folder.name, old=measurements.usual(),
                                      new=measurements.usual(1.2))
        place = f"{self.folder.name}/two.html"
        report.write_page([old, new], place)
        with chromium.Chromium() as other:
            other.open(place)
            self.assertEqual(other.evaluate("document.querySelectorAll('tbody')[0].rows.length"), 6)
            other.screenshot(SHOTS / "comparison.png")
            self.assertEqual(other.errors(), [])


if __name__ == "__main__":
    unittest.main()
