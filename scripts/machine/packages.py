# SPDX-License-Identifier: BSD-3-Clause
"""Packages of Debian for virtual machines: QEMU and its libraries, a kernel and busybox, unpacked
into a folder of the build. apt uses separate sources, lists and caches: the system's configuration
and packages are unchanged. The sources are the system's with the suites replaced, so no other hosts
are contacted."""
import fcntl
import os
import pathlib
import pwd
import re
import shutil
import subprocess

PROJECT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = PROJECT / "build" / "deps" / "vm"
SUITE = "trixie"  # The first release whose backports contain a QEMU that supports vfio-user
                  # devices.
BACKPORTS = f"{SUITE}-backports"
QEMU = "qemu-system-x86"
KERNEL = "linux-image-amd64"  # Depends on the image package.
BUSYBOX = "busybox-static"
# Files in the image package; a guest without disks does not need the others.
KERNEL_FILES = ("*/vmlinuz*", "*/drivers/uio/*", "*/drivers/vfio/*", "*/drivers/virtio/*",
                "*/drivers/char/virtio_console*", "*/net/9p/*", "*/fs/9p/*", "*/fs/netfs/*",
                "*/virt/lib/*", "*/drivers/iommu/iommufd/*")
TRIES = 3


class CannotFetch(Exception):
    """One line that explains why virtual machines are unavailable."""


def present():
    """Returns whether all packages are present, so that `fetch` returns at once."""
    return (FOLDER / "versions").exists()


def fetch(newest_kernel=False):
    """Downloads and unpacks everything, unless it is present; with `newest_kernel` also the kernel
    of the backports. Processes that call it run one at a time."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(FOLDER / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not present():
            _fetch()
        if newest_kernel and not kernel_folder(True).exists():
            _fetch_newest_kernel()


def kernel_folder(newest):
    """Returns the folder of the unpacked kernel: SUITE's, or the newest one, of the backports."""
    return FOLDER / ("kernel-backports" if newest else "kernel")


def _fetch_newest_kernel():
    _prepare_apt()
    print(f"vm: fetching a kernel of {BACKPORTS}", flush=True)
    downloads = _make_empty("downloads")
    kernel = _download(downloads, *_image_packages("-t", BACKPORTS))
    # Unpack beside the final folder, whose presence means that it is complete.
    _unpack_kernel(kernel, _make_empty("kernel.new"))
    shutil.rmtree(kernel_folder(True), ignore_errors=True)
    (FOLDER / "kernel.new").rename(kernel_folder(True))
    for used in (downloads, FOLDER / "apt"):
        shutil.rmtree(used, ignore_errors=True)


def _prepare_apt():
    if os.uname().machine != "x86_64":
        raise CannotFetch("the guest runs this host's programs, which are for "
                          f"{os.uname().machine}: use x86_64")
    for tool in ("apt-get", "apt-cache", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise CannotFetch(f"no {tool}: this is not a Debian system")
    _write_sources()
    _apt("apt-get", "update")


def _image_packages(*options):
    """Returns the names of the packages that contain KERNEL's files. `options` select the
    release."""
    image = re.search(r"Depends: (linux-image-\S+)", _apt("apt-cache", *options, "depends", KERNEL))
    if image is None:
        raise CannotFetch(f"{KERNEL} does not depend on a kernel image")
    # Newer releases split the image.
    parts = re.findall(r"Depends: (linux-(?:binary|modules)-\S+)",
                       _apt("apt-cache", *options, "depends", image[1]))
    return parts or [image[1]]


def _download(folder, *names):
    _apt("apt-get", "download", *names, cwd=folder)
    return [next(folder.glob(f"{name}_*.deb")) for name in names]


def _fetch():
    _prepare_apt()
    print(f"vm: fetching QEMU and a kernel of Debian's {SUITE}", flush=True)
    archives = _make_empty("archives", "partial")
    _apt("apt-get", "install", "--download-only", "--no-install-recommends", "-y", "-t", BACKPORTS,
         "-o", f"Dir::Cache::archives={archives}", QEMU)
    qemu = sorted(archives.glob("*.deb"))
    downloads = _make_empty("downloads")
    *kernel, busybox = _download(downloads, *_image_packages(), BUSYBOX)

    print(f"vm: unpacking {len(qemu) + len(kernel) + 1} packages", flush=True)
    # Empty the folder: an interrupted run may have left another version.
    unpacked = _make_empty("qemu")
    for package in qemu:
        _run("dpkg-deb", "-x", package, unpacked)
    _run("dpkg-deb", "-x", busybox, _make_empty("busybox"))
    _unpack_kernel(kernel, _make_empty(kernel_folder(False).name))
    versions = [_run("dpkg-deb", "-W", "--showformat=${Package} ${Version}\n", package)
                for package in (*qemu, *kernel, busybox)]
    for used in (archives, downloads, FOLDER / "apt", FOLDER / "qemu" / "usr" / "share" / "doc",
                 FOLDER / "qemu" / "usr" / "share" / "locale"):
        shutil.rmtree(used, ignore_errors=True)
    # Written last, so its presence means that the other files are complete.
    (FOLDER / "versions.new").write_text("".join(versions), encoding="utf-8")
    (FOLDER / "versions.new").rename(FOLDER / "versions")


def _make_empty(name, *inside):
    shutil.rmtree(FOLDER / name, ignore_errors=True)
    (FOLDER / name).joinpath(*inside).mkdir(parents=True)
    return FOLDER / name


def _run(*command, cwd=None):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=cwd,
                          stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line] or [f"exit {done.returncode}"]
        raise CannotFetch(f"{command[0]} {command[1]}: {lines[-1]}")
    return done.stdout


def _apt(tool, *arguments, cwd=None):
    apt = FOLDER / "apt"
    options = {"Dir::Etc::sourcelist": "/dev/null", "Dir::Etc::sourceparts": apt / "sources",
               "Dir::Etc::preferences": "/dev/null", "Dir::Etc::preferencesparts": "/dev/null",
               "Dir::State": apt / "state", "Dir::State::status": apt / "state" / "status",
               "Dir::Cache": apt / "cache", "Acquire::Retries": TRIES,
               "APT::Sandbox::User": pwd.getpwuid(os.getuid()).pw_name}
    command = [tool, "-qq" if tool == "apt-get" else "-q",
               *(part for name, value in options.items() for part in ("-o", f"{name}={value}")),
               *arguments]
    for _ in range(TRIES - 1):
        try:
            return _run(*command, cwd=cwd)
        except CannotFetch:
            pass
    return _run(*command, cwd=cwd)


def _write_sources():
    _make_empty("apt", "sources")
    for inside in ("state/lists/partial", "cache/archives/partial"):
        (FOLDER / "apt" / inside).mkdir(parents=True)
    (FOLDER / "apt" / "state" / "status").touch()  # The private dpkg status lists no package.
    codename = re.search(r"^VERSION_CODENAME=(\w+)",
                         pathlib.Path("/etc/os-release").read_text(encoding="utf-8"), re.M)
    lines = sources(pathlib.Path("/etc/apt"), codename[1] if codename else "")
    if not lines:
        raise CannotFetch("no package source of this system is a Debian archive")
    (FOLDER / "apt" / "sources" / "vm.list").write_text("".join(lines), encoding="utf-8")


def sources(folder, codename):
    """Returns the lines of a sources.list: the Debian sources in apt's configuration in `folder`,
    identified by suites that begin with the release's `codename`, with `SUITE` in its place."""
    found = set()
    for signed_by, uris, suites, components in _entries(folder):
        for uri in uris:
            for suite in suites:
                if suite == codename:
                    wanted = (SUITE, BACKPORTS)
                elif suite == f"{codename}-security":
                    wanted = (f"{SUITE}-security",)
                else:
                    continue
                option = f" [signed-by={signed_by}]" if signed_by else ""
                found.update(f"deb{option} {uri} {name} {' '.join(components)}\n"
                             for name in wanted)
    return sorted(found)


def _entries(folder):
    """Yields keyring, URIs, suites and components of each source of binary packages."""
    for path in sorted((folder / "sources.list.d").glob("*.sources")):
        for stanza in re.split(r"\n\s*\n", path.read_text(encoding="utf-8")):
            text = re.sub(r"^#.*\n?", "", stanza, flags=re.M)
            fields = {name.lower(): value.split() for name, value in
                      re.findall(r"^([\w-]+):((?:.*\n?)(?:[ \t]+.*\n?)*)", text, re.M)}
            if "deb" in fields.get("types", ()) and fields.get("enabled", ["yes"]) != ["no"]:
                key = fields.get("signed-by", [""])
                yield (key[0] if key[0].startswith("/") else "", fields.get("uris", ()),
                       fields.get("suites", ()), fields.get("components", ()))
    lists = [folder / "sources.list", *sorted((folder / "sources.list.d").glob("*.list"))]
    for path in lists:
        if not path.exists():
            continue
        for line in path.read_text(encoding="utf-8").splitlines():
            entry = re.match(r"\s*deb\s+(?:\[(.*?)\]\s+)?(\S+)\s+(\S+)\s+([^#]*)", line)
            if entry:
                key = re.search(r"signed-by=(\S+)", entry[1] or "", re.I)
                yield (key[1] if key else "", [entry[2]], [entry[3]], entry[4].split())


def _unpack_kernel(parts, target):
    for package in parts:
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package],
                              stdout=subprocess.PIPE) as tar:
            # Which patterns match depends on the version.
            subprocess.run(["tar", "-x", "-C", target, "--wildcards", *KERNEL_FILES],
                           stdin=tar.stdout, stderr=subprocess.DEVNULL, check=False)
        if tar.returncode != 0:
            raise CannotFetch(f"{package.name} cannot be unpacked")
    if not list(target.rglob("vmlinuz*")):
        raise CannotFetch(f"{parts[0].name} has no kernel")
