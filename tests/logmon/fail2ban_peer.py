# SPDX-License-Identifier: BSD-3-Clause
"""Evaluates fail2ban's filters with the library of Debian's package, which scripts/setup unpacks
without installing it, with the options of fail2ban-regex."""

import logging
import pathlib
import sys

DEPS = pathlib.Path(__file__).resolve().parents[2] / "build/deps"
LIBRARY = "usr/lib/python3/dist-packages"


def find(release=""):
    """Returns the folder of the package, or None. `release` selects one other than the system's."""
    for root in (DEPS / f"fail2ban-{release}",) if release else (DEPS / "fail2ban",
                                                                pathlib.Path("/")):
        if (root / LIBRARY / "fail2ban").is_dir() and (root / "etc/fail2ban/filter.d").is_dir():
            return root
    return None


class Peer:
    """Evaluates lines like fail2ban-regex -o. As in the server, the first matching rule
    decides. Host names are not resolved, and the position of earlier time stamps is ignored, so
    that each line is judged independently."""

    def __init__(self, root, name):
        sys.path.insert(0, str(root / LIBRARY))
        # pylint: disable=import-outside-toplevel,import-error
        from fail2ban.server.ipdns import IPAddr
        IPAddr.IP_6_RE = IPAddr.IP_6_RE.replace("|::)", "|:)")  # This is fail2ban 1.1's expression.
        from fail2ban.client import fail2banregex
        from fail2ban.server.utils import Utils
        sys.path.pop(0)
        logging.getLogger("fail2ban").setLevel(logging.CRITICAL)
        parser = fail2banregex.get_opt_parser()
        options, _ = parser.parse_args(["--config", str(root / "etc/fail2ban"), "--raw",
                                        "--out", "row", "--no-check-all"])
        self.errors = []
        fail2banregex.output = self.errors.append
        self.regex = fail2banregex.Fail2banRegex(options)
        try:
            self.runs = bool(self.regex.readRegex(f"{name}.conf", "fail")) and bool(self.rules())
        except Exception as error:  # pylint: disable=broad-except
            self.errors.append(str(error))
            self.runs = False
        # Keep as many sessions as sluice-logmon does: fail2ban's cache is limited to 100 sessions
        # and 5 minutes by default. fail2ban creates a new cache if an empty cache is false.
        sessions = type("Sessions", (Utils.Cache,), {"__bool__": lambda self: True})
        self.regex._filter._Filter__mlfidCache = sessions(maxCount=1024, maxTime=3600)
        self.detector = self.regex._filter.dateDetector  # pylint: disable=protected-access
        if not self.detector.templates:
            self.detector.addDefaultTemplate()
        self.templates = list(self.detector.templates)

    def unlearn(self):
        for template in self.templates:
            template.hits, template.distance = 0, 0x7fffffff
        self.detector.__dict__.update(
            _DateDetector__templates=list(self.templates), _DateDetector__firstUnused=0,
            _DateDetector__lastTemplIdx=0x7fffffff, _DateDetector__lastPos=(1, None),
            _DateDetector__lastEndPos=(0x7fffffff, None))

    def rules(self):
        return self.regex._filter.getFailRegex()  # pylint: disable=protected-access

    def prefix(self):
        regex = self.regex._filter.prefRegex  # pylint: disable=protected-access
        return regex.getRegex() if regex else None

    def failure(self, line):
        """Returns the host that fails by this line, or None."""
        self.unlearn()
        _, failures, _ = self.regex.testRegex(line)
        if not failures:
            return None
        groups = failures[0][3]
        return next(groups[one] for one in ("ip4", "ip6", "dns", "fid")
                    if groups.get(one) is not None)
