# SPDX-License-Identifier: BSD-3-Clause
"""Chooses the accelerator of a guest: KVM where it works, otherwise QEMU's TCG. A kernel may offer
KVM although some instructions of a guest fail, as in some virtual machines, so a guest is tried
once per boot of this host."""
import fcntl
import os
import pathlib

import packages

ACCELERATORS = ("kvm", "tcg")
KVM_GET_API_VERSION = 0xAE00  # linux/kvm.h
KVM_CREATE_VM = 0xAE01
TRIAL_S = 20


def _offered():
    """Returns whether this process may use KVM."""
    try:
        kvm = os.open("/dev/kvm", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        if fcntl.ioctl(kvm, KVM_GET_API_VERSION, 0) != 12:
            return False
        os.close(fcntl.ioctl(kvm, KVM_CREATE_VM, 0))
        return True
    except OSError:
        return False
    finally:
        os.close(kvm)


def choose(boots):
    """Returns one of ACCELERATORS. `boots` returns whether a guest boots on KVM within the given
    number of seconds."""
    if not _offered():
        return "tcg"
    known = packages.FOLDER / "accelerator"
    this_boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    said = known.read_text(encoding="utf-8").split() if known.exists() else []
    if len(said) != 2 or said[0] != this_boot:
        said = [this_boot, "kvm" if boots(TRIAL_S) else "tcg"]
        known.write_text(" ".join(said) + "\n", encoding="utf-8")
    return said[1]
