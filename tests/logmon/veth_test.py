#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""veth_test.py SLUICE_LOGMON: real senders. The monitor is on one end of a veth pair, and Linux in
a network namespace on the other: logger of util-linux, rsyslog, and plain sockets. Root only."""

import collections
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "bench"))
from veth import Veth  # pylint: disable=wrong-import-position

import log_lines
import logmon_run

PAIR = Veth("lm")
SENDER, MONITOR = "10.99.8.1", "10.99.8.2"
SENDER6, MONITOR6 = "fd99:8::1", "fd99:8::2"
LOGGER, RSYSLOGD = shutil.which("logger"), shutil.which("rsyslogd", path="/usr/sbin:/sbin")
CONFIG = {"filters": [about for about, *_ in log_lines.FILTERS]}
AF_PACKET = f"--vdev=net_af_packet0,iface={PAIR.here}"
VDEVS = {"packetized": [AF_PACKET, "--vdev=net_ipu0,wire=port:net_af_packet0"],
         "streaming": [AF_PACKET, f"--vdev=net_pcap0,iface={PAIR.here}",
                       "--vdev=net_enso0,wire=port:net_af_packet0"],
         "bilateral": [AF_PACKET, "--vdev=net_ipu0,wire=port:net_af_packet0"]}

# Sends datagrams. The arguments are an address and a port; standard input contains each datagram's
# length and bytes.
SEND = """
import socket, sys
udp = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM)
while size := sys.stdin.buffer.readline():
    udp.sendto(sys.stdin.buffer.read(int(size)), (sys.argv[1], int(sys.argv[2])))
"""


def printable(lines, seed):
    """Returns lines that a program may log: syslog's senders change control bytes and skip empty
    lines."""
    return b"\n".join(line for line in log_lines.lines_of(log_lines.make(lines, 700, seed)) if line)


class Senders(logmon_run.Folder):
    @contextlib.contextmanager
    def monitor(self, *flags, iface="packetized"):
        """Yields a run that writes the output of `--lines` to a file. Afterwards, self.report is
        its report."""
        shown = self.file("shown", b"")
        config = {"filters": [one | {"show": one["name"] == "all"} for one in CONFIG["filters"]]}
        with PAIR.up(SENDER + "/24", SENDER6 + "/64"):
            with logmon_run.Running(
                    f"--filters={self.file('filters', config)}", f"--ip={MONITOR},{MONITOR6}",
                    f"--lines={shown}", f"--iface={iface}",
                    *(["--exception_port=net_pcap0"] if iface == "streaming" else []), *flags,
                    eal=VDEVS[iface]) as run:
                # The kernel may lose datagrams until it has resolved its neighbor's address.
                for address in [MONITOR] if iface == "streaming" else [MONITOR, MONITOR6]:
                    self.send([b""], address)
                    run.wait(lambda a=address: "lladdr" in PAIR.run("ip", "neigh", "show", a))
                yield run
                self.report = run.stop()
        self.shown = [json.loads(line) for line in shown.read_text().splitlines()]
        self.assertEqual(self.report["rx_pkts"] + self.report["sent_pkts"],
                         self.report["tx_pkts"] + self.report["consumed_pkts"]
                         + sum(self.report["drops"].values()))
        self.assertEqual(self.report["logmon"]["lost_lines"], 0)

    def send(self, datagrams, address=MONITOR, port=5140):
        content = b"".join(b"%d\n%s" % (len(one), one) for one in datagrams)
        subprocess.run(PAIR.command("/usr/bin/python3", "-c", SEND, address, str(port)),
                       input=content, check=True, timeout=logmon_run.PATIENCE_S)

    def counted(self, run, lines):
        """Waits until the monitor has counted `lines` lines: datagrams may still be in flight."""
        run.wait(lambda: run.ask("filters")["0"]["events"] >= lines)

    def check(self, *texts):
        """Checks that exactly the lines of these texts were received, and the events of each
        filter. The order of lines is not checked."""
        found = self.report["logmon"]
        lines = [line for text in texts for line in log_lines.lines_of(text)]
        self.assertEqual(found["lines"], len(lines))
        for one in found["filters"]:
            events = sum(log_lines.expected(text, CONFIG)[one["name"]][0] for text in texts)
            self.assertEqual(one["events"], events, one["name"])
        self.assertEqual(sorted(one["line"] for one in self.shown),
                         sorted(line.decode() for line in lines))

    @unittest.skipUnless(LOGGER, "logger is not installed")
    def test_logger_in_every_format(self):
        text = printable(150, seed=11)
        lines = len(log_lines.lines_of(text))
        file = self.file("log", text)
        forms = ("--rfc5424", "--rfc5424=notime,nohost,notq", "--rfc3164")
        with self.monitor() as run:
            for i, form in enumerate(forms):
                PAIR.run(LOGGER, "-n", MONITOR, "-d", "-P", "514", form, "-t", f"sender{i}",
                         "-p", "local3.warning", "--id=77", "-f", str(file))
                self.counted(run, (i + 1) * lines)
        self.check(*[text] * len(forms))
        self.assertEqual(self.report["logmon"]["sources"]["syslog_messages"], len(forms) * lines)
        self.assertEqual(self.report["logmon"]["sources"]["without_priority"], 0)
        # RFC 5424 section 6.2.1: local3 is 19, warning is 4.
        self.assertEqual(
            collections.Counter((one["source"], one["facility"], one["severity"], one["app"])
                                for one in self.shown),
            {("syslog " + SENDER, 19, 4, f"sender{i}"): lines for i in range(len(forms))})

    @unittest.skipUnless(LOGGER, "logger is not installed")
    def test_logger_over_ipv6_on_every_interface(self):
        text = printable(100, seed=12)
        file = self.file("log", text)
        for iface, address in (("packetized", MONITOR6), ("bilateral", MONITOR6),
                               ("streaming", MONITOR)):
            with self.subTest(iface):
                with self.monitor(iface=iface) as run:
                    PAIR.run(LOGGER, "-n", address, "-d", "-P", "514", "-f", str(file))
                    self.counted(run, len(log_lines.lines_of(text)))
                self.check(text)
                self.assertEqual({one["source"] for one in self.shown},
                                 {"syslog " + (SENDER6 if ":" in address else SENDER)})

    @unittest.skipUnless(RSYSLOGD and LOGGER, "rsyslog is not installed")
    def test_rsyslog_in_every_format(self):
        text = printable(150, seed=13)
        lines = len(log_lines.lines_of(text))
        # rsyslog uses the text after the tag, including the space, as the RFC 5424 MSG.
        forms = {"RSYSLOG_SyslogProtocol23Format": b" ", "RSYSLOG_ForwardFormat": b"",
                 "RSYSLOG_TraditionalForwardFormat": b""}
        with self.monitor() as run:
            for i, form in enumerate(forms):
                with self.rsyslog(form) as socket:
                    PAIR.run(LOGGER, "-u", str(socket), "-t", f"sender{i}", "-p", "auth.err",
                             "-f", str(self.file("log", text)))
                    self.counted(run, (i + 1) * lines)
        self.check(*(b"\n".join(before + line for line in log_lines.lines_of(text))
                     for before in forms.values()))
        self.assertEqual(
            collections.Counter((one["facility"], one["severity"], one["app"])
                                for one in self.shown),
            {(4, 3, f"sender{i}"): lines for i in range(len(forms))})

    @contextlib.contextmanager
    def rsyslog(self, form, *options):
        """Runs rsyslog with a private socket, which forwards to the monitor."""
        transport = " ".join(options or ['Protocol="udp"'])
        socket, config = self.folder / "socket", self.folder / "rsyslog.conf"
        config.write_text(
            f'global(workDirectory="{self.folder}" parser.escapeControlCharactersOnReceive="off")\n'
            f'module(load="imuxsock" SysSock.Use="off")\n'
            f'input(type="imuxsock" Socket="{socket}" RateLimit.Interval="0" '
            f'UsePIDFromSystem="off")\n'
            f'action(type="omfwd" Target="{MONITOR}" Port="514" Template="{form}" '
            f'{transport})\n')
        process = subprocess.Popen(
            PAIR.command(RSYSLOGD, "-n", "-f", str(config), "-i", str(self.folder / "pid")),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            end = time.monotonic() + logmon_run.PATIENCE_S
            while not socket.exists():
                assert process.poll() is None and time.monotonic() < end, process.stderr.read()
                time.sleep(0.02)
            yield socket
        finally:
            process.terminate()
            process.communicate(timeout=logmon_run.PATIENCE_S)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(socket)

    @unittest.skipUnless(RSYSLOGD and LOGGER, "rsyslog is not installed")
    @unittest.skipUnless(logmon_run.harness.has_tcp(logmon_run.LOGMON), "this build has no TCP")
    def test_a_server_over_tcp(self):
        """logger and rsyslog in both framings of RFC 6587, each on one connection."""
        text = printable(150, seed=15)
        lines = len(log_lines.lines_of(text))
        file = str(self.file("log", text))
        with self.monitor("--transport=tcp") as run:
            for sent, framing in enumerate(((), ("--octet-count",)), 1):
                PAIR.run(LOGGER, "-n", MONITOR, "-T", "-P", "514", *framing, "-f", file)
                self.counted(run, sent * lines)
            for sent, framing in enumerate(("traditional", "octet-counted"), 3):
                with self.rsyslog("RSYSLOG_ForwardFormat", 'Protocol="tcp"',
                                  f'TCP_Framing="{framing}"') as socket:
                    PAIR.run(LOGGER, "-u", str(socket), "-f", file)
                    self.counted(run, sent * lines)
        self.check(*[text] * 4)
        tcp = self.report["tcp"]
        self.assertEqual((tcp["opened"], tcp["discarded_bytes"], tcp["bad_segments"]), (4, 0, 0))
        self.assertEqual(self.report["logmon"]["sources"]["syslog_messages"], 4 * lines)

    def test_datagrams_that_cut_lines_anywhere(self):
        # Each socket is one source.
        text = log_lines.make(100, 3000, seed=14)
        ways = ((64, MONITOR), (1472, MONITOR), (333, MONITOR6))
        with self.monitor() as run:
            for sent, (size, address) in enumerate(ways, 1):
                self.send([text[at:at + size] for at in range(0, len(text), size)], address)
                run.wait(lambda n=sent: run.ask("sources")["text_bytes"] >= n * len(text))
        self.check(*[text] * len(ways))
        self.assertEqual(self.report["logmon"]["sources"]["new_sources"], len(ways))

    def test_what_is_no_log_is_not_counted(self):
        with self.monitor("--line_ports=9000") as run:
            self.send([b"ERROR\n"], port=5140)
            # 3009 bytes including the UDP header, in fragments of at most 1448 bytes (RFC 8200, MTU
            # 1500), which are not reassembled.
            self.send([b"x" * 3000 + b"\n"], MONITOR6, port=9000)
            self.send([b"one\ntwo\n"], port=9000)
            self.counted(run, 2)
        self.assertEqual([one["line"] for one in self.shown], ["one", "two"])
        self.assertEqual(self.report["drops"]["fragment"], 3)


if __name__ == "__main__":
    # A test runner sends SIGTERM on a timeout. Treat it as an interrupt, so that cleanup runs.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    unittest.main()
