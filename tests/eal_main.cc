// SPDX-License-Identifier: BSD-3-Clause
//
// Starts one EAL for all tests of a program, without hugepages, root or PCI and with one lcore.
#include <gtest/gtest.h>

#include "eal_run.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const sluice::EalRun eal(argv[0], {"--no-huge", "-m", "256", "--no-pci", "--no-telemetry",
                                     "--lcores=0@0", "--log-level=error"});
  return eal.started() ? RUN_ALL_TESTS() : 1;
}
