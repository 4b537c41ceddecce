// SPDX-License-Identifier: BSD-3-Clause
//
// What dpdk-pmdinfo.py prints of a plugin: one line of JSON for each driver, which it looks for in
// .rodata. DPDK's build generates the line for the drivers of its own tree.
#pragma once

/// Makes the line at namespace scope. `driver` is a name, not a string; `parameters` a string;
/// `pci_ids` a string of JSON arrays "[vendor, device, subsystem vendor, subsystem device]" in
/// decimal, separated by commas, 65535 for any.
#define SLUICE_PMD_INFO(driver, parameters, pci_ids)                             \
  [[gnu::used]] static const char driver##_pmd_info[] =                          \
      "PMD_INFO_STRING= {\"name\" : \"" #driver "\", \"params\" : \"" parameters \
      "\", \"pci_ids\" : [" pci_ids "]}"
