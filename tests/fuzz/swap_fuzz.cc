// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzzes both ends of a swap with a peer that posts arbitrary lines.
#include "../swap/hostile_lines.h"
#include "check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FUZZ_CHECK(sluice::swap::test::RunHostileLines(data, size).broken == nullptr);
  return 0;
}
