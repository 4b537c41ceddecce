// SPDX-License-Identifier: BSD-3-Clause
//
// libFuzzer's entry point. The build selects the target.
#include "targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sluice::fuzz::FUZZ_TARGET(data, size);
  return 0;
}
