// SPDX-License-Identifier: BSD-3-Clause
//
// Both ends of a swap against a peer that posts what the fuzzer invents.
#include "../swap/hostile_lines.h"
#include "check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FUZZ_CHECK(sluice::swap::test::HearHostileLines(data, size).broken == nullptr);
  return 0;
}
