# SPDX-License-Identifier: BSD-3-Clause
"""A running rsyslogd that writes received messages to a file in its default format."""

import pathlib
import shutil
import socket
import subprocess
import tempfile

import harness

PROGRAM = shutil.which("rsyslogd", path="/usr/sbin:/usr/bin")
CONFIGURATION = """
module(load="imudp")
module(load="imtcp")
input(type="imudp" address="127.0.0.1" port="{port}")
input(type="imtcp" address="127.0.0.1" port="{port}")
*.* action(type="omfile" file="{file}" template="RSYSLOG_TraditionalFileFormat")
"""


def framed(message, choice):
    """Returns a message framed for a stream: a length precedes it, or LF follows it (RFC 6587
    section 3.4), depending on `choice`."""
    message = message.encode("utf-8", "surrogateescape")
    return (b"%d %s" % (len(message), message), b"%s\n" % message,
            b"00%d %s" % (len(message), message))[len(choice) % 3]


class Daemon:
    # A socket's buffer is guaranteed to hold this many messages.
    BATCH = 50

    def __init__(self):
        # pylint: disable=consider-using-with
        self.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(self.folder.name)
        self.file = folder / "log"
        self.address = ("127.0.0.1", harness.free_port())
        configuration = folder / "rsyslog.conf"
        configuration.write_text(CONFIGURATION.format(port=self.address[1], file=self.file))
        self.process = subprocess.Popen(
            [PROGRAM, "-n", "-x", "-f", configuration, "-i", folder / "pid"],
            stderr=subprocess.DEVNULL)
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self.tcp = harness.wait_until(self.connection, "rsyslogd listens")
            harness.wait_until(self.answers_probe, "rsyslogd writes")
            self.send("udp", "<13>last probe")
            harness.wait_until(lambda: " last " in self.lines()[-1], "all probes")
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.udp.close()
        if hasattr(self, "tcp"):
            self.tcp.close()
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()

    def connection(self):
        try:
            return socket.create_connection(self.address)
        except ConnectionError:
            return None

    def answers_probe(self):
        self.send("udp", "<13>probe")
        return self.lines()

    def send(self, transport, message):
        if transport == "tcp":
            self.tcp.sendall(framed(message, message))
        else:
            self.udp.sendto(message.encode("utf-8", "surrogateescape"), self.address)

    def write_stream(self, stream):
        """Sends these bytes, which end with a complete message, over one connection. Returns the
        resulting lines of the file, without the daemon's messages about the connection."""
        first = len(self.lines())
        with socket.create_connection(self.address) as connection:
            connection.sendall(stream + b"<13>end of stream\n")
            harness.wait_until(lambda: any(line.endswith(" end of stream")
                                           for line in self.lines()[first:]), "the stream's end")
        return [line for line in self.lines()[first:]
                if " rsyslogd: " not in line and not line.endswith(" end of stream")]

    def lines(self):
        if not self.file.exists():
            return []
        return self.file.read_bytes().decode("utf-8", "surrogateescape").split("\n")[:-1]

    def written(self, transport, messages):
        """Returns the line of the file for each message."""
        first = len(self.lines())
        for begin in range(0, len(messages), self.BATCH):
            batch = messages[begin:begin + self.BATCH]
            for message in batch:
                self.send(transport, message)
            harness.wait_until(lambda n=first + begin + len(batch): len(self.lines()) >= n,
                               f"lines of messages {begin} and following")
        return self.lines()[first:]
