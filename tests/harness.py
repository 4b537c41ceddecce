# SPDX-License-Identifier: BSD-3-Clause
"""What end-to-end tests of several applications share."""
import json
import subprocess


def listing(binary, what):
    """A table of the build: `--list=WHAT`."""
    done = subprocess.run([binary, f"--list={what}"], capture_output=True, text=True, timeout=30,
                          check=True)
    return json.loads(done.stdout)


def interfaces(binary):
    """Names of the interfaces that an application was built with."""
    return [interface["name"] for interface in listing(binary, "interfaces")]
