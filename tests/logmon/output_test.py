#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""output_test.py SLUICE_LOGMON: the output of the program: results of --test_filter, lines,
minutes, alerts, metrics, telemetry, and one line about an invalid flag. Works without root and
without hugepages."""

import json
import os
import pathlib
import re
import unittest
import urllib.request

import log_lines
from logmon_run import EAL, PATIENCE_S, Folder, harness, say

DATE = r"\d{4}-\d\d-\d\dT\d\d:\d\d"

# A pattern, a line, and whether it matches, from CloudWatch Logs' documentation and examples.
GOLDEN = [
    ("Cloud watch", "Cloud logs watch", True),
    ('"Cloud watch"', "Cloud logs watch", False),
    ("ERROR ARGUMENTS", "[ERROR 400] BAD REQUEST", False),
    ("?ERROR ?ARGUMENTS", "[ERROR 400] BAD REQUEST", True),
    ("ERROR -ARGUMENTS", "[ERROR 400] BAD REQUEST", True),
    ("ERROR -ARGUMENTS", "[ERROR 419] MISSING ARGUMENTS", False),
    ('"#Cloud"', "#Cloud", True),
    ('"#cloud"', "#Cloud", False),
    ('"INTERNAL SERVER ERROR"', "[ERROR 500] INTERNAL SERVER", False),
    ("hello", '{"hello" : "world"}', True),
    ('""', "", True),
    (" ", "anything", True),
    ("", "anything", True),
    ("ERROR", "ERRORCODE", True),
    ("error", "ERROR", False),
    ("%AUTHORIZED%", "UNAUTHORIZED", True),
    ("{ $.sourceIPAddress != 123.123.* }", '{"sourceIPAddress": "123.123.1.1"}', False),
    ("{ $.sourceIPAddress != 123.123.* }", '{"sourceIPAddress": "123.124.1.1"}', True),
    ("{ $.sourceIPAddress != 123.123.* }", '{"other": 1}', False),
    ("{ $.a.b[0] = \"x*\" }", '{"a": {"b": ["xyz"]}}', True),
    ("{ $.a[*].b = \"x*\" }", '{"a": [{"b": 1}, {"b": "xyz"}]}', True),
    ("{ $.x IS NULL }", '{"x": null}', True),
    ("{ $.x NOT EXISTS }", '{"y": null}', True),
    ("{ $.x IS TRUE }", '{"x": true}', True),
    ("{ $.n > 1.5e2 }", '{"n": 151}', True),
    ("{ $.a = 1 || $.b = 1 && $.c = 1 }", '{"a": 1}', True),
    ("{ ($.a = 1 || $.b = 1) && $.c = 1 }", '{"a": 1}', False),
    ('[w1 != "ERROR" && w1 != WARN, w2]', "INFO x", True),
    ('[w1 != "ERROR" && w1 != WARN, w2]', "WARN x", False),
    ("[w1, w2]", "one two three", False),
    ("[w1, ...]", "one two three", True),
]

# Text that must not reach a terminal, and its JSON representation.
HOSTILE = [
    (b"ERROR \x1b[2J\x1b]0;title\x07 \x9b31m", "ERROR \x1b[2J\x1b]0;title\x07 \ufffd31m"),
    (b"ERROR \x00\x01\x08\x7f\t\x0b\x0c", "ERROR \x00\x01\x08\x7f\t\x0b\x0c"),
    (b"ERROR \xff\xfe \xc3", "ERROR \ufffd\ufffd \ufffd"),
    ("ERROR größe 日本 😀 \u202e\u2028".encode(), "ERROR größe 日本 😀 \u202e\u2028"),
    (b'ERROR "}\\n{"line": "', 'ERROR "}\\n{"line": "'),
]

ALERTS = {"filters": [
    {"name": "many", "pattern": "ERROR", "alert": {"threshold": 5, "window_s": 3600}},
    {"name": "few", "pattern": "ERROR", "alert": {"threshold": 6, "window_s": 3600}}]}


class TestFilter(unittest.TestCase):
    def test_cases_of_the_documentation(self):
        for (pattern, line, matches), (code, said, errors) in harness.for_each(
                GOLDEN, lambda case: say(f"--test_filter={case[0]}", text=case[1].encode() + b"\n")):
            with self.subTest(pattern=pattern, line=line):
                self.assertEqual((code, errors), (0, ""))
                self.assertEqual([match["eventMessage"] for match in json.loads(said)["matches"]],
                                 [line] * matches)

    def test_events_have_their_numbers_and_values(self):
        lines = b"[ERROR] 400 BAD REQUEST\r\n" * 2 + b"[INFO] 200 OK\n"
        _, said, _ = say("--test_filter=ERROR", text=lines)
        self.assertEqual([match["eventNumber"] for match in json.loads(said)["matches"]], [1, 2])
        _, said, _ = say("--test_filter=[level, status > 300, ...]", text=lines)
        match = json.loads(said)["matches"][1]
        self.assertEqual(match, {"eventNumber": 2, "eventMessage": "[ERROR] 400 BAD REQUEST",
                                 "extractedValues": {"$level": "ERROR", "$status": "400",
                                                     "$3": "BAD", "$4": "REQUEST"}})

    def test_fields_without_a_name_have_their_number(self):
        """Examples from the API reference of CloudWatch Logs, TestMetricFilter."""
        line = b'127.0.0.1 - frank [10/Oct/2000:13:25:15 -0700] "GET /index.html HTTP/1.0" 404 1534'
        fields = ["127.0.0.1", "-", "frank", "10/Oct/2000:13:25:15 -0700",
                  "GET /index.html HTTP/1.0", "404", "1534"]
        for pattern, names in (("[]", "1234567"), ("[..., size]", [*"123456", "size"]),
                               ("[..., status_code=4*, size]", [*"12345", "status_code", "size"]),
                               ("[..., request=*.html*, status_code=4*,]",
                                [*"1234", "request", "status_code", "7"]),
                               ("[ip, , user, ...]", ["ip", "2", "user", *"4567"])):
            with self.subTest(pattern):
                _, said, _ = say(f"--test_filter={pattern}", text=line + b"\n")
                self.assertEqual(json.loads(said)["matches"][0]["extractedValues"],
                                 {"$" + name: field for name, field in zip(names, fields)})

    def test_a_wrong_pattern_is_said_in_one_line(self):
        for pattern in ("#Cloud", "{", "{ $.x = }", "[a", "%(%", "%[%", '"open', "x" * 1025):
            with self.subTest(pattern):
                code, said, errors = say(f"--test_filter={pattern}", text=b"#Cloud {\n")
                self.assertEqual((code, said), (2, ""))
                self.assertEqual(len(errors.splitlines()), 1)
                self.assertIn("--test_filter", errors)


class Output(Folder):
    def read(self, name):
        text = (self.folder / name).read_bytes()
        self.assertRegex(text, rb"\A(?:[ -~]+\n)*\Z")
        return [json.loads(line) for line in text.splitlines()]

    def test_a_shown_line_is_one_line_of_printable_ascii(self):
        text = b"".join(line + b"\nnothing\n" for line, _ in HOSTILE)
        for log_as, source in (("syslog", "syslog 198.51.100.0"),
                               ("lines", "lines 198.51.100.0:1024"),
                               ("tcp", "tcp 198.51.100.0:1024")):
            with self.subTest(log_as):
                report = self.replay(text, "--filter=ERROR", f"--log_as={log_as}",
                                     "--log_sources=1", f"--lines={self.folder / log_as}")
                shown = self.read(log_as)
                self.assertEqual([one["line"] for one in shown], [seen for _, seen in HOSTILE])
                for one in shown:
                    self.assertRegex(one["time"], rf"^{DATE}:\d\d\.\d{{6}}Z$")
                    self.assertEqual((one["source"], one["filters"]), (source, ["ERROR"]))
                    self.assertEqual([one.get(name) for name in ("facility", "severity")],
                                     [1, 5] if log_as == "syslog" else [None, None])
                self.assertEqual(report["logmon"]["shown_lines"], len(HOSTILE))
                self.assertEqual(report["logmon"]["lost_lines"], 0)

    def test_lines_that_nobody_wants_are_neither_shown_nor_lost(self):
        report = self.replay(b"ERROR\n" * 20_000, "--filter=ERROR", "--log_as=lines")["logmon"]
        self.assertEqual(report["filters"][0]["events"], 20_000)
        self.assertEqual((report["shown_lines"], report["lost_lines"]), (0, 0))

    def test_only_lines_of_filters_with_show_are_shown(self):
        config = {"filters": [{"name": "a", "pattern": "one", "show": True},
                              {"name": "b", "pattern": "two"},
                              {"name": "c", "pattern": "one two", "show": True}]}
        self.replay(b"one\ntwo\none two\n", "--log_as=lines", "--log_sources=1",
                    f"--lines={self.folder / 'lines'}", config=config)
        self.assertEqual([(one["line"], one["filters"]) for one in self.read("lines")],
                         [("one", ["a"]), ("one two", ["a", "c"])])

    def test_minutes_add_up_to_what_was_counted(self):
        config = {"filters": [
            {"name": "errors", "pattern": "ERROR"},
            {"name": "none", "pattern": "nowhere", "metric": {"value": "1", "default": 7}},
            {"name": "failed", "pattern": "{ $.status >= 500 }",
             "metric": {"value": "$.latency", "dimensions": {"status": "$.status"}}}]}
        text = log_lines.make(500, 1300, seed=5)
        report = self.replay(text, f"--minutes={self.folder / 'minutes'}", config=config)["logmon"]
        minutes = self.read("minutes")
        self.assertEqual(minutes, report["minutes"])
        self.assertRegex(minutes[0]["minute"], rf"^{DATE}Z$")
        for one in report["filters"]:
            own = [minute for minute in minutes if minute["filter"] == one["name"]]
            self.assertEqual(sum(minute["lines"] for minute in own),
                             len(log_lines.lines_of(text)))
            self.assertEqual(sum(minute["events"] for minute in own), one["events"])
            series = [part for minute in own for part in minute.get("series", ())]
            if one["name"] == "none":
                self.assertEqual({(part["events"], part["values"], part["sum"] / part["values"])
                                  for part in series}, {(0, 1, 7)})
            if one["name"] == "failed":
                for status in ("500", "503"):
                    self.assertEqual(
                        sum(part["events"] for part in series
                            if part["dimensions"] == {"status": status}),
                        text.count(f'"status": {status},'.encode()))

    def program(self, script):
        program = self.folder / "program"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o700)
        return program

    def test_an_alert_is_told_written_and_run(self):
        seen = self.folder / "seen"
        program = self.program(
            f'for fd in $(seq 0 99); do [ -e /proc/$$/fd/$fd ] && echo $fd >> {seen}.files; done; '
            'echo "$SLUICE_FILTER $SLUICE_THRESHOLD $SLUICE_WINDOW_S $SLUICE_COUNT'
            f' <$SLUICE_HOST> $SLUICE_LINE" > {seen}.new && mv {seen}.new {seen}')
        self.replayed = lambda run: (run.wait(seen.exists),
                                     run.find(r'ALERT: "many", 5 events in 3600 s\n'))
        report = self.replay(b"ERROR \x1b\n" * 5, f"--alert_exec={program}",
                             f"--alerts={self.folder / 'alerts'}", config=ALERTS)["logmon"]
        self.assertEqual((report["alerts"], report["failed_alert_programs"]), (1, 0))
        self.assertEqual(seen.read_text(), "many 5 3600 5 <> ERROR \\x1b\n")
        # The child has the standard streams and the shell's script, but none of DPDK's descriptors.
        self.assertEqual((self.folder / "seen.files").read_text().split(), ["0", "1", "2", "10"])
        [alert] = self.read("alerts")
        self.assertRegex(alert.pop("time"), rf"^{DATE}:\d\d\.\d{{3}}Z$")
        self.assertEqual(alert, {"filter": "many", "firing": True, "threshold": 5,
                                 "window_s": 3600, "count": 5, "line": "ERROR \x1b"})

    def test_alerts_count_each_host_by_itself(self):
        seen = self.folder / "seen"
        program = self.program(f'echo "$SLUICE_HOST $SLUICE_COUNT $SLUICE_LINE" >> {seen}')
        self.file("f.conf", b"[Definition]\nfailregex = ^bad \\w+ (?!local)from <HOST>$\n")
        alert = {"threshold": 3, "window_s": 3600}
        config = {"filters": [
            {"name": "hosts", "regex_file": str(self.folder / "f.conf"), "alert": alert},
            {"name": "all", "regex": "bad \\w+ from <HOST>",
             "alert": alert | {"threshold": 6, "by_host": False}}]}
        text = b"".join(b"bad u%d from %s\n" % (i, host) for i, host in enumerate(
            (b"192.0.2.1", b"192.0.2.2", b"192.0.2.1", b"a.example", b"192.0.2.2", b"192.0.2.1")))
        self.replayed = lambda run: (run.find(r'ALERT: "hosts" 192.0.2.1, 3 events in 3600 s\n'),
                                     run.find(r'ALERT: "all", 6 events in 3600 s\n'),
                                     run.wait(lambda: seen.exists() and
                                              len(seen.read_text().splitlines()) == 2))
        # The text is sent as lines, because a fail2ban filter expects a syslog message to begin
        # with its host.
        report = self.replay(text, "--log_sources=1", "--log_as=lines", f"--alert_exec={program}",
                             config=config)
        self.assertEqual(report["logmon"]["alerts"], 2)
        self.assertEqual([(one["name"], one.get("rules"), one["events"])
                          for one in report["logmon"]["filters"]], [("hosts", 1, 6), ("all", None, 6)])
        self.assertEqual(sorted(seen.read_text().splitlines()),
                         [" 6 bad u5 from 192.0.2.1", "192.0.2.1 3 bad u5 from 192.0.2.1"])

    def test_a_program_that_fails_is_counted(self):
        seen = self.folder / "seen"
        program = self.program(f"echo $$ > {seen}.new; mv {seen}.new {seen}; exit 3")

        def replayed(run):
            run.wait(seen.exists)
            # The child has ended and was reaped.
            run.wait(lambda: not pathlib.Path("/proc", seen.read_text().strip()).exists())
        self.replayed = replayed
        report = self.replay(b"ERROR\n" * 5, f"--alert_exec={program}", config=ALERTS)["logmon"]
        self.assertEqual((report["alerts"], report["failed_alert_programs"]), (1, 1))

    def test_prometheus_and_telemetry_tell_the_same(self):
        config = {"filters": [{"name": 'a "name" \\ too', "pattern": "ERROR"},
                              {"name": "bytes", "pattern": "{ $.n > 0 }",
                               "metric": {"value": "$.n"}}]}
        scraped = []

        def replayed(run):
            self.assertEqual(run.ask("filters"), {
                "0": {"name": 'a "name" \\ too', "events": 3}, "1": {"name": "bytes", "events": 2}})
            url = run.find(r"metrics: (\S+)")[1]
            with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
                scraped.extend(answer.read().decode().splitlines())
        self.replayed = replayed
        self.replay(b'ERROR\nERROR\nERROR\n{"n": 10}\n{"n": 30}\n\n', "--metrics=0",
                    config=config)
        for wanted in ("sluice_logmon_lines_total 6",
                       r'sluice_logmon_events_total{filter="a \"name\" \\ too"} 3',
                       'sluice_logmon_events_total{filter="bytes"} 2',
                       'sluice_logmon_metric_count{filter="bytes"} 2',
                       'sluice_logmon_metric_sum{filter="bytes"} 40',
                       "sluice_logmon_alerts_total 0",
                       'sluice_logmon_source_events_total{event="syslog_messages"} 6'):
            self.assertIn(wanted, [re.sub(r"\.0+$", "", line) for line in scraped])


class Flags(Folder):
    def wrong(self, flag, *flags):
        return self.check_wrong(flag, *say(*EAL, "--", *flags))

    def check_wrong(self, flag, code, said, errors):
        self.assertEqual((code, said), (2, ""), errors)
        self.assertEqual(len(errors.splitlines()), 1, errors)
        self.assertIn(flag, errors)
        return errors

    def test_a_bad_flag_is_named_in_one_line(self):
        empty = self.file("empty", b"")
        for flags, said in harness.for_each((
                "--syslog_ports=0", "--syslog_ports=65536", "--syslog_ports=514,",
                "--syslog_ports=,514", "--syslog_ports=syslog", "--syslog_ports=-1",
                "--line_ports=5140x", "--line_ports=514", "--line_ports=1,,2",
                "--tcp_ports=65536", "--sources=0", "--sources=16777217", "--sources=-1",
                "--line_bytes=255", "--line_bytes=262145", "--idle_s=-1", "--idle_s=nan",
                "--idle_s=1e7", "--log_as=http", "--log_as=", "--log_sources=0",
                "--log_sources=65537", "--log_once=maybe", "--pass_on=maybe",
                "--log=/nonexistent", f"--log={empty}", "--frame_size=95",
                "--frame_size=1519", "--frame_size=imix", "--filter=#", "--filter={",
                "--filters=/nonexistent", "--filters=/", "--ip=10.0.0.300",
                "--alert_exec=/nonexistent", f"--alert_exec={empty}", "--alert_exec=/",
                "--alert_exec=no-such-program-anywhere",
                "--log_as=syslog --syslog_ports=", "--filter=a --filters=b"),
                lambda flags: say(*EAL, "--", *flags.split())):
            with self.subTest(flags):
                self.check_wrong(flags.split("=")[0], *said)
        code, _, errors = say(*EAL, "--vdev=net_null0", "--", "--log=x")
        self.assertEqual(code, 2)
        self.assertIn("--log", errors)

    def test_a_bad_configuration_names_the_place(self):
        for config, place in (
                (b"", ""), (b"{", ""), (b"[]", ""), (b'{"filters": 1}', "filters"),
                (b'{"filter": []}', "filter"),
                ({"filters": [{}]}, "filters[0].pattern"),
                ({"filters": [{"pattern": "a", "regex": "b"}]}, "filters[0].pattern"),
                ({"filters": [{"pattern": "a"}, {"pattern": "a"}]}, "filters[1].name"),
                ({"filters": [{"pattern": "{ $.x = }"}]}, "filters[0].pattern"),
                ({"filters": [{"regex": "("}]}, "filters[0].regex"),
                ({"filters": [{"regex_file": "missing"}]}, "filters[0].regex_file"),
                ({"filters": [{"pattern": "a", "more": 1}]}, "filters[0].more"),
                ({"filters": [{"pattern": "a", "alert": {"threshold": 0}}]},
                 "filters[0].alert.threshold"),
                ({"filters": [{"pattern": "a", "alert": {"threshold": 1, "window_s": 86401}}]},
                 "filters[0].alert.window_s"),
                ({"filters": [{"regex": "a", "alert": {"by_host": True}}]},
                 "filters[0].alert"),
                ({"filters": [{"pattern": "a", "metric": {"value": "$.x"}}]},
                 "filters[0].metric.value")):
            with self.subTest(config):
                errors = self.wrong("--filters", f"--filters={self.file('config', config)}")
                self.assertIn(place, errors)

    def test_a_file_that_cannot_be_written_is_named(self):
        for flag in ("--lines", "--minutes", "--alerts"):
            with self.subTest(flag):
                code, _, errors = say(*EAL, "--", f"{flag}=/nonexistent/file")
                self.assertEqual(code, 2, errors)
                self.assertIn(flag, errors.splitlines()[-1])
                self.assertIn("/nonexistent/file", errors.splitlines()[-1])

    def test_a_full_disk_is_said_once(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        config = self.file("config", {"filters": [{"pattern": "ERROR", "alert": {
            "threshold": 1, "window_s": 3600}}]})
        for flags in (["--filter=ERROR", "--lines=/dev/full"],
                      ["--filter=ERROR", "--minutes=/dev/full"],
                      [f"--filters={config}", "--alerts=/dev/full"]):
            with self.subTest(flags):
                code, _, errors = say(*EAL, "--", *flags, "--duration_s=0.5")
                self.assertEqual(code, 1, errors)
                self.assertEqual(errors.count("/dev/full: some lines could not be written"), 1)


if __name__ == "__main__":
    harness.run_on_all_cpus()
