// SPDX-License-Identifier: BSD-3-Clause
//
// The packetized NIC model under a host and a wire that do anything: see hostile_host.h for what
// must hold.
#include <cstdint>

#include "check.h"
#include "device/ipu/hostile_host.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const char* const violation = sluice::device::ipu::HostileHost().Run({data, size});
  if (violation != nullptr) std::fprintf(stderr, "violated: %s\n", violation);
  FUZZ_CHECK(violation == nullptr);
  return 0;
}
