// SPDX-License-Identifier: BSD-3-Clause
//
// A stage by both faces, with a switch and a host that do what the fuzzer invents, beside an honest
// sender.
#include "../device/stage/hostile.h"
#include "check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FUZZ_CHECK(sluice::device::stage::test::HostileRun(data, size).Run() == nullptr);
  return 0;
}
