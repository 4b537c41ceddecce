#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# bind.sh ADDRESS uio|vfio|none: what kernel driver holds a PCI function of the guest.
set -e
device=/sys/bus/pci/devices/$1
# What vfio-pci does not hold reaches physical addresses, as without an IOMMU. When vfio-pci lets go,
# nothing is to be mapped: where the device is gone, QEMU aborts over a map that fails.
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
  echo "bind: $driver does not take $1" >&2
  exit 1
}
