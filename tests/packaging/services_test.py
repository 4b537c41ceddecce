#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""services_test.py PACKAGING CONFDIR PROGRAM…: runs the units of the build folder PACKAGING with
the programs of the build, and tests completion of flags in bash. CONFDIR is the installed folder of
configurations."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))
# pylint: disable=wrong-import-position
from harness import interfaces, listing
from service import command, environment, settings, start_and_stop

PACKAGING, CONFDIR = pathlib.Path(sys.argv[1]), sys.argv[2]
PROGRAMS = {pathlib.Path(path).name: str(pathlib.Path(path).resolve()) for path in sys.argv[3:]}
SAMPLES = {"maglev": "maglev-sample.json", "logmon": "logmon-sample.json"}
UNITS = {path.name.removesuffix("@.service"): path.read_text()
         for path in sorted(PACKAGING.glob("sluice-*@.service"))}


class Services(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def unit(self, name):
        """Returns the unit, with the examples below this test's folder instead of CONFDIR."""
        app = name.removeprefix("sluice-")
        place = self.folder / app
        place.mkdir()
        text = (PACKAGING / f"{app}-example.conf").read_text().replace(CONFDIR, str(self.folder))
        (place / "example.conf").write_text(text.replace("/run/sluice", str(self.folder)))
        if app in SAMPLES:
            shutil.copy(ROOT / "configs" / SAMPLES[app], place / "example.json")
        return settings(UNITS[name].replace(CONFDIR, str(self.folder)))

    def test_each_tells_when_it_is_ready_and_when_it_stops(self):
        self.assertEqual(sorted(UNITS), sorted(PROGRAMS))
        for name in UNITS:
            with self.subTest(name):
                unit = self.unit(name)
                self.assertEqual(unit["Type"], ["notify"])
                [line] = unit["ExecStart"]
                words = command(line, environment(unit, "example"))
                self.assertEqual(pathlib.Path(words[0]).name, name)
                start_and_stop(self, [PROGRAMS[name], *words[1:]], self.folder,
                               "ExecReload" in unit)

    def test_one_that_does_not_start_is_never_ready(self):
        unit = self.unit("sluice-maglev")
        words = command(unit["ExecStart"][0], environment(unit, "example") | {"FLAGS": "--config=/none"})
        with self.assertRaisesRegex(AssertionError, "told nothing, exit code 2"):
            start_and_stop(self, [PROGRAMS["sluice-maglev"], *words[1:]], self.folder, False)
        self.assertEqual(unit["RestartPreventExitStatus"], ["2"])

    def test_missing_hugepages_are_told_before_the_start(self):
        unit = self.unit("sluice-echo")
        words = command(unit["ExecStartPre"][0],
                        environment(unit, "example") | {"HUGEPAGES": "1000000000"})
        self.assertEqual(pathlib.Path(words[0]).name, "sluice-host-setup")
        done = subprocess.run([ROOT / "scripts/host_setup", *words[1:]], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("1000000000 free hugepages of 2 MB are required", done.stderr)


class Completion(unittest.TestCase):
    """Tests completion of words that are split as in bash, including at "=" (COMP_WORDBREAKS)."""

    def complete(self, *words):
        script = ('. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sluice; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        path = os.pathsep.join({str(pathlib.Path(p).parent) for p in PROGRAMS.values()})
        done = subprocess.run(["bash", "-c", script, ROOT / "packaging/sluice.bash", *words],
                              capture_output=True, text=True, check=True,
                              env=os.environ | {"PATH": path + os.pathsep + os.environ["PATH"]})
        return set(done.stdout.split())

    def test_flags_are_those_of_the_program(self):
        for name, program in PROGRAMS.items():
            with self.subTest(name):
                text = subprocess.run([program, "--help"], capture_output=True, text=True,
                                      check=True).stdout
                flags = set(re.findall(r"^  (--\w+)", text, re.MULTILINE))
                self.assertGreater(len(flags), 10)
                self.assertEqual(self.complete(name, "--"), flags)
        self.assertEqual(self.complete("sluice-maglev", "--expl"), {"--explain"})
        self.assertLess({"--config", "--check"}, self.complete("sluice-maglev", "--c"))

    def test_interfaces_are_those_of_the_build(self):
        names = set(interfaces(PROGRAMS["sluice-echo"]))
        self.assertEqual(len(names), len(listing(PROGRAMS["sluice-echo"], "interfaces")))
        self.assertEqual(self.complete("sluice-echo", "--iface", "="), names)
        self.assertEqual(self.complete("sluice-echo", "--iface", "=", "st"), {"streaming"})

    def test_other_values_are_files(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "backends.json").touch()
            self.assertEqual(self.complete("sluice-maglev", "--config", "=", f"{folder}/back"),
                             {f"{folder}/backends.json"})

    def test_every_installed_program_is_completed(self):
        script = '. "$0"; complete -p | sed "s/.* //"'
        done = subprocess.run(["bash", "-c", script, ROOT / "packaging/sluice.bash"],
                              capture_output=True, text=True, check=True)
        links = set(re.findall(r"'([\w-]+)'", re.search(
            r"foreach program : \[(.*?)\]", (ROOT / "packaging/meson.build").read_text(),
            re.DOTALL)[1]))
        self.assertEqual(set(done.stdout.split()), {f"sluice-{name}" for name in links | {"echo"}})
        self.assertLessEqual(set(PROGRAMS), set(done.stdout.split()))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
