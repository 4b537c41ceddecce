// SPDX-License-Identifier: BSD-3-Clause
//
// The Ensō NIC model under a host and a wire that do anything: see hostile_host.h
// for what must hold.
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
