// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzzes a stage with both interfaces: switch and host act arbitrarily, next to an honest sender.
#include "../device/stage/hostile.h"
#include "check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FUZZ_CHECK(sluice::device::stage::test::HostileRun(data, size).Run() == nullptr);
  return 0;
}
