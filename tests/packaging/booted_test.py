#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""booted_test.py FOLDER: installs the packages with apt in a minimal Debian 12, made by mmdebstrap.
It is booted in two ways: by systemd-nspawn, and as a guest of scripts/vm whose service has a NIC on
its bus. Either way systemd starts, reloads, restarts and stops the services according to their
units, and the packages are purged. Needs root, the network and these programs; Meson limits its
time."""
import dataclasses
import pathlib
import shutil
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SCRIPTS = HERE.parents[1] / "scripts"
FOLDER = pathlib.Path(sys.argv[1]).resolve()
CLEAN = FOLDER / "clean"  # In this folder, the packages are installed, but no program has run yet.
RUN_AT_BOOT = """[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/packages/in_guest.sh
ExecStopPost=/bin/systemctl poweroff --no-block
"""
# An emulated guest is 20 to 50 times slower than its host, which may be busy.
PATIENCE = """[Service]
TimeoutStartSec=infinity
TimeoutStopSec=infinity
"""
PACKAGES = "dpkg-query --show --showformat='${Package}\\n'"


@dataclasses.dataclass
class Boot:
    """A way to boot the system in `root`. `eal` and `hugepages` configure the enabled service."""
    root: pathlib.Path
    command: list
    eal: str
    hugepages: int


NSPAWN = Boot(FOLDER / "nspawn", ["systemd-nspawn", "--boot", "--register=no", "--keep-unit",
                                  "--console=pipe", "--directory"], "", 0)
GUEST = Boot(FOLDER / "guest", [SCRIPTS / "vm", "boot", "--nic=ipu,wire=gen:size=64+rate=10k",
                                "--memory=2048"], "-l 0,1 -a 0000:01:00.0", 256)


def run(*command):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit code {done.returncode}\n{done.stdout}")


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


def setUpModule():
    missing = [tool for tool in ("dh", "help2man", "mmdebstrap", "systemd-nspawn")
               if shutil.which(tool) is None]
    if missing:
        raise unittest.SkipTest(f"{', '.join(missing)}: come with scripts/setup --all")
    run(SCRIPTS / "package", FOLDER)
    for old in (CLEAN, NSPAWN.root, GUEST.root):
        shutil.rmtree(old, ignore_errors=True)
    debs = [path for path in FOLDER.glob("*.deb") if not path.name.startswith("libsluice-dev")]
    install = " ".join(f"/packages/{path.name}" for path in debs)
    run("mmdebstrap", "--variant=apt", "--include=systemd,systemd-sysv,dbus",
        '--customize-hook=mkdir "$1/packages"',
        f'--customize-hook=chroot "$1" {PACKAGES} >"$1/packages/before"',
        "--customize-hook=copy-in " + " ".join(map(str, [*debs, HERE / "in_guest.sh"])) + " /packages",
        f'--customize-hook=chroot "$1" apt-get install -y --no-install-recommends {install}',
        f'--customize-hook=chroot "$1" {PACKAGES} >"$1/packages/after"',
        "bookworm", CLEAN)
    units = CLEAN / "etc/systemd/system"
    (units / "in-guest.service").write_text(RUN_AT_BOOT)
    wants = units / "graphical.target.wants"
    wants.mkdir(exist_ok=True)
    (wants / "in-guest.service").symlink_to("../in-guest.service")
    (units / "service.d").mkdir()
    (units / "service.d/patience.conf").write_text(PATIENCE)


class Booted(unittest.TestCase):
    def test_apt_installs_what_the_packages_depend_on(self):
        before, after = (set(lines(CLEAN / "packages" / name)) for name in ("before", "after"))
        self.assertFalse([name for name in before if "sluice" in name or "librte" in name])
        # Linked libraries, programs that units run, and plugins that DPDK loads.
        self.assertLess({"sluice", "sluice-drivers", "librte-eal23", "python3",
                         "librte-mempool-ring23"}, after - before)

    def test_services_in_a_container(self):
        self.check(NSPAWN)

    def test_services_in_a_virtual_machine_with_a_nic_on_vfio(self):
        fetched = subprocess.run([SCRIPTS / "vm", "fetch"], capture_output=True, text=True,
                                 check=False)
        if fetched.returncode != 0:
            self.skipTest(fetched.stderr.strip())
        self.check(GUEST)

    def check(self, boot):
        run("cp", "-a", CLEAN, boot.root)
        (boot.root / "etc/sluice/echo/boot.conf").write_text(
            f'EAL="{boot.eal}"\nFLAGS="--iface=bilateral --stats_period_s=1"\n'
            f"HUGEPAGES={boot.hugepages}\n")
        run("systemctl", f"--root={boot.root}", "enable", "sluice-echo@boot")
        run(*boot.command, boot.root)
        listed = lines(boot.root / "packages/said")
        said = dict(line.partition(" ")[::2] for line in listed)
        self.assertIn("end", said, listed)
        self.assertEqual(said["boot"], "0 active 1")
        self.assertEqual(said["killed"], "0 1 active 2")
        self.assertEqual(said["stopped"], "0 success inactive")
        names = {name.split(".")[0] for name in said if name.endswith(".start")}
        self.assertGreater(len(names), 5)
        for name in names:
            self.assertEqual(said[name + ".start"], "0 active", name)
            self.assertEqual(said[name + ".stop"], "0 success", name)
        self.assertEqual({name: what for name, what in said.items() if name.endswith(".reload")},
                         {"sluice-device.reload": "0 active", "sluice-maglev.reload": "0 active"})
        self.assertEqual(said["huge"], "1 100000000 free hugepages of 2 MB are required")
        self.assertEqual(said["wrong"], "1 failed 0")
        self.assertEqual(said["purge"], "0 inactive")
        self.assertEqual([line for line in listed if line.startswith("left ")], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
