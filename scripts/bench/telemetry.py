# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's telemetry socket of a running process, found by its --file-prefix."""
import json
import os
import socket

PATIENCE_S = 30
MESSAGE_BYTES = 1 << 17


def path(prefix):
    """Where EAL puts it (eal_create_runtime_dir in eal_filesystem.c)."""
    home = os.environ.get("RUNTIME_DIRECTORY") or (
        "/var/run" if os.geteuid() == 0 else os.environ.get("XDG_RUNTIME_DIR", "/tmp"))
    return f"{home}/dpdk/{prefix}/dpdk_telemetry.v2"


def ask(prefix, command, parameters=""):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        client.settimeout(PATIENCE_S)
        client.connect(path(prefix))
        client.recv(MESSAGE_BYTES)  # The greeting.
        client.send(os.fsencode(f"{command},{parameters}" if parameters else command))
        return json.loads(client.recv(MESSAGE_BYTES))[command]
