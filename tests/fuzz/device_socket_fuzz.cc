// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzzes sluice-device's socket with a host that sends arbitrary messages and file descriptors and
// corrupts shared memory.
#include <rte_log.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "../device_process/hostile_messages.h"
#include "check.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  rte_log_set_global_level(RTE_LOG_EMERG);  // Each input causes an error message.
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
