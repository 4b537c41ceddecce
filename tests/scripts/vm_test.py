#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests scripts/vm without a guest: the sources of its packages, the archive that a guest boots
with, and rejected arguments."""
import gzip
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "machine"))
import initramfs  # noqa: E402
import packages  # noqa: E402

STANZAS = """Types: deb
# http://snapshot.example/archive
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb deb-src
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main contrib

Types: deb-src
URIs: http://sources.example/debian
Suites: bookworm
Components: main

Types: deb
Enabled: no
URIs: http://disabled.example/debian
Suites: bookworm
Components: main
"""
LINES = """deb [arch=amd64 signed-by=/etc/key.gpg] http://other.example/debian bookworm main # ours
deb-src http://other.example/debian bookworm main
# deb http://comment.example/debian bookworm main
deb http://vendor.example/apt cloud-bookworm main
deb http://vendor.example/apt nodistro main
"""


class Sources(unittest.TestCase):
    def test_debians_own_are_those_of_the_release_with_another_suite(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "sources.list.d").mkdir()
            (folder / "sources.list.d" / "debian.sources").write_text(STANZAS, encoding="utf-8")
            (folder / "sources.list.d" / "vendor.list").write_text(LINES, encoding="utf-8")
            key = "[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]"
            self.assertEqual(packages.sources(folder, "bookworm"), sorted([
                f"deb {key} http://mirror.example/debian trixie main\n",
                f"deb {key} http://mirror.example/debian trixie-backports main\n",
                "deb http://mirror.example/debian-security trixie-security main contrib\n",
                "deb [signed-by=/etc/key.gpg] http://other.example/debian trixie main\n",
                "deb [signed-by=/etc/key.gpg] http://other.example/debian trixie-backports main\n",
            ]))

    def test_a_system_of_another_kind_has_none(self):
        with tempfile.TemporaryDirectory() as name:
            self.assertEqual(packages.sources(pathlib.Path(name), "noble"), [])


class Archive(unittest.TestCase):
    def test_cpio_lists_what_was_added(self):
        archive = initramfs.Archive()
        archive.folder("bin")
        archive.add("bin/odd", b"12345")
        archive.add("dev/console", mode=0o020600, device=(5, 1))
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name, "archive")
            path.write_bytes(gzip.decompress(archive.packed()))
            shown = subprocess.run(["/usr/bin/python3", "-c", READ, path], capture_output=True,
                                   text=True, check=True).stdout.split()
        self.assertEqual(shown, ["040755:bin:", "0100755:bin/odd:12345", "020600:dev/console:",
                                 "00:TRAILER!!!:"])


# Reads the archive independently: name sizes include the NUL, and names and data are padded to 4
# bytes.
READ = """
import sys
data = open(sys.argv[1], "rb").read()
at = 0
while data[at:at + 6] == b"070701":
    field = [int(data[at + 6 + 8 * i:at + 14 + 8 * i], 16) for i in range(13)]
    name = at + 110
    body = (name + field[11] + 3) & ~3
    print(f"0{field[1]:o}:{data[name:name + field[11] - 1].decode()}:"
          f"{data[body:body + field[6]].decode()}")
    at = (body + field[6] + 3) & ~3
assert at == len(data)
"""


class Arguments(unittest.TestCase):
    def test_what_makes_no_guest_is_refused_in_one_line(self):
        for arguments, says in (
                (["run"], "give the command after --"),
                (["shell", "--", "ls"], "shell accepts no command"),
                (["run", "--nic=e810", "--", "ls"], "--nic=e810: use enso or ipu"),
                (["run", "--nic=enso,wire", "--", "ls"], "'wire' is not FLAG=VALUE"),
                (["run", *3 * ["--nic=ipu"], "--", "ls"], "a guest has at most two"),
                (["run", "--wire=loopback", "--", "ls"], "--wire: give a --nic"),
                (["run", "--bind=igb_uio", "--", "ls"], "--bind=igb_uio: use uio, vfio or none"),
                (["run", "--accel=xen", "--", "ls"], "--accel=xen: use kvm or tcg"),
                (["run", "--memory=64", "--", "ls"], "--memory=64: give megabytes"),
                (["boot"], "arguments are required: FOLDER"),
                (["boot", "/proc"], "/proc: has no /sbin/init"),
                (["boot", "/", "--", "ls"], "boot accepts no command"),
                (["run", "--speed=9", "--", "ls"], "unrecognized arguments: --speed=9")):
            done = subprocess.run([ROOT / "scripts" / "vm", *arguments], capture_output=True,
                                  text=True, stdin=subprocess.DEVNULL, check=False)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(says, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_bindings_name_drivers(self):
        done = subprocess.run(["/bin/sh", ROOT / "scripts" / "machine" / "bind.sh", "0000:01:00.0",
                               "igb_uio"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertTrue(re.search("use uio, vfio or none", done.stderr))


if __name__ == "__main__":
    unittest.main()
