#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""faults_test.py BUILD [ROUNDS]: removes NICs from a guest under traffic. With ROUNDS, ends a
device and the guest this many times in turn, regularly and by a kill; no files or processes
remain."""
import itertools
import sys
import unittest

import guests

ROUNDS = int(sys.argv.pop()) if sys.argv[-1].isdigit() else 0
BUILD = sys.argv[1]
ENSO, IPU = guests.ADDRESSES
FACES = ((ENSO, "streaming"), (IPU, "packetized"))
# QEMU's message when it aborts because a device has died (docs/vfio-user.md).
ABORTS = "error_setv: Assertion"


class Faults(guests.Case):
    def both(self, **options):
        # QEMU aborts when one of its MSI-X functions is unplugged.
        return guests.Guest(guests.options(BUILD, f"enso,{guests.STEADY}",
                                           f"ipu,interrupts=off,{guests.STEADY}", **options))

    def bring_back(self, running, number, bind):
        """Replaces a device that vanished under an application by another device."""
        nic, (address, _) = running.nics[number], FACES[number]
        # The device reads as all ones and every wait ends, so the run must end with the verdict
        # that the device's link is down.
        self.assertIn("link was down", guests.end_app(running, code=1))
        running.unplug(nic)
        nic.start()
        running.plug(nic)
        guests.await_nic(running, address, bind)

    def replace(self, running, number, bind):
        guests.start_app(running, BUILD, "echo", *FACES[number])
        running.nics[number].stop()
        self.bring_back(running, number, bind)

    def kill(self, running, number, bind):
        """Kills the device under an application, and replaces it. Returns False if QEMU has
        aborted."""
        guests.start_app(running, BUILD, "echo", *FACES[number])
        running.nics[number].kill()
        try:
            self.bring_back(running, number, bind)
        except (ConnectionError, guests.guest.GuestFailed):
            self.assertIn(ABORTS, running.log("qemu.log"))
            return False
        return True

    @unittest.skipIf(ROUNDS, "rounds alone")
    def test_devices_that_end_come_back(self):
        for bind in ("uio", "vfio"):
            with self.subTest(bind=bind), self.both(bind=bind) as running:
                for number, face in enumerate(FACES):
                    self.replace(running, number, bind)
                    self.receives(running, BUILD, *face)
                guests.leave(running)

    @unittest.skipIf(ROUNDS, "rounds alone")
    def test_drivers_that_are_unbound_under_traffic(self):
        for bind in ("uio", "vfio"):
            with self.subTest(bind=bind), self.both(bind=bind) as running:
                for address, iface in FACES:
                    guests.start_app(running, BUILD, "echo", address, iface)
                    # vfio-pci waits for its user. uio_pci_generic is unbound, and the function then
                    # loses bus mastering.
                    running.send(f"{guests.BIND} {address} none & bind=$!\n")
                    guests.end_app(running, code=None)
                    guests.run(running, f"wait $bind && {guests.BIND} {address} {bind}")
                    self.receives(running, BUILD, address, iface)
                guests.leave(running)

    @unittest.skipUnless(ROUNDS, "without rounds")
    def test_rounds(self):
        ends = dict.fromkeys(("device ended", "device killed", "QEMU aborted", "guest rebooted",
                              "QEMU killed"), 0)
        rounds = iter(range(1, ROUNDS + 1))
        for first in rounds:
            with self.both(bind="uio", reboots=True) as running:
                for done in itertools.chain((first,), rounds):
                    number = done // 4 % 2
                    if done % 4 == 1:
                        self.replace(running, number, "uio")
                        ends["device ended"] += 1
                    elif done % 4 == 2:
                        guests.start_app(running, BUILD, "echo", *FACES[number])
                        running.send("echo b >/proc/sysrq-trigger\n")
                        running.await_boot(running.boots + 1, guests.STEP_S)
                        ends["guest rebooted"] += 1
                    elif done % 4 == 3:
                        ends["device killed"] += 1
                        if not self.kill(running, number, "uio"):
                            ends["QEMU aborted"] += 1
                            break
                    else:
                        guests.start_app(running, BUILD, "echo", *FACES[number])
                        running.process.kill()
                        ends["QEMU killed"] += 1
                        break
            self.assertEqual(guests.leftovers(self.before), set(), f"round {done}")
            print(f"{done} rounds: {ends}", flush=True)


if __name__ == "__main__":
    del sys.argv[1:2]
    guests.need_packages()
    unittest.main()
