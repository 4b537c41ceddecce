// SPDX-License-Identifier: BSD-3-Clause
//
// An EAL with little memory and no device for all tests of this binary. Its arguments are
// the path of sluice-device, and rounds of attacks.
#include <gtest/gtest.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "process.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1) sluice::emulator::device_binary = argv[1];
  if (argc > 2) sluice::emulator::attack_rounds = std::atoi(argv[2]);
  std::vector<std::string> arguments = {
      argv[0],
      "--no-huge",
      "-m",
      "128",
      "--no-pci",
      "--no-telemetry",
      "--lcores=0@0",
      "--log-level=error",
      "--log-level=sluice.emulator:critical",
      "--file-prefix=device_process_test_" + std::to_string(getpid())};
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  if (rte_eal_init(static_cast<int>(pointers.size()), pointers.data()) < 0) {
    std::fprintf(stderr, "EAL failed to start: %s\n", rte_strerror(rte_errno));
    return 1;
  }
  const int result = RUN_ALL_TESTS();
  rte_eal_cleanup();
  return result;
}
