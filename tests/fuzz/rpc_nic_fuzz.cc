// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzzes the RPC NIC with arbitrary frames and a hostile process, next to an honest process.
#include "../device/rpc/hostile_nic.h"
#include "check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FUZZ_CHECK(sluice::device::rpc::test::HostileRun(data, size).Run().broken == nullptr);
  return 0;
}
