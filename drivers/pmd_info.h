// SPDX-License-Identifier: BSD-3-Clause
//
// What dpdk-pmdinfo.py prints of a plugin: one line of JSON for each driver, which it looks for in
// .rodata. DPDK's build generates the line for the drivers of its own tree.
#pragma once

/// Of the device arguments of both drivers (docs/devargs.md), "<major>.<minor>", in each line. A
/// new argument raises the minor number; one that goes, or comes to mean something else, raises the
/// major number. tests/interfaces compares arguments with those of the last release.
#define SLUICE_PARAMS_VERSION "1.1"

/// Makes the line at namespace scope. `driver` is a name, not a string; `parameters` a string;
/// `pci_ids` a string of JSON arrays "[vendor, device, subsystem vendor, subsystem device]" in
/// decimal, separated by commas, 65535 for any.
#define SLUICE_PMD_INFO(driver, parameters, pci_ids)                             \
  [[gnu::used]] static const char driver##_pmd_info[] =                          \
      "PMD_INFO_STRING= {\"name\" : \"" #driver "\", \"params\" : \"" parameters \
      "\", \"params_version\" : \"" SLUICE_PARAMS_VERSION "\", \"pci_ids\" : [" pci_ids "]}"
