#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""fail2ban_test.py FAIL2BAN_LINES [RELEASE]: compares every filter of Debian's package with
fail2ban itself; with RELEASE, those of another release, which scripts/setup --all unpacks. Lines
come from the package's samples, from the filters' expressions, from mutations of these, and from
other filters; both must report the same failures and hosts. Prints a table. The samples are also
sent as syslog, in datagrams and in a stream, and compared with fail2ban's result for the file that
a running rsyslogd writes."""

import json
import pathlib
import random
import re
import subprocess
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import fail2ban_peer
import regex_lines
import rsyslog_peer

TOOL, RELEASE = (*sys.argv[1:], "")[:2]
del sys.argv[1:]
ROOT = fail2ban_peer.find(RELEASE)
WHY = (f"fail2ban {RELEASE} is not there: run scripts/setup --all" if RELEASE else
       "fail2ban is not there: run scripts/setup")
# Time stamps, which are inserted before the line or in place of empty brackets.
STAMPS = ("Dec 10 06:55:46", "2024-12-10T06:55:46+01:00", "2024-12-10 06:55:46,123",
          "Sun Dec 10 06:55:46.123456 2023", "10/Dec/2023:13:55:36 -0700", "1718000000",
          "1718000000.123", "10/12/2023 06:55:46", "12/10/2023 06:55:46", "Dec-10-23 06:55:46",
          "10-Dec-2023 06:55:46.123", "06:55:46", "@4000000041ef4b4f0a3b5a2c",
          "2023:12:10-06:55:46", "20231210T065546", "Dec 10, 2023 6:55:46 AM", "2023/12/10 06:55:46",
          "t=2023-12-10T06:55:46+0000", "12-10 06:55:46")
# Files without rules, which other filters include.
PARTS = {"apache-common", "botsearch-common", "common", "exim-common", "nginx-error-common",
         "selinux-common"}


def with_stamps(text, prefix_first, choose):
    """Yields lines that equal `text` after a time stamp is removed."""
    for stamp in STAMPS:
        if "[]" in text:
            yield text.replace("[]", f"[{stamp}]", 1)
        yield (f"{stamp}{text}" if text[:1] in (" ", ".", ",", "", "]") else f"{stamp} {text}")
        yield f"[{stamp}]{text}"
        if prefix_first:
            cut = choose.randrange(len(text) + 1)
            yield text[:cut] + stamp + text[cut:]
    yield text


def bent(line, choose):
    at = choose.randrange(len(line) + 1)
    return choose.choice((line[:at], line[at:], line[:at] + choose.choice(" x0[]\"'\t#") + line[at:],
                          line[:at] + line[at + 1:], line + line[at:], line.swapcase(),
                          line + " 1.2.3.4"))


class Tool:
    """FAIL2BAN_LINES, in one process for all tests: it compiles each filter once."""
    process = None

    @classmethod
    def ask(cls, path, count, text):
        """Returns its output for the lines, messages or bytes in `text`."""
        if cls.process is None:
            cls.process = subprocess.Popen([TOOL], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        cls.process.stdin.write(f"{path}\n{count}\n".encode() + text)
        cls.process.stdin.flush()
        return json.loads(cls.process.stdout.readline())

    @classmethod
    def lines(cls, path, lines, kind=""):
        text = "".join(f"{line}\n" for line in lines)
        return cls.ask(path, f"{kind}{len(lines)}", text.encode("utf-8", "surrogateescape"))

    @classmethod
    def stream(cls, path, stream):
        return cls.ask(path, f"stream {len(stream)}", stream)


def tearDownModule():
    if Tool.process is not None:
        Tool.process.communicate()


class Lines:
    """The lines of one filter, with fail2ban's verdict on each."""

    def __init__(self, name):
        self.name = name
        self.choose = random.Random(name)
        self.peer = fail2ban_peer.Peer(ROOT, name)
        self.lines, self.failures, self.matched = [], [], set()

    def add(self, line):
        """Adds a line without its line ends, and fail2ban's verdict on it; skips comments of
        fail2ban-regex. Returns the host that failed, or None."""
        line = "".join(c for c in line if c not in "\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029")
        if line[:1] == "#":
            return None
        host = self.peer.failure(line)
        if host is not None:
            self.failures.append([len(self.lines), host])
        self.lines.append(line)
        return host

    def of_samples(self):
        file = ROOT / fail2ban_peer.LIBRARY / "fail2ban/tests/files/logs" / self.name
        if file.exists():
            for line in file.read_text(errors="replace").split("\n"):
                self.add(line)

    def of_rules(self, per_rule):
        """Generates lines until fail2ban accepts some for each rule, or gives up."""
        for number, rule in enumerate(self.peer.rules()):
            for attempt in range(12):
                writer = regex_lines.Writer(self.choose)
                host = self.choose.choice(("192.0.2.%d" % self.choose.randrange(9),
                                           "2001:db8::7", "host.example.org"))
                writer.given = {"ip4": host} if host[0] == "1" else \
                    {"ip6": host} if ":" in host else {"dns": host}
                text = writer.text(rule)
                if self.peer.prefix():
                    outer = regex_lines.Writer(self.choose, {"content": text.rstrip("\n")})
                    text = outer.text(self.peer.prefix())
                hits = 0
                for line in with_stamps(text, attempt == 0, self.choose):
                    # Embedded newlines separate lines.
                    hosts = [self.add(part) for part in line.split("\n")]
                    if any(host is not None for host in hosts):
                        self.matched.add(number)
                        hits += 1
                        self.add("")
                        self.add(bent(self.choose.choice(line.split("\n")), self.choose))
                    if hits >= 2:
                        break
                if hits and attempt + 1 >= per_rule:
                    break


@unittest.skipIf(ROOT is None, WHY)
class EveryFilter(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = ROOT / "etc/fail2ban/filter.d"
        cls.filters = {}
        for file in sorted(folder.glob("*.conf")):
            lines = Lines(file.stem)
            if lines.peer.runs:
                lines.of_samples()
                lines.of_rules(3)
            cls.filters[file] = lines
        every = [line for lines in cls.filters.values() for line in lines.lines]
        for lines in cls.filters.values():
            if lines.peer.runs:
                for line in lines.choose.sample(every, 60):
                    lines.add(line)
        cls.answers = {file: Tool.lines(file, lines.lines) for file, lines in cls.filters.items()}

    def test_names_the_same_failures_as_fail2ban(self):
        print(f"\n{'filter':24}{'rules run':>10}{'left out':>10}{'lines':>8}{'failures':>10}"
              f"{'differ':>8}")
        for file, lines in self.filters.items():
            answer = self.answers[file]
            if not lines.peer.runs:
                print(f"{lines.name:24}{answer.get('error', '').split(': ', 1)[-1]}")
                continue
            found = {number: host for number, host in answer.get("failures", ())}
            expected = {number: host for number, host in lines.failures}
            differ = [number for number in range(len(lines.lines))
                      if found.get(number) != expected.get(number)]
            print(f"{lines.name:24}{answer.get('rules', 0):10}{len(answer['left_out']):10}"
                  f"{len(lines.lines):8}{len(expected):10}{len(differ):8}")
            with self.subTest(lines.name):
                self.assertNotIn("error", answer)
                self.assertEqual([(lines.lines[n], expected.get(n), found.get(n))
                                  for n in differ[:5]], [])

    def test_every_rule_runs_or_is_named(self):
        for file, lines in self.filters.items():
            answer = self.answers[file]
            with self.subTest(lines.name):
                if lines.peer.runs:
                    self.assertEqual(answer.get("rules", 0) + len(answer["left_out"]),
                                     len(lines.peer.rules()), answer)
                    self.assertEqual(answer["left_out"], [])
                else:
                    self.assertIn(lines.name, PARTS)
                    self.assertRegex(answer["error"], "no failregex|unknown option")

    def test_the_lines_reach_most_rules(self):
        reached = sum(len(lines.matched) for lines in self.filters.values())
        rules = sum(len(lines.peer.rules()) for lines in self.filters.values() if lines.peer.runs)
        print(f"\nrules that made a failure: {reached} of {rules}")
        self.assertGreater(reached, rules * 0.6)


# Matches a line that a syslog daemon wrote: stamp, host, and optionally tag and process.
FILE_LINE = re.compile(r"([A-Z][a-z]{2} [ 0-9]\d \d\d:\d\d:\d\d) (\S+) (.*)", re.ASCII)
TAG = re.compile(r"([\w/.-]{1,48})(?:\[(\d+)\])?: (.*)", re.ASCII)


def rfc3164(line):
    """Returns the message of a line of a file; other lines were logged by a program."""
    return f"<86>{line}" if FILE_LINE.fullmatch(line) else f"<86>Jun 21 16:47:48 web1 app: {line}"


def rfc5424(line):
    known = FILE_LINE.fullmatch(line)
    tag = known and TAG.fullmatch(known[3])
    if not tag:
        return f"<86>1 2005-06-21T16:47:48.5+02:00 web1 app - - - {line}"
    months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
    stamp = f"2005-{months.index(known[1][:3]) + 1:02}-{int(known[1][4:6]):02}T{known[1][7:]}Z"
    return f"<86>1 {stamp} {known[2]} {tag[1]} {tag[2] or '-'} - - {tag[3]}"


@unittest.skipIf(ROOT is None, WHY)
@unittest.skipIf(rsyslog_peer.PROGRAM is None, "rsyslogd is not there: run scripts/setup")
class SamplesAsSyslog(unittest.TestCase):
    maxDiff = None

    def test_names_the_failures_that_fail2ban_finds_in_the_file_of_rsyslogd(self):
        samples = ROOT / fail2ban_peer.LIBRARY / "fail2ban/tests/files/logs"
        filters = {file: [line for line in (samples / file.stem).read_text(errors="replace")
                          .splitlines() if line.strip() and line[0] != "#"]
                   for file in sorted((ROOT / "etc/fail2ban/filter.d").glob("*.conf"))
                   if (samples / file.stem).exists()}
        every = [line for lines in filters.values() for line in lines]
        total = {}
        for form in (rfc3164, rfc5424):
            messages = [form(line) for line in every]
            with rsyslog_peer.Daemon() as daemon:
                written = daemon.written("udp", messages)
                self.assertEqual(daemon.written("tcp", messages), written)
            self.assertEqual(len(written), len(messages))
            begin = 0
            for file, lines in filters.items():
                of_file = written[begin:begin + len(lines)]
                begin += len(lines)
                sent = [form(line) for line in lines]
                answer = Tool.lines(file, sent, "syslog ")
                self.assertEqual(answer, Tool.stream(file, b"".join(
                    rsyslog_peer.framed(message, message) for message in sent)))
                peer = fail2ban_peer.Peer(ROOT, file.stem)
                if not peer.runs:
                    continue
                expected = {number: host for number, line in enumerate(of_file)
                            if (host := peer.failure(line)) is not None}
                found = dict(answer.get("failures", ()))
                total[form.__name__] = total.get(form.__name__, 0) + len(expected)
                print(f"{form.__name__:10}{file.stem:24}{len(lines):8}{len(expected):10}"
                      f"{len(found):8}")
                with self.subTest(filter=file.stem, form=form.__name__):
                    self.assertNotIn("error", answer)
                    self.assertEqual(
                        [(of_file[n], sent[n], expected.get(n), found.get(n))
                         for n in range(len(lines)) if expected.get(n) != found.get(n)][:5], [])
        print(total)
        self.assertGreater(min(total.values()), 150)

    def test_cuts_a_stream_into_messages_as_rsyslogd_does(self):
        file = ROOT / "etc/fail2ban/filter.d/sshd.conf"
        count = iter(range(100, 256))  # All messages have 88 bytes.

        def message(end=""):
            text = (f"<86>Jun 21 16:47:48 web1 sshd[7]: Failed password for root from "
                    f"192.0.2.{next(count)} port 22 ssh2{end}")
            return text.encode()

        def size(text, change=0):
            return b"%d %s" % (len(text) + change, text)
        streams = [b"".join(parts) for parts in (
            (size(message()), message(), b"\n", size(message()), message(), b"\n"),
            (size(message("\n")), b"\n\n", size(message("\r\n")), message("\r\n")),
            (b"000", size(message()), size(message())),
            (b"0 ", message(), b"\n", size(message())),
            (b"0", message(), b"\n", size(message())),
            (b"88x", message(), message(), b"\n", size(message())),
            (b"200001 ", message(), b"\n", size(message())),
            (b"9" * 100, b" ", message(), b"\n", size(message())),
            (size(message(), -1), b"\n", message(), b"\n"),
            (size(message(), 1), b"\n", message(), b"\n"),
            (b"88\n", message(), message(), b"\n", size(message())),
            (b"-5 ", message(), b"\n", size(message())),
            (b" ", size(message()), b"\n", message(), b"\n"))]
        with rsyslog_peer.Daemon() as daemon:
            written = [daemon.write_stream(stream) for stream in streams]
        peer = fail2ban_peer.Peer(ROOT, "sshd")
        for stream, lines in zip(streams, written):
            with self.subTest(stream=stream):
                expected = [host for line in lines if (host := peer.failure(line)) is not None]
                failures = Tool.stream(file, stream)["failures"]
                self.assertEqual([host for _, host in failures], expected,
                                 lines)


if __name__ == "__main__":
    if ROOT is None:
        print(f"SKIP: {WHY}")
        sys.exit(77)
    unittest.main()
