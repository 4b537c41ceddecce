// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzzes a NIC on a PCI bus with a client that sends arbitrary messages and file descriptors and
// corrupts shared memory.
#include <rte_log.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "../vfio_user/hostile_client.h"
#include "check.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  rte_log_set_global_level(RTE_LOG_EMERG);  // Each input causes an error message.
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static sluice::emulator::vfio_user::test::HostileClient client(
      "/tmp/sluice-fuzz-bus-" + std::to_string(getpid()) + ".sock");
  const char* const broken = client.RunActions(data, size, true);
  if (broken != nullptr) std::fprintf(stderr, "%s\n", broken);
  FUZZ_CHECK(broken == nullptr);
  return 0;
}
