// SPDX-License-Identifier: BSD-3-Clause
//
// The RPC NIC with frames and a process that do what the fuzzer invents, beside honest ones.
#include "../device/rpc/hostile_nic.h"
#include "check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FUZZ_CHECK(sluice::device::rpc::test::HostileRun(data, size).Run().broken == nullptr);
  return 0;
}
