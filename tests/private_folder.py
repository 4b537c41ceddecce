# SPDX-License-Identifier: BSD-3-Clause
"""Folders that are private to a test program and removed at its end. A test program that imports
this has a private DPDK runtime folder: files that its programs leave there, including stock and
killed ones, are removed with it. It is below the usual folder, where scripts/left_runs finds it if
the test program is killed; the next test program then removes it."""
import atexit
import fcntl
import functools
import os
import pathlib
import shutil
import stat
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "apps" / "top"))
from connection import runtime_folder  # pylint: disable=wrong-import-position

NAME = "sluice_test-"
# A more recent folder may not be locked yet, as in lib/runtime/runtime_folder.h.
FRESH_S = 600


def lock(folder):
    """Returns a descriptor that holds the lock of `folder`; None if another process holds it."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def sweep(base):
    """Removes the folders of dead test programs."""
    for folder in base.glob(NAME + "*"):
        try:
            fresh = folder.stat().st_mtime + FRESH_S > time.time()
        except OSError:
            continue  # Another test program is removing this folder.
        if not fresh and (descriptor := lock(folder)) is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(descriptor)


def hold(folder):
    """Locks `folder` for the lifetime of this process, and removes it at the end."""
    lock(folder)  # Child processes do not inherit the descriptor.
    owner = os.getpid()
    atexit.register(lambda: os.getpid() == owner and shutil.rmtree(folder, ignore_errors=True))


def make(base):
    """Creates a folder of this process below `base`, and returns it."""
    base.mkdir(mode=0o700, parents=True, exist_ok=True)
    sweep(base)
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{NAME}{os.getpid()}-", dir=base))
    hold(folder)
    return folder


def enter_runtime_folder():
    """Returns the folder that this process and its children use as RUNTIME_DIRECTORY. A test
    program that another one starts uses its parent's folder."""
    given = pathlib.Path(os.environ.get("RUNTIME_DIRECTORY", "/"))
    if not given.name.startswith(NAME):
        given = make(runtime_folder())
        os.environ["RUNTIME_DIRECTORY"] = str(given)
    elif given.name.startswith(f"{NAME}{os.getpid()}-"):
        hold(given)  # This process has re-executed itself.
    return given


RUNTIME = enter_runtime_folder()


def takes_plugins(folder):
    """Returns whether EAL loads plugins from `folder`: it refuses folders that are world-writable
    or below a world-writable one (verify_perms in DPDK's eal_common_options.c)."""
    folder = pathlib.Path(folder).resolve()
    return (not any(path.stat().st_mode & stat.S_IWOTH for path in (folder, *folder.parents))
            and not os.statvfs(folder).f_flag & os.ST_NOEXEC)


@functools.cache
def plugin_folder():
    """Returns a folder of this process from which EAL loads plugins."""
    for base in (pathlib.Path.home(), RUNTIME):
        if takes_plugins(base) and os.access(base, os.W_OK):
            return make(base / ".cache" / "sluice") if base != RUNTIME else RUNTIME
    raise RuntimeError("EAL loads no plugin from below a world-writable folder: set HOME to a "
                       "folder that is not below one")


def folder_for_plugins(preferred):
    """Returns `preferred`, or a folder of this process if EAL loads no plugins from there."""
    return pathlib.Path(preferred) if takes_plugins(preferred) else plugin_folder()


@functools.cache
def plugin(path):
    """Returns the path of a plugin, or of a copy if EAL does not load it from there."""
    path = pathlib.Path(path).absolute()
    if takes_plugins(path.resolve().parent):
        return str(path)
    return shutil.copy(path, tempfile.mkdtemp(dir=plugin_folder()))
