# SPDX-License-Identifier: BSD-3-Clause
"""Runs captures through sluice-maglev, offline: frames in, frames out, and its report."""

import json
import os
import struct
import subprocess
import tempfile

# Magic, version 2.4, zone, accuracy, snapshot length, link type Ethernet.
PCAP_HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)


def write_capture(path, frames):
    with open(path, "wb") as file:
        file.write(PCAP_HEADER)
        for i, frame in enumerate(frames):
            file.write(struct.pack("<IIII", 1, i, len(frame), len(frame)) + frame)


def read_capture(path):
    with open(path, "rb") as file:
        data = file.read()
    assert data[:4] in (PCAP_HEADER[:4], struct.pack("<I", 0xA1B23C4D)), data[:4].hex()
    frames, at = [], 24
    while at < len(data):
        captured, length = struct.unpack_from("<II", data, at + 8)
        assert captured == length
        frames.append(data[at + 16:at + 16 + captured])
        at += 16 + captured
    assert at == len(data)
    return frames


def run(binary, config, frames):
    """Returns the frames that left, those for the slow path, and the report."""
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
