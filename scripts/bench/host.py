# SPDX-License-Identifier: BSD-3-Clause
"""Prepares the measuring host: builds the programs, reserves hugepages, and describes the host."""
import datetime
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import run

ROOT = pathlib.Path(__file__).resolve().parents[2]
HUGEPAGES = 1024
BUNDLE = "bundle.json"  # This file of a bundle contains the `identity` of its tree.


def is_bundle():
    """Returns whether ROOT was made by scripts/bundle, so that nothing can be built in it."""
    return (ROOT / BUNDLE).exists()


def build(targets):
    print("building build/release ...", flush=True)
    done = subprocess.run(["scripts/build", "release", *targets],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise run.RunError("the build failed:\n" + (done.stdout + done.stderr)[-4000:])


def prepare(targets, wanted=HUGEPAGES):
    """Builds the targets, or finds them in a bundle, and, as root, reserves `wanted` hugepages.
    Returns whether hugepages can be used."""
    if not is_bundle():
        build(targets)
    elif missing := [each for each in targets if not (ROOT / run.RELEASE / each).exists()]:
        raise run.RunError(f"not in this bundle: {', '.join(missing)}")
    if os.geteuid() == 0:
        subprocess.run(["scripts/host_setup", "hugepages", str(wanted)],
                       stdout=subprocess.DEVNULL, check=False)
    free = subprocess.run(["scripts/host_setup", "hugepages"], capture_output=True, text=True,
                          check=False).stdout.strip()
    hugepages = os.geteuid() == 0 and bool(free) and not free.endswith(" 0 free")
    print(f"memory: {free}" if hugepages else
          "memory: no hugepages; no verdict on speed: run as root, or reserve hugepages")
    return hugepages


def command_output(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def identity():
    """Returns the commit and the release of DPDK that programs are built from."""
    if is_bundle():
        return json.loads((ROOT / BUNDLE).read_text(encoding="utf-8"))
    git_id = command_output("git", "rev-parse", "HEAD") or "unknown"
    if command_output("git", "status", "--porcelain", "--untracked-files=no"):
        git_id += "-dirty"
    return {"git": git_id, "dpdk": command_output("pkg-config", "--modversion", "libdpdk")}


def manifest_of(hugepages, capture=None):
    """Returns the description of a run in its file of measurements."""
    cpuinfo = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = re.search(r"model name\s*: (.*)", cpuinfo)
    made_of = identity()
    return {"git": made_of["git"], "cpu": model[1] if model else "unknown",
            "cpus": len(os.sched_getaffinity(0)), "hugepages": hugepages,
            "dpdk": made_of["dpdk"], "capture": capture,
            "command": shlex.join(sys.argv), "kernel": os.uname().release,
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")}
