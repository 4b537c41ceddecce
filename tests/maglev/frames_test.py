#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Packets of every kind through sluice-maglev, offline: sent frames are compared byte by byte with
frames that scapy builds by the rules of the RFCs (frames.py), decapsulated by scapy, and parsed by
tshark. Arguments: modules, classes or tests (default: all), and the program."""

import sys
import unittest

from frames_case import FramesTest

KINDS = ("encapsulation", "mac", "nat", "fragments", "icmp", "oddities", "quic", "profiles")

if __name__ == "__main__":
    FramesTest.maglev = sys.argv.pop()
    if not any(not argument.startswith("-") for argument in sys.argv[1:]):
        sys.argv += [f"frames_{kind}" for kind in KINDS]
    unittest.main(module=None)
