# SPDX-License-Identifier: BSD-3-Clause
"""An installation in a folder below the build, which replaces the root. If EAL loads no plugins
from there, the folder is private to the test."""
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from private_folder import folder_for_plugins, plugin  # pylint: disable=wrong-import-position

EAL = ["--no-huge", "-m", "256", "--no-pci", "--no-telemetry"]


def run(*command, **environment):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=100, check=False,
                          env=os.environ | environment)
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def install(build, stage):
    shutil.rmtree(stage, ignore_errors=True)
    run("meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", stage)


def pkg_config(stage, plugins, package, *arguments):
    """Returns the output of `pkg-config PACKAGE`, as if the stage were the root."""
    moved = stage / "pkgconfig"
    moved.mkdir(exist_ok=True)
    for original in [path for path in stage.rglob("sluice*.pc") if path.parent != moved]:
        text = original.read_text()
        [prefix] = [line.split("=", 1)[1] for line in text.splitlines() if line.startswith("prefix=")]
        lines = [f"prefix={stage}{prefix}" if line.startswith("prefix=") else
                 f"plugindir={plugins}" if line.startswith("plugindir=") else line
                 for line in text.splitlines()]
        (moved / original.name).write_text("\n".join(lines) + "\n")
    return run("pkg-config", "--cflags", "--libs", *arguments, package,
               PKG_CONFIG_PATH=f"{moved}:{os.environ.get('PKG_CONFIG_PATH', '')}").stdout.split()
