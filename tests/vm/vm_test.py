#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""vm_test.py BUILD ON_BUS: a guest with both NICs on its bus, bound in each way: their functions
(frames, interrupts), addresses that the IOMMU rejects, a reboot under traffic. No resources of the
guest remain."""
import sys
import unittest

import guests

BUILD, ON_BUS = sys.argv[1:]
ENSO, IPU = guests.ADDRESSES


class Smoke(guests.Case):
    def test_nics_in_a_guest_that_reboots(self):
        nics = [f"{model},{guests.STEADY}" for model in ("enso", "ipu")]
        with guests.Guest(guests.options(BUILD, *nics, reboots=True)) as running:
            listed = guests.run(running, "dpdk-devbind.py -s")
            for address in (ENSO, IPU):
                self.assertRegex(listed, f"{address} .*drv=vfio-pci")
            self.assertIn("faults: 1 counted", guests.run(running, f"{ON_BUS} faults -l 0 -a {IPU}"))
            self.assertIn("woken 100 times", guests.run(running, f"{ON_BUS} sleeps -l 0 -a {IPU}"))
            self.receives(running, BUILD, ENSO, "streaming")

            guests.start_app(running, BUILD, "echo", IPU)
            running.send("echo b >/proc/sysrq-trigger\n")
            running.await_boot(2, guests.STEP_S)
            for address in (ENSO, IPU):
                guests.run(running, f"{guests.BIND} {address} uio")
            # uio_pci_generic has no interrupts to forward, and the port reports that.
            self.assertIn("not supported",
                          guests.run(running, f"{ON_BUS} sleeps -l 0 -a {IPU} 2>&1", code=1))
            self.receives(running, BUILD, IPU, "packetized")
            self.receives(running, BUILD, ENSO, "streaming")
            guests.leave(running)


if __name__ == "__main__":
    del sys.argv[1:]
    guests.need_packages()
    unittest.main()
