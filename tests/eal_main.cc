// SPDX-License-Identifier: BSD-3-Clause
//
// One EAL for all tests of a program: no hugepages, no root, no PCI, one lcore, and a runtime
// folder of its own.
#include <gtest/gtest.h>
#include <rte_eal.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const std::string name = std::filesystem::path(argv[0]).filename();
  std::vector<std::string> arguments = {argv[0],
                                        "--no-huge",
                                        "-m",
                                        "256",
                                        "--no-pci",
                                        "--no-telemetry",
                                        "--lcores=0@0",
                                        "--log-level=error",
                                        "--file-prefix=" + name + "-" + std::to_string(getpid())};
  std::vector<char*> eal;
  for (std::string& argument : arguments) eal.push_back(argument.data());
  if (rte_eal_init(static_cast<int>(eal.size()), eal.data()) < 0) return 1;
  const int result = RUN_ALL_TESTS();
  rte_eal_cleanup();
  return result;
}
