// SPDX-License-Identifier: BSD-3-Clause
//
// A NIC on a bus before a client that says, hands over and spoils what the fuzzer invents.
#include <rte_log.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "../vfio_user/hostile_client.h"
#include "check.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  rte_log_set_global_level(RTE_LOG_EMERG);  // Each input earns a complaint.
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static sluice::emulator::vfio_user::test::HostileClient client(
      "/tmp/sluice-fuzz-bus-" + std::to_string(getpid()) + ".sock");
  const char* const broken = client.Say(data, size, true);
  if (broken != nullptr) std::fprintf(stderr, "%s\n", broken);
  FUZZ_CHECK(broken == nullptr);
  return 0;
}
