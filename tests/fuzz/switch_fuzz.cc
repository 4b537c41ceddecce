// SPDX-License-Identifier: BSD-3-Clause
//
// The programmable switch with devices that do what the fuzzer invents, beside two that are honest.
#include "../device/switch/hostile.h"
#include "check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using sluice::device::pcie_switch::test::HostileRun;
  FUZZ_CHECK(HostileRun(data, size).Run() == nullptr);
  return 0;
}
