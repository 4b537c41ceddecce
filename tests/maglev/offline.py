# SPDX-License-Identifier: BSD-3-Clause
"""Runs captures through sluice-maglev, offline, and returns frames and its report."""

import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import write_capture


def read_capture(path):
    with open(path, "rb") as file:
        data = file.read()
    assert data[:4] in (struct.pack("<I", magic) for magic in (0xA1B2C3D4, 0xA1B23C4D)), data[:4].hex()
    frames, at = [], 24
    while at < len(data):
        captured, length = struct.unpack_from("<II", data, at + 8)
        assert captured == length
        frames.append(data[at + 16:at + 16 + captured])
        at += 16 + captured
    assert at == len(data)
    return frames


def run(binary, config, frames):
    """Returns the sent frames, those for the slow path, and the report."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: os.path.join(folder, name) for name in ("pcap", "out_pcap", "pass_pcap",
                                                               "config")}
        write_capture(paths["pcap"], frames)
        with open(paths["config"], "w", encoding="utf-8") as file:
            json.dump(config, file)
        result = subprocess.run(
            ["timeout", "60", binary, *(f"--{flag}={path}" for flag, path in paths.items()),
             "--json=-"], capture_output=True, text=True, check=False)
        assert result.returncode == 0, f"{result.returncode}: {result.stderr}"
        return read_capture(paths["out_pcap"]), read_capture(paths["pass_pcap"]), \
            json.loads(result.stdout)
