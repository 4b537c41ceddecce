#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""sluice-top without a terminal: processing of replies, including hostile ones; rates, pages,
sorting, keys, and lines that fit. Expected values are derived by hand from the replies."""
import json
import os
import pathlib
import random
import socket
import subprocess
import sys
import tempfile
import types
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2] / "apps" / "top"
sys.path.insert(0, str(TOP))
sys.dont_write_bytecode = True
import answers
import figures
import pages
import sampler
import screen
import view
from app_pages import APP_PAGES, ask_page

from fake_app import port

ESCAPE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\n\r\t"


class Answers(unittest.TestCase):
    def test_only_printable_ascii_of_bounded_length_is_left(self):
        for raw, cleaned in ((ESCAPE, "?]0;owned??[2J?31m????"), ("a~ b", "a~ b"), ("\x7f", "?"),
                             ("x" * 1000, "x" * 200), (True, True), (None, None), (1.5, 1.5),
                             (float("inf"), None), (float("nan"), None), (10 ** 30, None),
                             (-(10 ** 30), None), (1 << 64, 1 << 64),
                             ({"\x1b": [ESCAPE]}, {"?": ["?]0;owned??[2J?31m????"]}),
                             ([[[[["deep"]]]]], [[[[None]]]])):
            self.assertEqual(answers.clean(raw), cleaned, repr(raw))
        self.assertEqual(len(answers.clean(list(range(10000)))), answers.MAX_ITEMS)
        self.assertEqual(len(answers.clean({str(n): n for n in range(10000)})), answers.MAX_ITEMS)

    def test_what_is_no_json_is_a_bad_answer(self):
        for message in (b"", b"\xff\xfe", b"{", b"[" * 100_000, b'{"a":' * 50_000,
                        b"1" * 5000):
            with self.assertRaises(answers.BadAnswer, msg=message[:20]):
                answers.read(message)

    def test_numbers_that_came_as_text_are_numbers(self):
        for raw, value in (("0.25", 0.25), ("1e3", 1000.0), (7, 7), ("x", None), (True, None),
                           ([], None), ("nan", None), ("inf", None), (None, None)):
            self.assertEqual(answers.number(raw), value, raw)


def snapshot(time_s=0.0, ports=None, sluice=None, **fields):
    return sampler.Snapshot(**{"time_s": time_s, "pid": 1, "version": "", "ports": ports or {},
                               "sluice": sluice or {}, "map": [], "lcores": {}, "pages": {},
                               "choices": {}} | fields)


class Figures(unittest.TestCase):
    def test_rates(self):
        for before, now, seconds, found in ((10, 30, 2.0, 10.0), (30, 10, 2.0, None),
                                            (None, 10, 2.0, None), (10, None, 2.0, None),
                                            (10, 30, 0, None), (10, 30, None, None),
                                            ("10", "30", 2.0, 10.0), ([], 3, 1.0, None)):
            self.assertEqual(figures.rate(before, now, seconds), found)

    def test_layer_1_gigabits(self):
        # 60 bytes in memory are 64 bytes on the wire; preamble and gap add 20 bytes, for a total of
        # 84.
        self.assertAlmostEqual(figures.gigabits(1e6, 60e6), 84 * 8 * 1e6 / 1e9)
        self.assertIsNone(figures.gigabits(None, 1))

    def test_the_busy_share_is_of_workers_or_else_of_lcores(self):
        def pair(**now):
            before = {name: ({key: 0 for key in value} if name == "sluice" else
                             {key: [0] * len(each) for key, each in value.items()})
                      for name, value in now.items()}
            return figures.Pair(snapshot(0, **before), snapshot(1, **now))
        self.assertEqual(figures.busy_share(pair(sluice={"busy_cycles": 25, "total_cycles": 100})),
                         0.25)
        self.assertEqual(figures.busy_share(pair(lcores={"busy_cycles": [10, 30],
                                                         "total_cycles": [100, 100]})), 0.2)
        self.assertIsNone(figures.busy_share(pair(sluice={"rx_pkts": 5})))
        self.assertIsNone(figures.busy_share(figures.Pair(None, snapshot(1))))

    def test_drops_by_reason_and_by_who_counts_them(self):
        sluice = {"rx_pkts": 9, "drop_malformed": 4, "tx_full": 2, "nic_drop_wire_lost": 3,
                  "nic_dropped_pkts": 3, "rx_nombuf": 0, "uptime_ms": 5, "rx_desync_flits": 8}
        ports = {0: {"stats": port(100, missed=7), "xstats": {"rx_q0_errors": 5,
                                                              "rx_good_packets": 100}}}
        found = figures.drops(figures.Pair(None, snapshot(0, ports, sluice)))
        self.assertEqual({(name, who): total for name, who, total, _ in found}, {
            ("malformed", "app"): 4, ("tx_full", "queue"): 2, ("wire_lost", "NIC"): 3,
            ("imissed", "port 0"): 7, ("rx_q0_errors", "port 0"): 5})

    def test_queues_of_a_port_and_how_even_they_are(self):
        def at(time_s, packets):
            return snapshot(time_s, {0: {"stats": port(packets, queues=(3, 1, 0, 0)),
                                         "info": {"nb_rx_queues": 3}}})
        pair = figures.Pair(at(0, 0), at(2, 400))
        self.assertEqual(figures.queues(pair, 0), [(0, 150.0, 150.0, 300), (1, 50.0, 50.0, 100),
                                                   (2, 0.0, 0.0, 0)])
        # The ratio is 150 to the mean, which is 200 / 3.
        self.assertEqual(figures.imbalance([150.0, 50.0, 0.0]), 2.25)
        self.assertIsNone(figures.imbalance([0.0, None]))

    def test_latencies_of_answers_and_of_extended_statistics(self):
        found = figures.latencies(snapshot(
            0, {0: {"xstats": {"wire_client_get_p50_ns": 900, "wire_client_get_p99_ns": 4000,
                               "rx_good_packets": 1}}},
            pages={"/sluice/sched/latency": {"short": {"count": 3, "p50_ns": 2000, "le_2047": 2,
                                                       "le_1023": 1, "le_x": 9}},
                   "/sluice/pktgen/latency": {"a_b": {"name": "a.b", "p50_ns": "7000"}},
                   "/sluice/kv/stats": {"store": {"items": 5}}}))
        self.assertEqual(found, {
            "sched short": {"count": 3, "p50": 2000, "buckets": [(1023, 1), (2047, 2)]},
            "pktgen a.b": {"p50": 7000},
            "port 0 wire_client_get": {"p50": 900, "p99": 4000}})


class Pages(unittest.TestCase):
    def test_cells(self):
        for kind, value, shown in (("count", 1234567, "1.23 M"), ("count", 12, "12"),
                                   ("count", None, "-"), ("per_s", 0.5, "0.50"),
                                   ("share", 0.25, "25.00 %"), ("us", 1500, "1.5"),
                                   ("count", 999_999, "1.00 M"), ("count", 999_994, "999.99 k"),
                                   ("us", 99_999_940, "99,999.9"), ("us", 10 ** 10, "10.00 M"),
                                   ("us", None, "-"),
                                   ("bar", 0.5, "[##########..........] 50 %"), ("bar", None, "-"),
                                   ("percent", 40, "40 %"), ("gbit_per_s", 1.5, "1.500"),
                                   ("text", None, "-"), ("count", 1e15, "1000.00 T")):
            self.assertEqual(pages.SHOWN[kind](value), shown)
        self.assertEqual(pages.sparkline([0, 5, 10, None]), " =@ ")

    def test_a_histogram_has_a_bar_for_each_bucket_between_the_ends(self):
        lines = pages.histogram("x", [(1, 0), (1023, 1), (2047, 0), (4095, 3), (8191, 0)])
        self.assertEqual(len(lines), 2 + 3)
        self.assertTrue(lines[2].endswith("25 %") and lines[4].endswith("75 %"), lines)
        self.assertEqual(pages.histogram("x", []), [])

    def page(self, title, before, now, about=("", [])):
        page = next(page for page in APP_PAGES if page.title == title)
        pair = figures.Pair(*(snapshot(time_s, pages={page.command: answer},
                                       choices={page.command: about})
                              for time_s, answer in ((0.0, before), (2.0, now))))
        return pages.make(title, pair, [])

    def test_vips_have_rates(self):
        vip = {"address": "192.0.2.1/32", "port": 80, "protocol": "tcp", "encapsulation": "ip",
               "failed_open": "false", "pkts": 0, "bytes": 0, "backends": 2}
        table = self.page("VIPs", {"web": vip}, {"web": vip | {"pkts": 1000, "bytes": 250_000_000}})
        self.assertEqual(table.rows, [["web", "192.0.2.1/32", 80, "tcp", "ip", 2, 500.0, 1.0,
                                       "false"]])

    def test_filters_are_entries_without_names(self):
        table = self.page("Filters", {"0": {"name": "ssh", "events": 4}},
                          {"0": {"name": "ssh", "events": 10}})
        self.assertEqual(table.rows, [["ssh", 10, 3.0]])

    def test_policies_are_a_list(self):
        table = self.page("Policies", [], [{"policy": "fifo", "mode": "wave", "busy": "0.5",
                                            "requests_per_s": "1000.5", "decisions_refused": 2}])
        self.assertEqual(table.rows, [["fifo", "wave", 1000.5, 0.5, 2, None]])

    def test_a_page_of_counters_has_all_numbers_and_the_texts_above(self):
        table = self.page("Policy", {"policy": "fifo", "short": {"count": 1}},
                          {"policy": "fifo", "short": {"count": 5}, "busy": "0.25"})
        self.assertEqual(table.rows, [["short.count", 5, 2.0], ["busy", 0.25, None]])
        self.assertEqual(table.head, ["policy: fifo"])

    def test_rates_are_unknown_when_the_page_is_about_something_else_now(self):
        entry = {"state": "up", "pkts": 10, "bytes": 10}
        page = "/sluice/maglev/backends"
        pair = figures.Pair(snapshot(0, pages={page: {"b": entry}}, choices={page: ("one", [])}),
                            snapshot(1, pages={page: {"b": entry}}, choices={page: ("two", [])}))
        self.assertIsNone(pages.make("Backends", pair, []).rows[0][3])

    def test_entries_whose_keys_are_not_their_names_have_those(self):
        answer = {"tcp_192_0_2_1_80": {"name": "tcp 192.0.2.1:80", "pkts": 10}}
        later = {"tcp_192_0_2_1_80": {"name": "tcp 192.0.2.1:80", "pkts": 20}}
        row = self.page("VIPs", answer, later).rows[0]
        self.assertEqual((row[0], row[6]), ("tcp 192.0.2.1:80", 5.0))
        page = next(page for page in APP_PAGES if page.title == "Backends")
        asked = []

        def ask(command, parameters=""):
            asked.append(parameters)
            return answer if command == page.about else {}
        ask_page(ask, page, "")
        self.assertEqual(asked, ["", "tcp 192.0.2.1:80"])

    def test_an_error_is_shown_as_it_is(self):
        self.assertEqual(self.page("Keys", {}, {"error": "no epoch has ended yet"}).head,
                         ["no epoch has ended yet"])

    def test_many_backends_are_asked_for_piece_by_piece(self):
        page = next(page for page in APP_PAGES if page.title == "Backends")
        names = [f"b{n}" for n in range(170)]
        asked = []

        def ask(command, parameters=""):
            asked.append((command, parameters))
            if command == page.about:
                return {"one": {}, "two": {}}
            first = int(parameters.split(",")[1]) if "," in parameters else 0
            return {name: {} for name in names[first:first + 80]}
        answer, about = ask_page(ask, page, "two")
        self.assertEqual((list(answer), about), (names, ("two", ["one", "two"])))
        self.assertEqual([parameters for _, parameters in asked], ["", "two", "two,80", "two,160"])
        self.assertEqual(ask_page(ask, page, "gone")[1][0], "one")

    def test_nothing_that_changes_an_application_is_ever_asked(self):
        commands = {page.command for page in APP_PAGES}
        for word in ("reload", "drain", "restore", "plan"):
            self.assertFalse([command for command in commands if word in command])


class View(unittest.TestCase):
    TABLE = pages.Table((("name", "text"), ("rate", "per_s")), [["b", 1.0], ["a", None], ["c", 3.0]])

    def test_keys(self):
        now = snapshot(0, pages={"/sluice/maglev/backends": {}},
                       choices={"/sluice/maglev/backends": ("one", ["one", "two"])})
        for keys, state in ((["q"], {"quits": True}), (["2"], {"page": "Drops"}),
                            (["right", "right"], {"page": "Queues"}), (["left"], {"page": "Backends"}),
                            (["tab"], {"page": "Drops"}), (["9"], {"page": "Overview"}),
                            (["p"], {"paused": True}), (["p", " "], {"paused": False}),
                            (["+"], {"period_s": 0.5}), (["-", "-"], {"period_s": 5.0}),
                            (["+"] * 9, {"period_s": 0.2}), (["down", "down", "up"], {"scroll": 1}),
                            (["up"], {"scroll": 0}), (["page down", "home"], {"scroll": 0}),
                            (["h"], {"screen": "help"}), (["?", "x"], {"screen": "pages"}),
                            (["a"], {"screen": "apps"}), (["a", "escape"], {"screen": "pages"}),
                            (["a", "down", "down", "enter"], {"chosen": "y", "screen": "pages"}),
                            (["6", "v"], {"wishes": {"/sluice/maglev/backends": "two"}}),
                            (["2", "v"], {"wishes": {}}), ([""], {"page": "Overview"}),
                            (["s"], {"sort": {"Overview": (1, True)}}),
                            (["s", "r"], {"sort": {"Overview": (1, False)}}),
                            (["s", "s"], {"sort": {"Overview": (0, False)}}),
                            (["S"], {"sort": {"Overview": (1, True)}})):
            shown = view.View()
            for key in keys:
                shown.press(key, now, self.TABLE, ["x", "y"])
            for name, value in state.items():
                self.assertEqual(getattr(shown, name), value, keys)

    def test_keys_do_nothing_bad_before_the_first_answers(self):
        for key in ("s", "v", "down", "enter", "9", "r", "right"):
            shown = view.View()
            if key == "enter":
                shown.press("a")
            shown.press(key)

    def test_unknown_values_are_last_whichever_way(self):
        for order, names in (((1, False), "bca"), ((1, True), "cba"), ((0, False), "abc"),
                             ((0, True), "cba")):
            self.assertEqual("".join(row[0] for row in view.sorted_rows(self.TABLE, *order)), names)


def sampled(now, before=None, status="live"):
    return types.SimpleNamespace(target="prefix", now=now, before=before, status=status, apps=[])


class Screen(unittest.TestCase):
    def rendered(self, shown, source, width=80, height=24):
        table = pages.make(shown.page, figures.Pair(source.before, source.now), shown.history)
        return screen.render(shown, source, table, width, height)

    def test_whatever_is_shown_fits(self):
        ports = {0: {"stats": port(10 ** 15), "xstats": {"n" * 190 + str(i): i for i in range(99)}}}
        source = sampled(snapshot(0, ports, {"drop_" + "x" * 180: 5}))
        for width, height in ((80, 24), (132, 50), (40, 10), (20, 5), (5, 3), (1, 1)):
            for page in pages.COMMON:
                lines = self.rendered(view.View(page), source, width, height)
                self.assertEqual(len(lines), height, (page, width))
                self.assertEqual({len(text) for text, _ in lines}, {width}, (page, width))

    def test_every_page_has_its_columns_whole_in_80_cells(self):
        # A name with 8 characters, short texts, and the widest value of every other kind.
        widest = {"text": "text", "count": 999.99e6, "per_s": 999.99e6, "number": 999.99e6,
                  "gbit_per_s": 400.0, "share": 1.0, "percent": 100, "bar": 1.0, "us": 10 ** 10}
        pair = figures.Pair(None, snapshot(0, {0: {"stats": port(1)}}, {"drop_malformed": 1}))
        tables = {title: pages.make(title, pair, [1.0] * view.HISTORY) for title in
                  [*pages.COMMON, *(page.title for page in APP_PAGES)]}
        for title, table in tables.items():
            full = table._replace(rows=[["n" * 8, *(widest[kind] for _, kind in table.columns[1:])]])
            for column in range(len(table.columns)):
                head, rows = screen.table_lines(full, (column, True), 80)
                for name, _ in table.columns:
                    self.assertIn(name, head)
                for line in (head, *rows, *table.head, *table.foot):
                    self.assertLessEqual(len(line), 80, (title, line))

    def test_figures_stay_whole_where_names_are_cut(self):
        source = sampled(snapshot(0, {0: {"xstats": {"n" * 100: 123456}}}))
        lines = [text for text, _ in self.rendered(view.View("Counters"), source)]
        self.assertTrue(any("123.46 k" in line for line in lines), lines)

    def test_scrolling_ends_at_the_last_line(self):
        source = sampled(snapshot(0, {0: {"xstats": {f"n{i:02}": i for i in range(50)}}}))
        shown = view.View("Counters")
        shown.sort["Counters"] = (1, False)
        shown.scroll = 1000
        lines = [text for text, _ in self.rendered(shown, source)]
        self.assertIn("n49", lines[-2])
        self.assertEqual(shown.scroll, 50 - (24 - 3 - 1))

    def test_an_application_that_has_ended_is_named_and_its_figures_are_dimmed(self):
        lines = self.rendered(view.View(), sampled(snapshot(0, {0: {"stats": port(5)}}),
                                                   status="has ended; waiting"))
        self.assertIn("has ended; waiting", lines[0][0])
        self.assertEqual({style for _, style in lines[2:8]}, {"quiet"})


class Hostile(unittest.TestCase):
    def arbitrary(self, dice, depth=0):
        kind = dice.randrange(9 if depth < 3 else 6)
        if kind == 0:
            return dice.choice([ESCAPE, "", "0.5", "p50_ns", "error", "x" * 500])
        if kind == 1:
            return dice.choice([0, -1, 2 ** 63, 2 ** 64, 10 ** 40, True, None])
        if kind == 2:
            return dice.choice([0.5, float("nan"), float("inf"), -1e300])
        if kind < 6:
            return dice.randrange(1000)
        if kind == 6:
            return [self.arbitrary(dice, depth + 1) for _ in range(dice.randrange(5))]
        names = ["ipackets", "q_ipackets", "nb_rx_queues", "busy_cycles", "total_cycles", "uptime_ms",
                 "name", "events", "pkts", "bytes", "p50_ns", "le_5", "le_" + "9" * 30, "a_p99_ns",
                 "status", "error", "policy", "key", ESCAPE]
        return {dice.choice(names): self.arbitrary(dice, depth + 1) for _ in range(dice.randrange(9))}

    def test_arbitrary_answers_never_fail_nor_reach_the_screen_raw(self):
        known = ["/ethdev/info", "/ethdev/stats", "/ethdev/xstats", "/ethdev/link_status",
                 "/sluice/stats", "/sluice/map", "/eal/lcore/usage", "/sluice/sched/latency",
                 *(page.command for page in APP_PAGES)]
        for seed in range(150):
            dice = random.Random(seed)

            def ask(command, _parameters="", dice=dice):
                if command == "/" and dice.random() < 0.9:
                    return known
                if command == "/ethdev/list" and dice.random() < 0.9:
                    return [0, 1]
                return answers.read(json.dumps(self.arbitrary(dice)).encode())
            connection = types.SimpleNamespace(ask=ask, info={"pid": self.arbitrary(dice, 3)})
            times = iter((1.0, 2.0))
            before, now = (sampler.take(connection, {}, lambda: next(times)) for _ in range(2))
            shown = view.View()
            for title in pages.titles(now):
                shown.turn(title)
                table = pages.make(title, figures.Pair(before, now), [1.0])
                for column in range(len(table.columns)):
                    shown.sort[title] = (column, dice.random() < 0.5)
                    lines = screen.render(shown, sampled(now, before), table, 80, 24)
                    for text, _ in lines:
                        self.assertRegex(text, r"^[ -~]{80}$", (seed, title))


class CommandLine(unittest.TestCase):
    def test_what_is_wrong_is_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            for code, arguments, said in (
                    (2, ["--period_s=nan"], "--period_s=nan: give 0.1 to 60"),
                    (2, ["--page=x\ny\x1b[2J"], "--page=x?y?[2J: give one of Overview, "),
                    (2, ["--once"], "no DPDK process"),
                    (1, ["--once", "--file-prefix=a\nb"], "a?b has ended"),
                    (2, ["--no\nsuch"], "unrecognized arguments: --no?such")):
                done = subprocess.run(
                    [sys.executable, TOP / "main.py", *arguments], text=True, check=False,
                    capture_output=True, env=os.environ | {"RUNTIME_DIRECTORY": folder})
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertIn(f"sluice-top: {said}", done.stderr)

    def test_closed_standard_streams_do_not_end_it(self):
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            for code, arguments in ((2, ""), (0, "--list")):
                with self.subTest(closed, arguments=arguments):
                    done = subprocess.run(
                        ["/bin/sh", "-c", f'exec "$0" "$1" {arguments} {closed}', sys.executable,
                         TOP / "main.py"], stdin=subprocess.DEVNULL, check=False,
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                    self.assertEqual(done.returncode, code, done.stderr)
                    self.assertNotIn(b"Traceback", done.stderr)

    def test_a_full_disk_is_one_line(self):
        with tempfile.TemporaryDirectory() as folder, \
                open("/dev/full", "w", encoding="utf-8") as full:
            os.mkdir(f"{folder}/dpdk")
            os.mkdir(f"{folder}/dpdk/one")
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(f"{folder}/dpdk/one/dpdk_telemetry.v2")
                done = subprocess.run(
                    [sys.executable, TOP / "main.py", "--list"], stdout=full, text=True,
                    stderr=subprocess.PIPE, check=False,
                    env=os.environ | {"RUNTIME_DIRECTORY": folder})
        self.assertEqual((done.returncode, done.stderr),
                         (1, "sluice-top: standard output: No space left on device\n"))


if __name__ == "__main__":
    unittest.main()
