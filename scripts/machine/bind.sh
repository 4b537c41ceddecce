#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# bind.sh ADDRESS uio|vfio|none: binds a PCI function of the guest to a kernel driver.
set -e
device=/sys/bus/pci/devices/$1
# Without vfio-pci, a function needs an identity domain to access physical addresses, as without an
# IOMMU. vfio-pci must not leave mappings when it is unbound: QEMU aborts if a map fails after the
# device has been unplugged.
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
