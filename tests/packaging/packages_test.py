#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""packages_test.py FOLDER: makes the packages, installs them into a root below FOLDER, uses them
there and purges them."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = HERE.parents[1] / "scripts/package"
FOLDER = pathlib.Path(sys.argv[1])
ROOT = FOLDER / "root"
TOOLS = ("dh", "help2man", "lintian", "unshare")

# Essential files in each package.
FILES = {
    "sluice": ["/usr/bin/sluice-maglev", "/lib/systemd/system/sluice-maglev@.service",
               "/etc/sluice/maglev/example.conf", "/usr/share/man/man1/sluice-kv.1.gz",
               "/usr/share/bash-completion/completions/sluice-echo", "/usr/sbin/sluice-host-setup"],
    "sluice-drivers": ["/dpdk/pmds-23.0/librte_net_enso.so", "/dpdk/pmds-23.0/librte_net_ipu.so"],
    "libsluice-engines1": ["/libsluice-engines.so.1"],
    "librte-node-sluice23": ["/librte_node_sluice.so.23"],
    "libsluice-dev": ["/usr/include/sluice/engines.h", "/libsluice-engines.a", "/librte_net_ipu.a",
                      "/pkgconfig/sluice-engines.pc"],
    "sluice-doc": ["/usr/share/doc/sluice-doc/docs/packages.md",
                   "/usr/share/doc/sluice-doc/apps/maglev/README.md"],
}


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def dpkg(*arguments):
    """Runs dpkg on the root. The packages' dependencies are not installed there, but on this
    machine."""
    return run("dpkg", f"--root={ROOT}", "--force-depends", "--force-script-chrootless", *arguments,
               env=os.environ | {"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"})


def files():
    """Returns all files below the root, except dpkg's."""
    return {str(path.relative_to(ROOT)) for path in ROOT.rglob("*")
            if not path.is_relative_to(ROOT / "var/lib/dpkg")
            and not path.is_relative_to(ROOT / "var/log")}


def setUpModule():
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        raise unittest.SkipTest(f"{', '.join(missing)}: come with scripts/setup --all")
    # The packages are only installed here, so a fast compression suffices.
    run(PACKAGE, FOLDER, env=os.environ | {"DPKG_DEB_COMPRESSOR_LEVEL": "1"})


class Packages(unittest.TestCase):
    def test_lintian_finds_no_error(self):
        [changes] = FOLDER.glob("*.changes")
        with tempfile.TemporaryDirectory() as folder:  # lintian leaves databases there.
            run("lintian", "--fail-on=error", "--allow-root", changes,
                env=os.environ | {"TMPDIR": folder})

    def test_each_has_what_it_is_for(self):
        debs = {path.name.split("_")[0]: path for path in FOLDER.glob("*.deb")}
        self.assertEqual(sorted(debs), sorted(FILES))
        for name, wanted in FILES.items():
            listed = [line.split(" -> ")[0].split()[-1][1:]
                      for line in run("dpkg-deb", "--contents", debs[name]).splitlines()]
            for path in wanted:
                self.assertTrue(any(file.endswith(path) for file in listed), (name, path))

    def test_programs_depend_on_their_drivers_and_on_dpdk(self):
        def depends(name):
            [path] = FOLDER.glob(f"{name}_*.deb")
            return run("dpkg-deb", "--field", path, "Depends")
        version = run("dpkg-deb", "--field", next(FOLDER.glob("sluice_*.deb")), "Version").strip()
        self.assertIn(f"sluice-drivers (= {version})", depends("sluice"))
        self.assertIn("librte-eal23", depends("sluice"))
        self.assertIn("librte-mempool-ring23", depends("sluice"))  # DPDK loads this library.
        self.assertIn("librte-ethdev23", depends("sluice-drivers"))
        self.assertNotRegex(depends("libsluice-engines1"), "librte")

    def test_installed_used_and_purged(self):
        shutil.rmtree(ROOT, ignore_errors=True)
        for place in ("usr/lib", "usr/bin", "usr/sbin", "etc/systemd/system/multi-user.target.wants",
                      "var/lib/dpkg/info", "var/lib/dpkg/updates"):
            (ROOT / place).mkdir(parents=True)
        for name in ("lib", "bin", "sbin"):
            (ROOT / name).symlink_to(f"usr/{name}")
        (ROOT / "var/lib/dpkg/status").touch()
        before = files()
        dpkg("--install", *FOLDER.glob("*.deb"))
        self.use()
        # Files that services and operators leave behind.
        for path in ("etc/sluice/maglev/web.conf", "var/lib/sluice/maglev/web/report.json",
                     "usr/share/sluice/top/__pycache__/pages.pyc"):
            (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / path).touch()
        wants = ROOT / "etc/systemd/system/multi-user.target.wants/sluice-maglev@web.service"
        wants.symlink_to("/lib/systemd/system/sluice-maglev@.service")
        names = [match[1] for match in re.finditer(r"^Package: (.*)$",
                 (ROOT / "var/lib/dpkg/status").read_text(), re.MULTILINE)]
        self.assertEqual(sorted(names), sorted(FILES))
        dpkg("--remove", *names)
        self.assertTrue((ROOT / "etc/sluice/maglev/web.conf").exists())
        dpkg("--purge", *names)
        self.assertEqual(files() - before, set())

    def use(self):
        """Runs installed_test.py with the root's /usr and /etc over those of the machine."""
        if subprocess.run(["unshare", "--mount", "true"], check=False).returncode != 0:
            self.skipTest("no private mounts in here (a chroot, or a container)")
        mount = "".join(f"mount -t overlay overlay -o 'lowerdir={ROOT}/{name}:/{name}' /{name} && "
                        for name in ("usr", "etc"))
        place = FOLDER / "used"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        done = subprocess.run(["unshare", "--mount", "sh", "-c", mount + 'exec "$@"', "sh",
                               sys.executable, "-B", HERE / "installed_test.py", place],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
