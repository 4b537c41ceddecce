// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzzes the packetized NIC model with arbitrary actions of host and wire. hostile_host.h lists the
// invariants.
#include <cstdint>

#include "check.h"
#include "device/ipu/hostile_host.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const char* const violation = sluice::device::ipu::HostileHost().Run({data, size});
  if (violation != nullptr) std::fprintf(stderr, "violated: %s\n", violation);
  FUZZ_CHECK(violation == nullptr);
  return 0;
}
