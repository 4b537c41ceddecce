#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""installed_test.py FOLDER: tests the installed packages. packages_test.py runs it in a mount
namespace that contains them."""
import pathlib
import subprocess
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
# pylint: disable=wrong-import-position
from harness import sh
from service import command, environment, settings, start_and_stop

FOLDER = sys.argv[1]
UNITS = sorted(pathlib.Path("/lib/systemd/system").glob("sluice-*@.service"))


class Installed(unittest.TestCase):
    def test_systemd_finds_nothing_wrong_with_units(self):
        self.assertGreater(len(UNITS), 5)
        done = subprocess.run(["systemd-analyze", "verify", "--man=yes",
                               *(unit.name.replace("@", "@example") for unit in UNITS)],
                              capture_output=True, text=True, check=False)
        ours = [line for line in done.stderr.splitlines() if "sluice" in line]
        self.assertEqual((done.returncode, ours), (0, []), done.stderr)

    def test_systemd_sees_what_is_wrong(self):
        bad = pathlib.Path(FOLDER) / "sluice-bad.service"
        bad.write_text(UNITS[0].read_text().replace("ExecStart=", "ExecStart=/none"))
        done = subprocess.run(["systemd-analyze", "verify", bad], capture_output=True, text=True,
                              check=False)
        self.assertIn("sluice-bad.service", done.stderr)

    def test_services_start_and_stop(self):
        pathlib.Path("/run/sluice").mkdir(exist_ok=True)  # RuntimeDirectory=
        for unit in UNITS:
            with self.subTest(unit.name):
                said = settings(unit.read_text())
                variables = environment(said, "example")
                for line in said["ExecStartPre"]:
                    sh(*command(line, variables))
                [line] = said["ExecStart"]
                start_and_stop(self, command(line, variables), FOLDER, "ExecReload" in said)

    def test_dpdk_loads_the_drivers_by_itself(self):
        text = sh("dpdk-testpmd", "--no-huge", "-m", "256", "--no-pci", "--no-telemetry",
                  "--file-prefix=sluice-installed", "--vdev=net_ipu0,wire=gen:size=64",
                  "--vdev=net_enso0,wire=gen:size=64", "--", "--total-num-mbufs=4096",
                  "--no-mlockall")
        self.assertIn("Configuring Port 1", text)

    def test_every_program_has_a_manual_page(self):
        for program in [*pathlib.Path("/usr/bin").glob("sluice-*"), pathlib.Path("/usr/sbin/sluice-host-setup")]:
            page = sh("man", "--where", program.name).strip()
            self.assertIn("/usr/share/man/", page)
            self.assertIn(program.name + " \\- ", sh("zcat", page))

    def test_programs_link_what_is_installed(self):
        source = pathlib.Path(FOLDER) / "engine.c"
        source.write_text("#include <sluice/engines.h>\n#include <stdio.h>\n"
                          "int main(void) { puts(sluice_engines_release()); return 0; }\n")
        flags = sh("pkg-config", "--cflags", "--libs", "sluice-engines").split()
        program = f"{FOLDER}/engine"
        sh("cc", str(source), "-o", program, *flags)
        self.assertEqual(sh(program).strip(), sh("sluice-echo", "--version").split()[-1])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
