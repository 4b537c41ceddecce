// SPDX-License-Identifier: BSD-3-Clause
//
// One EAL for all tests of the driver: no hugepages, no root, no PCI.
#include <gtest/gtest.h>
#include <rte_eal.h>
#include <unistd.h>

#include <string>

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const std::string prefix = "--file-prefix=net_ipu_test_" + std::to_string(getpid());
  const char* eal[] = {"net_ipu_test",      "--no-huge",      "-m", "256",
                       "--no-pci",          "--no-telemetry", "-l", "0",
                       "--log-level=error", prefix.c_str()};
  if (rte_eal_init(static_cast<int>(std::size(eal)), const_cast<char**>(eal)) < 0) return 1;
  const int result = RUN_ALL_TESTS();
  rte_eal_cleanup();
  return result;
}
