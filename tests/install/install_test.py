#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""install_test.py BUILD PLUGIN_DIR DPDK_PLUGIN_DIR: installs into a folder (stage.py) and uses the
installed files. EAL loads plugins from DPDK_PLUGIN_DIR by default."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

from stage import EAL, folder_for_plugins, install, pkg_config, plugin, run

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(sys.argv[1])
STAGE = folder_for_plugins(BUILD) / "install_test"
PLUGINS = STAGE / sys.argv[2].lstrip("/")
PLUGIN = PLUGINS / "librte_net_enso.so"


def last_report(done):
    return json.loads(done.stdout[done.stdout.rfind("\n{") + 1:])


def setUpModule():
    install(BUILD, STAGE)


class Install(unittest.TestCase):
    def test_everything_is_in_place(self):
        for name in ("bin/sluice-echo", "librte_net_enso.so", "librte_net_ipu.so", "rte_pmd_enso.h",
                     "rte_pmd_ipu.h", "sluice_rpc.h"):
            self.assertEqual(len(list(STAGE.rglob(name))), 1, name)
        self.assertFalse(list(STAGE.rglob("sluice-control")), "a bench is not for users")

    def test_nothing_is_outside_of_the_prefix(self):
        options = {option["name"]: option["value"] for option in
                   json.loads(run("meson", "introspect", BUILD, "--buildoptions").stdout)}
        prefix = STAGE / options["prefix"].lstrip("/")
        if options["plugin_dir"] == "":
            self.assertEqual(PLUGINS.parent.parent, prefix / options["libdir"])
            outside = [path for path in STAGE.rglob("*")
                       if path.is_file() and not path.is_relative_to(prefix)]
            self.assertEqual([path for path in outside if path.suffix != ".pc"], [])

    def test_the_live_screen_finds_its_modules(self):
        [program] = [path for path in STAGE.rglob("sluice-top") if path.parent.name == "bin"]
        self.assertIn("--file-prefix", run(program, "--help").stdout)

    def test_programs_outside_the_tree_use_native_interfaces(self):
        flags = pkg_config(STAGE, PLUGINS, "sluice")
        for source, compiler, standard, port in (
                ("consumer.c", "cc", "-std=gnu11", "net_enso0,wire=gen:size=64"),
                ("consumer.cc", "c++", "-std=c++17", "net_enso0,wire=loopback"),
                ("link_consumer.c", "cc", "-std=gnu11", "net_ipu0,wire=gen:size=64")):
            with self.subTest(source):
                program = STAGE / source.replace(".", "_")
                run(compiler, standard, "-O2", "-Wall", "-Wextra", "-Werror",
                    "-Wno-deprecated-declarations", HERE / source, "-o", program, *flags)
                run(program, *EAL, f"--file-prefix={program.name}-{os.getpid()}",
                    f"--vdev={port}")


class Registration(unittest.TestCase):
    """Two copies of a plugin in one process are one driver, however they were loaded."""

    BUILD_COPY = plugin(BUILD / "drivers/net_enso/librte_net_enso.so")

    def test_build_tree_app_with_installed_plugin_and_d(self):
        done = run(BUILD / "apps/echo/sluice-echo", *EAL, f"--file-prefix=twice-{os.getpid()}",
                   "-d", PLUGIN, "-d", self.BUILD_COPY, "--vdev=net_enso0,wire=gen:size=64",
                   "--", "--iface=streaming", "--duration_s=0.5", "--json=-")
        report = last_report(done)
        self.assertGreater(report["rx_pkts"], 0)
        self.assertEqual(report["lost"], 0)

    @unittest.skipUnless(os.geteuid() == 0, "mounts over DPDK's plugin folder")
    def test_app_with_plugins_in_the_folder_that_eal_loads_by_itself(self):
        if subprocess.run(["unshare", "--mount", "true"], check=False).returncode != 0:
            self.skipTest("no private mounts in here (a chroot, or a container)")
        folder = STAGE / "default_plugins"
        default = pathlib.Path(sys.argv[3])
        shutil.copytree(default, folder, symlinks=True)
        for plugin in PLUGINS.iterdir():
            shutil.copy2(plugin, folder / plugin.name)
        app = BUILD / "apps/echo/sluice-echo"
        done = run("unshare", "--mount", "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"',
                   folder, default, app, *EAL, f"--file-prefix=thrice-{os.getpid()}",
                   "-d", self.BUILD_COPY, "--vdev=net_enso0,wire=gen:size=64",
                   "--", "--iface=streaming", "--duration_s=0.5", "--json=-")
        self.assertGreater(last_report(done)["rx_pkts"], 0)

    def test_stock_testpmd_with_both(self):
        done = run("dpdk-testpmd", *EAL, f"--file-prefix=pmd-{os.getpid()}", "-d", PLUGIN,
                   "-d", self.BUILD_COPY, "--vdev=net_enso0,wire=gen:size=64", "--",
                   "--forward-mode=io", "--total-num-mbufs=4096", "--no-mlockall")
        text = done.stdout + done.stderr
        received = int(text.rsplit("RX-packets:", 1)[1].split()[0])
        self.assertGreater(received, 0)
        self.assertNotIn("already registered", text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
