# SPDX-License-Identifier: BSD-3-Clause
"""Reads DPDK's telemetry socket of a running process, found by its --file-prefix."""
import json
import os
import pathlib
import socket
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "apps/top"))
from connection import MESSAGE_BYTES, SOCKET, runtime_folder

PATIENCE_S = 30


def path(prefix):
    return str(runtime_folder() / prefix / SOCKET)


def ask(prefix, command, parameters=""):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        client.settimeout(PATIENCE_S)
        client.connect(path(prefix))
        client.recv(MESSAGE_BYTES)  # The greeting.
        client.send(os.fsencode(f"{command},{parameters}" if parameters else command))
        return json.loads(client.recv(MESSAGE_BYTES))[command]
