// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzzes the Ensō NIC model with arbitrary actions of host and wire. hostile_host.h lists the
// invariants.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "device/enso/hostile_host.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const char* violation = sluice::device::enso::HostileHost().Run({data, size});
  if (violation != nullptr) {
    std::fprintf(stderr, "violated: %s\n", violation);
    std::abort();
  }
  return 0;
}
