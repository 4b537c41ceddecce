#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# bind.sh ADDRESS uio|vfio|none: binds a PCI function of the guest to a kernel driver.
set -e
device=/sys/bus/pci/devices/$1
# Without vfio-pci, a function gets an identity domain, so that it accesses physical addresses as
# without an IOMMU. With `none` it does not, because that would map memory: QEMU aborts if a map
# fails after the device was unplugged.
domain=$device/iommu_group/type
case $2 in
  uio) driver=uio_pci_generic kind=identity ;;
  vfio) driver=vfio-pci kind=auto ;;
  none) driver= kind=auto ;;
  *)
    echo "bind: '$2': use uio, vfio or none" >&2
    exit 2
    ;;
esac
[ ! -e "$device/driver" ] || echo "$1" >"$device/driver/unbind"
[ ! -e "$domain" ] || echo "$kind" >"$domain"
echo "$driver" >"$device/driver_override"
[ -z "$driver" ] || echo "$1" >/sys/bus/pci/drivers_probe
[ -z "$driver" ] || [ -e "$device/driver" ] || {
  echo "bind: $driver does not bind $1" >&2
  exit 1
}
