# SPDX-License-Identifier: BSD-3-Clause
#
# The headers of DPDK's driver interface that our drivers use. No binary package contains them.
driver_headers=(ethdev_driver.h ethdev_vdev.h ethdev_pci.h bus_driver.h dev_driver.h
  bus_vdev_driver.h bus_pci_driver.h)
