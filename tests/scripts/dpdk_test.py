#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests which trees of DPDK's sources scripts/build and scripts/dpdk accept, and what scripts/dpdk
makes from binary packages. apt is replaced by a script that serves made-up packages."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

HEADERS = ("ethdev_driver.h", "ethdev_vdev.h", "ethdev_pci.h", "bus_driver.h", "dev_driver.h",
           "bus_vdev_driver.h", "bus_pci_driver.h")


def run(*command, cwd=ROOT):
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


class Sources(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name, "dpdk")
        self.tree.mkdir()

    def check_refused(self, done, *words):
        self.assertEqual(done.returncode, 2, done)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_a_tree_of_another_release_is_refused(self):
        build = str(ROOT / "scripts" / "build")
        for version in ("22.11.11", "24.110.1", "124.11", ""):
            with self.subTest(version=version):
                (self.tree / "VERSION").write_text(version + "\n", encoding="utf-8")
                # Relative names refer to the caller's folder.
                self.check_refused(run(build, "--dpdk=24.11", "--dpdk-source=dpdk", "release",
                                       cwd=self.tree.parent),
                                   f"--dpdk-source={self.tree}", f"'{version}'", "24.11")

    def test_a_folder_without_sources_is_refused(self):
        for folder in (self.tree, self.tree / "missing"):
            self.check_refused(run("scripts/dpdk", "24.11", str(folder)), str(folder))

    def test_sources_of_no_release_are_refused(self):
        done = run("scripts/build", f"--dpdk-source={self.tree}", "release")
        self.check_refused(done, "usage", "--dpdk=<release>")
        self.check_refused(run("scripts/dpdk", "23.11", str(self.tree)), "usage", "24.11")

    def test_a_tree_without_driver_headers_is_refused(self):
        (self.tree / "VERSION").write_text("24.11.3\n", encoding="utf-8")
        for name in HEADERS[1:]:
            (self.tree / name).touch()
        self.check_refused(run("scripts/dpdk", "24.11", str(self.tree)), str(self.tree),
                           f"does not contain {HEADERS[0]}:")


# The fake archive serves the packages in the folder $ARCHIVE, in which the file `version` contains
# their version.
APT_CACHE = """#!/bin/sh
[ -s "$ARCHIVE/version" ] || { echo "E: No packages found" >&2; exit 100; }
sed 's/^/Version: /' "$ARCHIVE/version"
"""
APT_GET = """#!/bin/bash
for word in "$@"; do
  case $word in
    source) echo "E: Failed to fetch dpdk.orig.tar.xz 404 Not Found" >&2; exit 100 ;;
    Dir::Cache::archives=*) target=${word#*=} ;;
    *=24.11.8-1) packages+=" ${word%=*}" ;;
  esac
done
for package in $packages; do
  cp "$ARCHIVE/${package}_1.deb" "${target:-.}" || { echo "E: no $package" >&2; exit 100; }
done
"""
LIBRARIES = """prefix=/usr
libdir=${prefix}/lib/triplet
Name: dpdk-libs
Description: libraries
Version: 24.11.8
Requires.private: missing
Libs: -L${libdir} -lrte_ip_frag -lrte_eal
Cflags: -I${prefix}/include/dpdk
"""
DRIVERS = ("bus_pci", "bus_vdev", "mempool_ring", "mempool_stack", "net_af_packet", "net_bond",
           "net_failsafe", "net_null", "net_ring", "crypto_openssl", "compress_zlib")
PROGRAMS = ("testpmd", "proc-info", "pdump", "dumpcap")


class Packages(unittest.TestCase):
    """A copy of the scripts, so that build/deps of this tree is unchanged."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        self.archive = self.root / "archive"
        self.tree = self.root / "tree"
        (self.root / "scripts").mkdir()
        for script in (ROOT / "scripts" / "dpdk", *(ROOT / "scripts").glob("*.sh")):
            shutil.copy(script, self.root / "scripts")
        self.write("bin/apt-get", APT_GET).chmod(0o755)
        self.write("bin/apt-cache", APT_CACHE).chmod(0o755)
        self.write("archive/version", "")
        self.write("tree/VERSION", "24.11.8\n")
        for name in HEADERS:
            self.write(f"tree/lib/some/{name}", f"// {name}\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def pack(self, package, depends="", **files):
        """Adds a package with these files to the archive."""
        folder = self.root / "packed"
        shutil.rmtree(folder, ignore_errors=True)
        self.write("packed/DEBIAN/control", f"Package: {package}\nVersion: 24.11.8-1\n"
                   "Architecture: all\nMaintainer: nobody <nobody@example.org>\nDescription: -\n"
                   + depends)
        for name, text in files.items():
            self.write(f"packed/{name}", text).chmod(0o755)
        subprocess.run(["dpkg-deb", "--root-owner-group", "-b", folder,
                        self.archive / f"{package}_1.deb"], check=True, stdout=subprocess.DEVNULL)

    def serve_packages(self):
        self.write("archive/version", "24.11.8-1\n22.11.9-1\n24.11.2-1\n")
        self.pack("libdpdk-dev", "Depends: librte-eal25, librte-ip-frag25\n",
                  **{"usr/lib/triplet/pkgconfig/libdpdk-libs.pc": LIBRARIES,
                     "usr/lib/triplet/pkgconfig/libdpdk.pc": "Name: DPDK\nVersion: 24.11.8\n"
                     "Description: -\nRequires: libdpdk-libs\n"})
        self.pack("dpdk")
        self.pack("dpdk-dev", **{f"usr/bin/dpdk-{name}": "" for name in PROGRAMS})
        # This fake loader, for an arbitrary architecture, prints its arguments.
        self.pack("librte-eal25", **{"usr/lib/triplet/ld-linux-some.so.5":
                                     "#!/bin/sh\nprintf '%s\\n' \"$@\"\n"})
        for name in ("ip_frag", *DRIVERS):
            self.pack(f"librte-{name.replace('_', '-')}25",
                      **{f"lib/triplet/librte_{name}.so": name})

    def dpdk(self, *arguments):
        path = f"{self.root}/bin:{os.environ['PATH']}"
        return subprocess.run([self.root / "scripts" / "dpdk", "24.11", *arguments], check=False,
                              capture_output=True, text=True,
                              env={**os.environ, "PATH": path, "ARCHIVE": str(self.archive)})

    def check_skipped(self, done, *words):
        self.assertEqual(done.returncode, 77, done)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertFalse((self.root / "build/deps/dpdk-24.11/built").exists())

    def test_release_of_packages_and_headers(self):
        self.serve_packages()
        done = self.dpdk(self.tree)
        self.assertEqual(done.returncode, 0, done.stderr)
        target = self.root / "build/deps/dpdk-24.11"
        for name in HEADERS:
            self.assertEqual((target / "include" / name).read_text(encoding="utf-8"),
                             f"// {name}\n")
        flags = subprocess.run(["pkg-config", "--libs", "libdpdk"], check=True, text=True,
                               capture_output=True, env={**os.environ, "PKG_CONFIG_PATH":
                                                         f"{target}/lib/pkgconfig"}).stdout.split()
        libraries = f"{target}/usr/lib/triplet"
        for flag in (f"-L{libraries}", "-lrte_eal", "-Wl,--allow-shlib-undefined",
                     f"-Wl,-rpath,{libraries}",
                     f"-Wl,--dynamic-linker={libraries}/ld-linux-some.so.5",
                     *(f"-lrte_{name}" for name in DRIVERS)):
            self.assertIn(flag, flags)
        for name in ("ip_frag", *DRIVERS):
            self.assertTrue(pathlib.Path(libraries, f"librte_{name}.so").exists(), name)
        for name in PROGRAMS:
            said = subprocess.run([target / "usr/bin" / f"dpdk-{name}", "-l", "0 1"], check=True,
                                  capture_output=True, text=True).stdout.splitlines()
            self.assertEqual(said, [
                "--library-path", libraries, "--preload",
                " ".join(f"librte_{driver}.so" for driver in DRIVERS),
                f"{target}/libexec/dpdk-{name}", "-l", "0 1"])
        self.assertEqual(self.dpdk(self.tree).stdout, "", "it is up to date")

    def test_packages_without_headers_are_skipped(self):
        self.write("archive/version", "24.11.8-1\n")
        self.check_skipped(self.dpdk(), "404 Not Found", "binary packages (24.11.8-1)", *HEADERS,
                           "--dpdk-source=")

    def test_an_archive_without_the_release_is_skipped(self):
        self.write("bin/sleep", "#!/bin/sh\n").chmod(0o755)
        self.check_skipped(self.dpdk(), "no sources of DPDK 24.11 in trixie;",
                           "dpdk-24.11.tar.xz", "--dpdk-source=")
        self.check_skipped(self.dpdk(self.tree), str(self.tree), "no version in trixie")

    def test_a_missing_package_is_named(self):
        self.serve_packages()
        (self.archive / "librte-net-ring25_1.deb").unlink()
        self.check_skipped(self.dpdk(self.tree), "24.11.8-1", "no librte-net-ring25")


if __name__ == "__main__":
    unittest.main()
