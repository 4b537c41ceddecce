# SPDX-License-Identifier: BSD-3-Clause
"""Telemetry sockets of DPDK processes (lib/telemetry/telemetry.c there, version 2): one message, a
command with its parameters, asks; one answers. The first message is a greeting."""
import os
import pathlib
import socket
import stat

import answers

SOCKET = "dpdk_telemetry.v2"
MESSAGE_BYTES = 1 << 17
PATIENCE_S = 2.0


def runtime_folder():
    """Where EAL puts a folder for each file prefix (eal_create_runtime_dir in eal_filesystem.c)."""
    home = os.environ.get("RUNTIME_DIRECTORY") or (
        "/var/run" if os.geteuid() == 0 else os.environ.get("XDG_RUNTIME_DIR", "/tmp"))
    return pathlib.Path(home) / "dpdk"


def sockets():
    """Paths by name: the file prefix; with --in-memory several processes share one, and the later
    ones have a number behind it."""
    found = {}
    try:
        folders = sorted(runtime_folder().iterdir())
    except OSError:
        return {}
    for folder in folders:
        try:
            paths = sorted(folder.glob(SOCKET + "*"))
            for path in paths:
                if stat.S_ISSOCK(path.lstat().st_mode):
                    name = folder.name + path.name.removeprefix(SOCKET)
                    found[answers.printable(name)] = path
        except OSError:
            continue  # It has just ended, or is another user's.
    return found


class Connection:
    """Raises OSError when the process ends or does not answer in time."""

    def __init__(self, path, patience_s=PATIENCE_S):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(patience_s)
        try:
            self.socket.connect(str(path))
            self.info = answers.table(self.receive())
        except (OSError, answers.BadAnswer):
            self.close()
            raise

    def close(self):
        self.socket.close()

    def receive(self):
        data, _, flags, _ = self.socket.recvmsg(MESSAGE_BYTES)
        if not data:
            raise ConnectionError("the process has ended")
        if flags & socket.MSG_TRUNC:
            raise answers.BadAnswer("a message is too long")
        return answers.read(data)

    def ask(self, command, parameters=""):
        """What a command answers; None if it has no answer."""
        asked = f"{command},{parameters}" if parameters != "" else command
        self.socket.send(asked.encode("ascii", "replace"))
        return answers.table(self.receive()).get(command)
