// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzzes both ends of an endpoint with a peer that stores arbitrary values.
#include "../coherent/hostile_memory.h"
#include "check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  using namespace sluice::coherent::test;
  const auto drive = (data[0] & 1) != 0 ? DriveNic : DriveHost;
  FUZZ_CHECK(drive(data + 1, size - 1).broken == nullptr);
  return 0;
}
