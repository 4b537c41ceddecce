// SPDX-License-Identifier: BSD-3-Clause
//
// Defines the JSON line for a driver that dpdk-pmdinfo.py finds in a plugin's .rodata. DPDK's build
// generates this line for in-tree drivers.
#pragma once

/// Version of the device arguments of both drivers (docs/devargs.md), "<major>.<minor>"; part of
/// each line. A new argument increases the minor number; removing an argument or changing its
/// meaning increases the major number. tests/interfaces compares the arguments with those of the
/// last release.
#define SLUICE_PARAMS_VERSION "1.1"

/// Defines the line at namespace scope. `driver` is an identifier. `parameters` is a string.
/// `pci_ids` is a string of JSON arrays "[vendor, device, subsystem vendor, subsystem device]" in
/// decimal, separated by commas, with 65535 for any.
#define SLUICE_PMD_INFO(driver, parameters, pci_ids)                             \
  [[gnu::used]] static const char driver##_pmd_info[] =                          \
      "PMD_INFO_STRING= {\"name\" : \"" #driver "\", \"params\" : \"" parameters \
      "\", \"params_version\" : \"" SLUICE_PARAMS_VERSION "\", \"pci_ids\" : [" pci_ids "]}"
