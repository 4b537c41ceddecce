# SPDX-License-Identifier: BSD-3-Clause
"""A log with every difficult feature of logs, and filters with their expected counts. Python's re
and json compute the counts line by line, from the filters' documentation."""

import json
import random
import re

HOSTS = (b"198.51.100.7", b"203.0.113.200", b"2001:db8::17", b"gate.example.com")
USERS = (b"root", b"anna", "jürgen".encode(), b"ivo")
PATHS = (b"/", b"/cart", b"/item/17", b"/item/18.html", b"/login.html")


def _access(choose):
    return json.dumps({"path": choose.choice(PATHS).decode(),
                       "status": choose.choice((200, 204, 404, 500, 503)),
                       "user": choose.choice((None, "anna", "jürgen")),
                       "latency": choose.randrange(100_000) / 1000},
                      ensure_ascii=choose.random() < 0.5).encode()


def _apache(choose):
    return b'%s - %s [10/Oct/2000:13:25:15 -0700] "GET %s HTTP/1.0" %d %d' % (
        choose.choice(HOSTS), choose.choice(USERS), choose.choice(PATHS),
        choose.choice((200, 404, 400, 500)), choose.randrange(3000))


def _login(choose):
    return b"sshd[%d]: %s for %s%s from %s port %d ssh2%s" % (
        choose.randrange(1, 9999), choose.choice((b"Failed password", b"Accepted publickey")),
        choose.choice((b"", b"", b"invalid user ")), choose.choice(USERS), choose.choice(HOSTS),
        choose.randrange(1024, 65536), choose.choice((b"", b"", b" [preauth]")))


def _service(choose):
    return b"[%s %d] request %08x %s" % (
        choose.choice((b"ERROR", b"WARN", b"INFO")), choose.randrange(400, 520),
        choose.randrange(1 << 32), choose.choice((b"done", b"failed", b"done again")))


def _kernel(choose):
    return b"kernel: [%d.%06d] eth%d: link is %s" % (
        choose.randrange(900_000), choose.randrange(1_000_000), choose.randrange(4),
        choose.choice((b"up", b"down")))


def _utf8(choose):
    return ("größe der Datei über %d ☃ 日本語 😀" % choose.randrange(99)).encode()


def _long(choose, most):
    """Returns a line whose only words are its last ones."""
    return b"x" * choose.randrange(most // 2, most) + b" ERROR request"


def make(lines, longest, seed):
    """Returns about this many lines, most of them at most 400 bytes long; the last one has no
    newline."""
    choose = random.Random(seed)
    text = b""
    for _ in range(lines):
        kind = choose.choices((_access, _apache, _login, _service, _kernel, _utf8, None, _long),
                              (20, 10, 20, 20, 10, 5, 5, 1))[0]
        line = b"" if kind is None else kind(choose, longest) if kind is _long else kind(choose)
        text += line + choose.choices((b"\n", b"\r\n", b"\r"), (12, 6, 1))[0]
    return text + b"[ERROR 419] request of the end"


def lines_of(text):
    """Returns the lines of a text. A line ends with LF, CR LF or CR; the text after the last line
    end is a line unless it is empty."""
    lines = re.split(rb"\r\n|\r|\n", text)
    return lines if lines[-1] else lines[:-1]


def _object(line):
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _fields(line):
    """Returns the fields of a line. Text in [ ] or " " is one field, without the delimiters."""
    return [next(filter(None, groups), b"")
            for groups in re.findall(rb'\[([^\]]*)\](?!\S)|"([^"]*)"(?!\S)|(\S+)', line)]


def _page(line):
    fields = _fields(line)
    return (len(fields) == 7 and b".html" in fields[4] and fields[5].startswith(b"4")
            and re.fullmatch(rb"\d+", fields[6]) and int(fields[6]) > 1000)


_GUESS = re.compile(rb"^sshd\[\d+\]: Failed password for (?:invalid user )?\S+ from "
                    rb"[\w.:]+ port \d+ ssh2$")

# Filters in the format of sluice-logmon's configuration, each with a predicate for lines and the
# value of the metric.
FILTERS = [
    ({"name": "all", "pattern": '""'}, lambda line: True, None),
    ({"name": "terms", "pattern": "request ERROR"},
     lambda line: b"ERROR" in line and b"request" in line, None),
    ({"name": "phrase", "pattern": '"Failed password for root"'},
     lambda line: b"Failed password for root" in line, None),
    ({"name": "optional", "pattern": '?"link is down" ?WARN'},
     lambda line: b"link is down" in line or b"WARN" in line, None),
    ({"name": "exclusion", "pattern": "request -done -INFO"},
     lambda line: b"request" in line and b"done" not in line and b"INFO" not in line, None),
    ({"name": "beyond ASCII", "pattern": '"größe" "☃ 日本語 😀"'},
     lambda line: "größe".encode() in line and "☃ 日本語 😀".encode() in line, None),
    ({"name": "regex", "pattern": "%eth[0-2]:%"}, re.compile(rb"eth[0-2]:").search, None),
    ({"name": "regex at the end", "pattern": "%done$%"}, re.compile(rb"done\Z").search, None),
    ({"name": "JSON", "pattern": "{ $.status >= 500 && $.latency > 40 }",
      "metric": {"value": "$.latency"}},
     lambda line: _object(line).get("status", 0) >= 500 and _object(line)["latency"] > 40,
     lambda line: _object(line)["latency"]),
    ({"name": "JSON with a wildcard", "pattern": '{ $.path = "/item*" || $.user IS NULL }'},
     lambda line: _object(line).get("path", "").startswith("/item")
                  or _object(line).get("user", "") is None, None),
    ({"name": "JSON text", "pattern": '{ $.user = "jürgen" }'},
     lambda line: _object(line).get("user") == "jürgen", None),
    ({"name": "space-delimited",
      "pattern": '[ip, id, user, time, request = "*.html*", status = 4*, bytes > 1000]',
      "metric": {"value": "$bytes"}}, _page,
     lambda line: int(_fields(line)[6])),
    ({"name": "fail2ban", "regex": r"^sshd\[\d+\]: Failed password for (?:invalid user )?\S+ "
                                   r"from <HOST> port \d+ ssh2$"}, _GUESS.search, None),
]


def expected(text, config):
    """Returns events and values by the name of each filter in `config`."""
    names = {about["name"] for about in config["filters"]}
    lines = lines_of(text)
    found = {}
    for about, is_event, value in FILTERS:
        if about["name"] in names:
            events = [line for line in lines if is_event(line)]
            found[about["name"]] = (len(events), [value(line) for line in events] if value else [])
    return found
