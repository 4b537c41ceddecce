# SPDX-License-Identifier: BSD-3-Clause
"""Telemetry sockets of DPDK processes (lib/telemetry/telemetry.c in DPDK, version 2). A request is
one message, a command with its parameters, and so is the reply. The first message is a greeting."""
import os
import pathlib
import socket
import stat

import answers

SOCKET = "dpdk_telemetry.v2"
MESSAGE_BYTES = 1 << 17
PATIENCE_S = 2.0


def runtime_folder():
    """Returns the folder in which EAL creates one folder per file prefix (eal_create_runtime_dir in
    eal_filesystem.c)."""
    home = os.environ.get("RUNTIME_DIRECTORY") or (
        "/var/run" if os.geteuid() == 0 else os.environ.get("XDG_RUNTIME_DIR", "/tmp"))
    return pathlib.Path(home) / "dpdk"


def sockets():
    """Returns paths by name. The name is the file prefix; with --in-memory several processes share
    one, and the names of later processes have a number appended."""
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
            continue  # The process has just ended, or it belongs to another user.
    return found


class Connection:
    """A connection to a process. Methods raise OSError if the process ends or does not reply in
    time, and BadAnswer if a reply is invalid or too long."""

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
        """Returns the reply to a command; None if it has none."""
        asked = f"{command},{parameters}" if parameters != "" else command
        self.socket.send(asked.encode("ascii", "replace"))
        return answers.table(self.receive()).get(command)
