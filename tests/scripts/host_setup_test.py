#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests scripts/host_setup with a fake /sys and /proc (SLUICE_SYSFS)."""
import os
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/host_setup"
HUGE = "sys/kernel/mm/hugepages/hugepages-2048kB"
NIC = "0000:81:00.0"
DEVICE = f"sys/bus/pci/devices/{NIC}"


class Host(unittest.TestCase):
    """A well-prepared host; tests modify it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for path, text in {
                f"{HUGE}/nr_hugepages": "512", f"{HUGE}/free_hugepages": "500",
                "proc/mounts": "nodev /dev/hugepages hugetlbfs rw 0 0\n", "proc/1/comm": "init\n",
                "proc/sys/kernel/nmi_watchdog": "0",
                "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
                "sys/kernel/iommu_groups/0/type": "DMA",
                "sys/devices/system/cpu/isolated": "2-5", "sys/devices/system/cpu/nohz_full": "2-5",
                "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance",
                "sys/devices/system/node/node0/cpulist": "0-3",
                "sys/devices/system/node/node1/cpulist": "8-11",
                "sys/bus/pci/drivers/vfio-pci/bind": "", "sys/bus/pci/drivers/ice/unbind": "",
                "sys/bus/pci/drivers_probe": "", f"{DEVICE}/numa_node": "0",
                f"{DEVICE}/driver_override": "", f"{DEVICE}/net/eth7/address": "",
                f"{DEVICE}/current_link_speed": "16.0 GT/s", f"{DEVICE}/max_link_speed": "16.0 GT/s",
                f"{DEVICE}/current_link_width": "16", f"{DEVICE}/max_link_width": "16",
                "sys/class/net/eth7/operstate": "down", "sys/class/net/eth7/carrier": "1",
        }.items():
            self.put(path, text)
        self.set_driver("ice")

    def put(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def get(self, path):
        return (self.root / path).read_text()

    def set_driver(self, name):
        link = self.root / DEVICE / "driver"
        link.unlink(missing_ok=True)
        (self.root / f"sys/bus/pci/drivers/{name}").mkdir(parents=True, exist_ok=True)
        link.symlink_to(self.root / f"sys/bus/pci/drivers/{name}")

    def run_script(self, *arguments):
        done = subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, check=False,
                              env=os.environ | {"SLUICE_SYSFS": str(self.root)})
        return done.returncode, done.stdout + done.stderr


class Check(Host):
    def test_a_prepared_host_has_nothing_wrong(self):
        code, text = self.run_script("check")
        self.assertEqual((code, text.count("WRONG")), (0, 0), text)

    def test_each_defect_is_named_with_its_fix(self):
        for path, text, named, fix in (
                (f"{HUGE}/free_hugepages", "0", "0 free", "hugepages 1024"),
                ("proc/mounts", "", "not mounted", "mount -t hugetlbfs"),
                ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise", "always", "madvise"),
                ("sys/devices/system/cpu/isolated", "", "isolated CPUs: none", "isolcpus"),
                ("sys/devices/system/cpu/nohz_full", "2-3", "[4, 5]", "nohz_full"),
                ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave", "powersave",
                 "cpupower"),
                ("proc/77/comm", "irqbalance\n", "irqbalance: running", "systemctl stop"),
                ("proc/sys/kernel/nmi_watchdog", "1", "NMI watchdog: 1", "sysctl")):
            with self.subTest(path):
                before = self.get(path) if (self.root / path).exists() else None
                self.put(path, text)
                code, out = self.run_script("check")
                wrong = out[out.index("WRONG"):]
                self.assertEqual((code, out.count("WRONG")), (1, 1), out)
                self.assertIn(named, wrong.splitlines()[0])
                self.assertIn(fix, wrong.splitlines()[1])
                if before is None:
                    (self.root / path).unlink()
                else:
                    self.put(path, before)

    def test_a_bound_nic_on_the_node_of_isolated_cpus_is_fine(self):
        self.set_driver("vfio-pci")
        self.assertEqual(self.run_script("check", NIC)[0], 0)

    def test_a_nic_far_from_the_isolated_cpus_or_in_a_narrow_slot_is_not(self):
        self.set_driver("vfio-pci")
        self.put(f"{DEVICE}/numa_node", "1")
        self.put(f"{DEVICE}/current_link_width", "8")
        code, text = self.run_script("check", NIC)
        self.assertEqual((code, text.count("WRONG")), (1, 2), text)
        self.assertIn("isolate CPUs of node 1", text)
        self.assertIn("x16", text)


class Hugepages(Host):
    def test_a_count_is_reserved_and_never_lowered_unless_asked(self):
        self.assertEqual(self.run_script("hugepages", "1024")[0], 0)
        self.assertEqual(self.get(f"{HUGE}/nr_hugepages"), "1024")
        self.run_script("hugepages", "16")
        self.assertEqual(self.get(f"{HUGE}/nr_hugepages"), "1024")
        self.run_script("hugepages", "16", "--exact")
        self.assertEqual(self.get(f"{HUGE}/nr_hugepages"), "16")

    def test_a_dry_run_writes_nothing(self):
        code, text = self.run_script("hugepages", "1024", "--dry-run")
        self.assertEqual((code, self.get(f"{HUGE}/nr_hugepages")), (0, "512"))
        self.assertIn("echo 1024", text)

    def test_without_a_count_they_are_shown(self):
        self.assertEqual(self.run_script("hugepages"),
                         (0, "hugepages of 2 MB: 512 reserved, 500 free\n"))

    def test_what_a_service_wants_free_is_demanded(self):
        self.assertEqual(self.run_script("hugepages", "--free=500"), (0, ""))
        code, text = self.run_script("hugepages", "--free=520")
        self.assertEqual(code, 1)
        self.assertIn(f"500 of 512 are free: reserve more with {SCRIPT} hugepages 532", text)
        self.assertEqual(self.get(f"{HUGE}/nr_hugepages"), "512")

    def test_who_wants_none_needs_no_kernel_that_has_them(self):
        for path in (f"{HUGE}/nr_hugepages", f"{HUGE}/free_hugepages"):
            (self.root / path).unlink()
        (self.root / HUGE).rmdir()
        self.assertEqual(self.run_script("hugepages", "--free=0"), (0, ""))
        self.assertEqual(self.run_script("hugepages", "--free=1")[0], 1)

    def test_bad_counts(self):
        self.assertEqual(self.run_script("hugepages", "many")[0], 2)
        self.assertEqual(self.run_script("hugepages", "--", "-1")[0], 2)
        self.assertEqual(self.run_script("hugepages", "--free=-1")[0], 2)


class Binding(Host):
    def test_bind_takes_the_nic_from_its_driver_and_overrides_the_choice(self):
        code, text = self.run_script("bind", NIC)  # The fake kernel does not bind the NIC.
        self.assertEqual(code, 1)
        self.assertIn("did not bind", text)
        self.assertEqual(self.get("sys/bus/pci/drivers/ice/unbind"), NIC)
        self.assertEqual(self.get(f"{DEVICE}/driver_override"), "vfio-pci")
        self.assertEqual(self.get("sys/bus/pci/drivers_probe"), NIC)

    def test_unbind_gives_the_choice_back(self):
        self.set_driver("vfio-pci")
        self.assertEqual(self.run_script("unbind", NIC)[0], 0)
        self.assertEqual(self.get(f"{DEVICE}/driver_override"), "\n")
        self.assertEqual(self.get("sys/bus/pci/drivers_probe"), NIC)

    def test_dry_runs_write_nothing(self):
        self.assertEqual(self.run_script("bind", "81:00.0", "--dry-run")[0], 0)
        self.set_driver("vfio-pci")
        self.assertEqual(self.run_script("unbind", NIC, "--dry-run")[0], 0)
        self.assertEqual(self.get(f"{DEVICE}/driver_override"), "")

    def test_an_interface_that_is_up_is_not_taken_away(self):
        self.put("sys/class/net/eth7/operstate", "up")
        code, text = self.run_script("bind", NIC)
        self.assertEqual((code, self.get(f"{DEVICE}/driver_override")), (1, ""))
        self.assertIn("eth7", text)
        self.assertEqual(self.run_script("bind", NIC, "--force", "--dry-run")[0], 0)

    def test_without_an_iommu_binding_is_refused(self):
        (self.root / "sys/kernel/iommu_groups/0/type").unlink()
        (self.root / "sys/kernel/iommu_groups/0").rmdir()
        code, text = self.run_script("bind", NIC)
        self.assertEqual(code, 1)
        self.assertIn("iommu=on", text)
        self.put("sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "Y")
        self.assertEqual(self.run_script("bind", NIC, "--dry-run")[0], 0)

    def test_addresses_that_are_none(self):
        for address, wanted in (("eth7", 2), ("81:00", 2), ("0000:81:00.8", 2), ("../../etc", 2),
                                ("0000:99:00.0", 1)):
            for command in ("bind", "unbind", "check"):
                code, text = self.run_script(command, address)
                self.assertEqual(code, wanted, (command, address))
                self.assertIn(address, text)


if __name__ == "__main__":
    unittest.main()
