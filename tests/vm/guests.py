# SPDX-License-Identifier: BSD-3-Clause
"""Helpers of tests with guests: running commands, and reading their output. Import it before
reading the last argument (harness.py)."""
import json
import os
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "scripts" / "machine")]
import guest  # noqa: E402
import packages  # noqa: E402
from guest import Guest  # noqa: E402,F401

# A guest without KVM is 20 to 50 times slower than its host, and the host may be busy.
STEP_S = 600
SKIPPED = 77  # Meson's exit code for a skipped test.
# Device flags: frames arrive at a rate that is visible, but slow enough for a guest without KVM.
STEADY = "wire=gen:size=64+rate=2k,verify=full,pause=on"
ADDRESSES = ("0000:01:00.0", "0000:02:00.0")  # The addresses of the first and the second NIC.
THIRD = "0000:03:00.0"  # The address of the third NIC, which only guests with emulated NICs have.
# Regular expressions for an application's line of statistics: with any receive rate, and with one
# above 0.
RUNS = r"rx +[0-9.]+ Mpps"
RECEIVES = r"rx +[0-9.]*[1-9][0-9]* Mpps"
DRIVERS = {"uio": "uio_pci_generic", "vfio": "vfio-pci"}
BIND = ROOT / "scripts" / "machine" / "bind.sh"


def need_packages(newest_kernel=False):
    """Ends this test as skipped if the packages cannot be downloaded."""
    try:
        packages.fetch(newest_kernel)
    except packages.CannotFetch as error:
        print(f"skipped: {error}")
        sys.exit(SKIPPED)


def options(build, *nics, bind="vfio", script=None, **others):
    """Returns options of a guest. `nics` contains strings of a model and the flags of its device,
    like scripts/vm --nic."""
    listed = []
    for nic in nics:
        model, *flags = nic.split(",")
        listed.append((model, [tuple(flag.split("=", 1)) for flag in flags]))
    command = ["/bin/sh", "-c", script] if script else ["/bin/sh"]
    return guest.Options(nics=listed, bind=bind, command=command,
                         build=pathlib.Path(build).resolve(), **others)


def run(running, command, code=0, patience_s=STEP_S):
    """Returns the output of a command at the guest's shell. `code` is the expected exit code; None
    accepts any."""
    running.send(f"{command}; echo \"ended with $?.\"\n")
    found = running.wait_for(re.compile(r"([\s\S]*?)ended with (\d+)\."), patience_s)
    if code not in (int(found[2]), None):
        nics = [f"{nic.name}: {line}" for nic in running.nics for line in nic.events()[-5:]]
        raise AssertionError("\n".join([f"{command}: exit {found[2]}: {found[1][-3000:]}", *nics]))
    return found[1]


def leave(running):
    """Makes the guest power itself off."""
    running.send("exit\n")
    assert running.wait(STEP_S) == 0


def app_command(build, app, address, iface, *flags):
    name = f"sluice-{app}"
    return (f"{build}/apps/{app}/{name} --lcores=0@0,1@1,2@1 -a {address} -- --iface={iface} "
            + " ".join(flags))


def run_app(running, build, app, address, iface, *flags, duration_s=2):
    """Returns the report of an application that runs for this time; 0: until its work is done."""
    limit = [f"--duration_s={duration_s}"] if duration_s else []
    said = run(running, app_command(build, app, address, iface, *limit, "--json=-", *flags)
               + " 2>/tmp/said || { cat /tmp/said; false; }")
    return json.loads(said[said.index("{"):said.rindex("}") + 1])


def start_app(running, build, app, address, iface="packetized", *flags, receives=True):
    """Starts an application in the background of the guest's shell, as $app. Returns once it runs
    and, unless `receives` is false, has received. Its output goes to /tmp/app."""
    running.send(app_command(build, app, address, iface, *flags) + " >/tmp/app 2>&1 & app=$!\n")
    run(running, f"until grep -Eq '{RECEIVES if receives else RUNS}' /tmp/app; do sleep 0.2; "
        "kill -0 $app || { cat /tmp/app; break; }; done; kill -0 $app")


def end_app(running, code=0):
    """Stops the application with SIGTERM; returns its output. `code` is the expected exit code."""
    return run(running, "kill $app; wait $app; ended=$?; cat /tmp/app; (exit $ended)", code)


def await_nic(running, address, bind):
    """Waits until the guest has found a NIC and a driver is bound to it."""
    run(running, f"until [ -e /sys/bus/pci/devices/{address}/vendor ]; do sleep 0.2; done; "
        f"{BIND} {address} {bind}")


def leftovers(before):
    """Returns this user's processes, sockets and files that a guest left, compared with
    `before`."""
    found = set()
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if f"sluice-vm-{os.getpid()}-" in text:
            found.add(text.strip()[:120])
    return (found | snapshot()) - before


def snapshot():
    """Returns the resources that a guest's end must not add to: its folders, and hugepages of dead
    NICs. Guests and programs of other users may exist, too, and come and go."""
    folder = pathlib.Path(tempfile.gettempdir())
    found = {str(path) for path in folder.glob(f"sluice-vm-{os.getpid()}-*")}
    for path in pathlib.Path("/dev/hugepages").glob("sluice-device-*"):
        owner = re.match(r"sluice-device-(\d+)", path.name)
        if owner and not pathlib.Path("/proc", owner[1]).exists():
            found.add(str(path))
    return found


class Case(unittest.TestCase):
    """Each test cleans up completely."""

    def setUp(self):
        self.before = snapshot()

    def receives(self, running, build, address, iface, app="echo"):
        """Checks the report of an application that ran for two seconds, on a NIC with generated
        frames. Returns the report."""
        report = run_app(running, build, app, address, iface)
        self.assertGreater(report["rx_pkts"], 100)
        return report

    def tearDown(self):
        self.assertEqual(leftovers(self.before), set())
