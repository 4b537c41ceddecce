// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-device's socket before a host that says, hands over and spoils what the fuzzer
// invents.
#include <rte_log.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "../device_process/hostile_messages.h"
#include "check.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  rte_log_set_global_level(RTE_LOG_EMERG);  // Each input earns a complaint.
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static sluice::emulator::test::HostileMessages messages("/tmp/sluice-fuzz-" +
                                                          std::to_string(getpid()) + ".sock");
  const char* const broken = messages.Hear(data, size);
  if (broken != nullptr) std::fprintf(stderr, "%s\n", broken);
  FUZZ_CHECK(broken == nullptr);
  return 0;
}
