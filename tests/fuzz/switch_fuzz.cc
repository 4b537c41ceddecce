// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzzes the programmable switch with devices that act arbitrarily, next to two honest ones.
#include "../device/switch/hostile.h"
#include "check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using sluice::device::pcie_switch::test::HostileRun;
  FUZZ_CHECK(HostileRun(data, size).Run() == nullptr);
  return 0;
}
