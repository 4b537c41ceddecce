#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests scripts/merge_captures on captures that are written byte by byte here
(pcap-savefile(5))."""
import pathlib
import struct
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/merge_captures"
MICROSECONDS, NANOSECONDS = 0xA1B2C3D4, 0xA1B23C4D
ETHERNET, RAW_IP = 1, 101


def capture(records, magic=MICROSECONDS, order="<", linktype=ETHERNET):
    """Returns a capture of `records`, which are (seconds, fraction, original length, bytes)."""
    out = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, linktype)
    for seconds, fraction, original, data in records:
        out += struct.pack(order + "IIII", seconds, fraction, len(data), original) + data
    return out


class Merge(unittest.TestCase):
    def merge(self, *options, **files):
        """Returns (records of the result, the script's output)."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for file, content in files.items():
                (folder / file).write_bytes(content)
            done = subprocess.run([SCRIPT, *options, folder / "out", *(folder / f for f in reversed(files))],
                                  capture_output=True, text=True, check=True)
            data = (folder / "out").read_bytes()
        self.assertEqual(struct.unpack_from("<I", data)[0], NANOSECONDS)
        records, at = [], 24
        while at < len(data):
            seconds, fraction, captured, original = struct.unpack_from("<IIII", data, at)
            records.append((seconds, fraction, original, data[at + 16:at + 16 + captured]))
            at += 16 + captured
        return records, done.stdout

    def test_files_are_merged_by_name_and_lengths_kept(self):
        records, _ = self.merge(a=capture([(1, 2, 1500, b"x" * 60)]), b=capture([(0, 0, 64, b"y" * 64)]))
        self.assertEqual(records, [(1, 2000, 1500, b"x" * 60), (0, 0, 64, b"y" * 64)])

    def test_both_byte_orders_and_resolutions(self):
        records, _ = self.merge(a=capture([(1, 7, 60, b"x" * 60)], order=">"),
                                b=capture([(1, 7, 60, b"y" * 60)], magic=NANOSECONDS))
        self.assertEqual([r[1] for r in records], [7000, 7])

    def test_what_is_not_ethernet_or_not_a_capture_is_counted(self):
        records, text = self.merge(a=capture([(0, 0, 60, b"x" * 60)], linktype=RAW_IP),
                                   b=b"no capture", c=b"", d=capture([(0, 0, 60, b"z" * 60)]))
        self.assertEqual(len(records), 1)
        self.assertIn("1 frames of 1 captures; skipped 1 that are not Ethernet, 2 unreadable", text)

    def test_a_file_that_breaks_off_counts_up_to_its_last_whole_record(self):
        whole = capture([(0, 0, 60, b"x" * 60), (0, 0, 60, b"y" * 60)])
        for cut in (1, 59, 60, 75):
            self.assertEqual(len(self.merge(a=whole[:-cut])[0]), 1, cut)

    def test_an_output_that_cannot_be_written_is_named_in_one_line(self):
        done = subprocess.run([SCRIPT, "/does/not/exist/out", "/dev/null"], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, "/does/not/exist/out.part: No such file or directory\n")

    def test_a_length_beyond_the_file_ends_it(self):
        lie = struct.pack("<IIII", 0, 0, 0xFFFFFFFF, 60) + b"z" * 60
        self.assertEqual(len(self.merge(a=capture([(0, 0, 60, b"x" * 60)]) + lie)[0]), 1)

    def test_ipv4_keeps_what_a_cutter_by_total_length_sends_whole(self):
        def frame(length, total, kind="0800", version=0x45):
            return bytes(12) + bytes.fromhex(kind) + struct.pack(">BxH", version, total) + bytes(length - 18)

        good = [frame(60, 46), frame(64, 50), frame(60, 20), frame(1514, 1500), frame(34, 20),
                frame(128, 51), frame(192, 150, version=0x4F)]
        bad = [frame(60, 46, kind="0806"), frame(64, 46, kind="8100"), frame(60, 46, kind="86dd"),
               frame(60, 46, version=0x65), frame(1515, 1501), frame(33, 20), frame(60, 19),
               frame(64, 51), frame(128, 50), frame(18, 0)]
        whole = [(0, 0, len(data), data) for data in good + bad]
        cut = [(0, 0, 61, frame(60, 47))]
        records, text = self.merge("--ipv4", a=capture(cut + whole))
        self.assertEqual([r[3] for r in records], good)
        self.assertIn("7 frames of 1 captures", text)


if __name__ == "__main__":
    unittest.main()
