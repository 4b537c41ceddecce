# SPDX-License-Identifier: BSD-3-Clause
"""The guest's initial file system: busybox, the required kernel modules, and the script that mounts
the host's file system as root (init.sh)."""
import gzip
import lzma
import pathlib
import re

import packages

HERE = pathlib.Path(__file__).resolve().parent
# Loaded in this order, after their dependencies.
MODULES = ("virtio_pci", "virtio_console", "9pnet_virtio", "9p", "uio_pci_generic",
           "vfio_iommu_type1", "vfio_pci")


class Archive:
    """cpio, format newc (linux/Documentation/driver-api/early-userspace/buffer-format.rst)."""

    def __init__(self):
        self.parts = []
        self.entries = 0

    def add(self, name, data=b"", mode=0o100755, device=(0, 0)):
        self.entries += 1
        encoded = name.encode() + b"\0"
        fields = (self.entries, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(encoded), 0)
        header = b"070701" + b"".join(b"%08x" % field for field in fields) + encoded
        for part in (header, data):
            self.parts.append(part + bytes(-len(part) % 4))

    def folder(self, name):
        self.add(name, mode=0o040755)

    def packed(self):
        self.add("TRAILER!!!", mode=0)
        return gzip.compress(b"".join(self.parts), 1)


def _modules(folder):
    """Returns the files of the package's modules by name, in the spelling of dependencies."""
    found = {}
    for path in folder.rglob("*.ko*"):
        found[path.name.split(".ko")[0].replace("-", "_")] = path
    return found


def _content(path):
    return lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()


def _in_order(files):
    """Returns pairs of a name and contents, dependencies first. Built-in modules are skipped, since
    they have no file."""
    done = {}

    def visit(name):
        if name in done or name not in files:
            return
        content = _content(files[name])
        depends = re.search(rb"\0depends=([^\0]*)\0", content)
        for other in depends[1].decode().split(",") if depends else ():
            visit(other.replace("-", "_"))
        done[name] = content

    for name in MODULES:
        visit(name)
    return list(done.items())


def kernel(newest):
    """Returns the path of the kernel's image."""
    return max(packages.kernel_folder(newest).rglob("vmlinuz*"))


def make(path, newest):
    """Writes the archive to `path`, with the modules of the newest or of the default kernel."""
    archive = Archive()
    for name in ("bin", "dev", "proc", "sys", "host", "origin", "modules"):
        archive.folder(name)
    archive.add("dev/console", mode=0o020600, device=(5, 1))
    busybox = next(path for path in (packages.FOLDER / "busybox").rglob("busybox")
                   if path.is_file() and path.parent.name == "bin")
    archive.add("bin/busybox", busybox.read_bytes())
    modules = _in_order(_modules(packages.kernel_folder(newest)))
    for name, content in modules:
        archive.add(f"modules/{name}.ko", content)
    archive.add("modules/order", "".join(f"{name}\n" for name, _ in modules).encode())
    for script in ("init.sh", "bind.sh"):
        archive.add(script.removesuffix(".sh"), (HERE / script).read_bytes())
    path.write_bytes(archive.packed())
