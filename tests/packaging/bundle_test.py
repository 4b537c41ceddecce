#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""bundle_test.py FOLDER PLUGINS [--other-release]: makes the bundle below FOLDER, unpacks it, and
runs it on this machine, whose DPDK loads plugins from PLUGINS, and in a root that contains only the
C library; with --other-release in a root of another release of Debian instead, which needs the
network. It needs root."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from harness import MEMORY, interfaces

MAKER = HERE.parents[1] / "scripts/bundle"
FOLDER = pathlib.Path(sys.argv[1]).resolve()
PLUGINS = pathlib.Path(sys.argv[2])
OTHER_RELEASE = sys.argv[3:] == ["--other-release"]
LIMIT_BYTES = 60 * 1024 * 1024
RELEASE = "trixie"
# The launcher needs these programs besides the C library.
COMMANDS = ("dash", "dirname", "readlink")
ENTER = ('root=$1; shift; for name in dev proc sys; do mount --rbind /$name "$root/$name" || exit; '
         'done; exec chroot "$root" "$@"')
APPS = ("chain", "kv", "kv-client", "logmon", "maglev", "pktgen", "rpc", "sched", "telemetry")


def output_of(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def c_library():
    """Returns the shared objects of glibc's package as {name: path}."""
    names = output_of("dpkg-query", "--listfiles", "libc6").split()
    return {pathlib.Path(name).name: pathlib.Path(name) for name in names
            if re.search(r"/(ld-linux|lib)[^/]*\.so\.\d+$", name)}


def setUpModule():
    missing = [tool for tool in ("patchelf", "unshare") if shutil.which(tool) is None]
    if missing:
        raise unittest.SkipTest(f"{', '.join(missing)}: come with scripts/setup --all")
    output_of(MAKER, FOLDER)


def unpack(folder):
    """Returns the bundle's folder, unpacked into `folder`."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    [archive] = FOLDER.glob("sluice-*.tar.gz")
    output_of("tar", "-C", folder, "-xf", archive)
    [place] = folder.iterdir()
    return place


class Bundle(unittest.TestCase):
    """Tests on a machine where the same DPDK is installed."""

    @classmethod
    def setUpClass(cls):
        cls.place = unpack(FOLDER / "any where")
        cls.addClassCleanup(shutil.rmtree, cls.place.parent)
        cls.programs = [path for path in (cls.place / "build/release").rglob("*")
                        if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
        cls.interfaces = interfaces(cls.place / "build/release/apps/echo/sluice-echo")
        # The loader would search the system's libraries here before those of a DT_RUNPATH.
        cls.environment = os.environ | {"LD_LIBRARY_PATH": str(PLUGINS.parents[1])}

    def foreign(self, paths):
        """Returns paths that are neither in the bundle nor in the C library."""
        own = c_library()
        return [path for path in map(pathlib.Path, map(os.path.normpath, paths))
                if not path.is_relative_to(self.place) and path.name not in own]

    def test_it_is_small(self):
        files = [path for path in self.place.rglob("*") if path.is_file()]
        self.assertLess(sum(path.lstat().st_size for path in files), LIMIT_BYTES)
        for program in [*self.programs, *(self.place / "lib").glob("*.so*")]:
            self.assertNotIn(".debug_info", output_of("readelf", "--sections", "--wide", program))

    def test_every_program_finds_every_library_in_it(self):
        self.assertLess({"sluice-echo", "sluice-device", "sluice-chain-frames",
                         "libsluice_rpc_store.so"}, {path.name for path in self.programs})
        for program in self.programs:
            found = re.findall(r" => (.*?)(?: \(0x\w+\))?$",
                               output_of("ldd", program, env=self.environment), re.MULTILINE)
            self.assertEqual(self.foreign(found), [], program)

    def test_plugins_of_an_installed_dpdk_are_not_loaded(self):
        self.assertTrue(list(PLUGINS.glob("librte_bus_pci.so*")), PLUGINS)
        for iface in self.interfaces:
            with self.subTest(iface=iface):
                mapped = self.mapped(iface)
                self.assertIn("librte_mempool_ring", {path.name.split(".")[0] for path in mapped})
                self.assertEqual(self.foreign(mapped), [])

    def mapped(self, iface):
        """Returns the shared objects in the memory of an application that polls."""
        with subprocess.Popen([self.place / "run", "echo", *MEMORY, "--", f"--iface={iface}"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=self.environment) as process:
            try:
                heard = ""
                while "lcore " not in heard:
                    line = process.stdout.readline()
                    self.assertTrue(line, heard)
                    heard += line
                maps = pathlib.Path(f"/proc/{process.pid}/maps").read_text()
            finally:
                process.send_signal(signal.SIGTERM)
                process.stdout.read()
        self.assertEqual(process.returncode, 0)
        return {pathlib.Path(path)
                for path in re.findall(r" (/.*\.so(?:\.[\d.]+)?)$", maps, re.MULTILINE)}

    def test_scripts_measure_with_its_programs(self):
        file = FOLDER / "throughput.json"
        output_of(self.place / "run", "throughput", "--quick", "--repeats=1", "--duration_s=0.1",
                  "--page=none", f"--json={file}")
        found = json.loads(file.read_text())
        self.assertEqual({row["iface"] for row in found["rows"]}, set(self.interfaces))
        commit = output_of("git", "rev-parse", "HEAD", cwd=HERE).strip()
        self.assertEqual(found["manifest"]["git"].removesuffix("-dirty"), commit)
        refused = subprocess.run([self.place / "run", "throughput", "--growth"], check=False,
                                 capture_output=True, text=True)
        self.assertEqual(refused.returncode, 1)
        self.assertRegex(refused.stderr, "^throughput: not in this bundle: ")

    def test_scripts_measure_the_models_of_a_card(self):
        file = FOLDER / "card.json"
        output_of(self.place / "run", "throughput", "--device=threads", "--apps=echo,telemetry",
                  "--ifaces=streaming", "--sizes=64", "--repeats=1", "--duration_s=0.2",
                  "--page=none", f"--json={file}")
        found = json.loads(file.read_text())
        self.assertEqual({row["app"] for row in found["card"]}, {"echo", "telemetry"})
        for row in [*found["card"], *found["manifest"]["latency"]]:
            self.assertEqual(row["lost"] + row["corrupted"], 0)
            self.assertGreater(row["link_bytes"]["payload_to_host"], 0)

    def test_the_launcher_lists_names(self):
        for arguments, error in (([], "usage"), (["ech"], "run: there is no 'ech'\nusage")):
            refused = subprocess.run([self.place / "run", *arguments], check=False,
                                     capture_output=True, text=True)
            self.assertEqual(refused.returncode, 2)
            self.assertTrue(refused.stderr.startswith(error), refused.stderr)
            self.assertLess({"device", "echo", "throughput", "top", *APPS},
                            set(refused.stderr.split()))


class CleanRoot(unittest.TestCase):
    """Tests in roots without installed packages."""

    def inside(self, root, *command):
        """Returns the output of the bundle's launcher in `root`, without this environment."""
        return output_of("unshare", "--mount", "sh", "-c", ENTER, "sh", root, "/opt/sluice/run",
                         *command, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})

    def check_echo(self, root, iface):
        output = self.inside(root, "echo", *MEMORY, "--", f"--iface={iface}", "--duration_s=0.5",
                             "--stats_period_s=0", "--json=-")
        report = json.loads(output[output.find("{"):])
        self.assertEqual(report["iface"], iface)
        self.assertGreater(report["rx_pkts"], 0)
        self.assertEqual(report["tx_pkts"], report["rx_pkts"])
        for fault in ("lost", "corrupted", "duplicated"):
            self.assertEqual(report[fault], 0, fault)

    def check(self, root):
        self.addCleanup(shutil.rmtree, root)
        for name in ("dev", "proc", "sys", "run", "tmp"):
            (root / name).mkdir(exist_ok=True)
        unpack(root / "opt").rename(root / "opt/sluice")
        for iface in ("packetized", "streaming", "bilateral", "coherent"):
            with self.subTest(iface=iface):
                self.check_echo(root, iface)
        for app in APPS:
            self.assertRegex(self.inside(root, app, "--version"), f"^sluice-{app} ")
        # These programs start other programs, load shared objects by path, or use other device
        # classes.
        for iface in ("coherent", "streaming"):
            self.inside(root, "rpc", f"--iface={iface}", "--duration_s=0.3")
        self.inside(root, "chain", "--duration_s=0.3",
                    "--graph=/opt/sluice/configs/chain-sealed.json")

    def test_the_c_library_is_enough(self):
        root = FOLDER / "c library"
        shutil.rmtree(root, ignore_errors=True)
        loader = pathlib.Path("/lib64/ld-linux-x86-64.so.2")
        commands = [pathlib.Path(shutil.which(name)) for name in COMMANDS]
        for path in (*c_library().values(), *commands, loader):
            target = root / path.relative_to("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path.resolve(), target)
            target.chmod(0o755)
        for name in ("bin", "var"):
            (root / name).mkdir(exist_ok=True)
        (root / "bin/sh").symlink_to(shutil.which("dash"))
        (root / "var/run").symlink_to("../run")
        self.check(root)

    @unittest.skipUnless(OTHER_RELEASE, "the test bundle_other_release runs it")
    def test_another_release_of_debian(self):
        root = FOLDER / RELEASE
        shutil.rmtree(root, ignore_errors=True)
        if shutil.which("mmdebstrap") is None:
            self.skipTest("mmdebstrap: comes with scripts/setup --all")
        done = subprocess.run(["mmdebstrap", "--variant=extract",
                               "--include=base-files,libc6,dash,coreutils,python3", RELEASE, root],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self.skipTest(f"Debian's {RELEASE} cannot be fetched: {done.stderr[-500:]}")
        self.assertFalse(list(root.rglob("librte_*")))
        self.check(root)
        # The script imports all of its modules.
        self.assertIn("--quick", self.inside(root, "throughput", "--help"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + (["-k", "another_release"] if OTHER_RELEASE else []))
