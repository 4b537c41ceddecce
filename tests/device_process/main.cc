// SPDX-License-Identifier: BSD-3-Clause
//
// Starts an EAL with little memory and without devices for all tests of this program. The program's
// arguments are the path of sluice-device and the number of rounds of each attack.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "../eal_run.h"
#include "process.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1) sluice::emulator::device_binary = argv[1];
  if (argc > 2) sluice::emulator::attack_rounds = std::atoi(argv[2]);
  const sluice::EalRun eal(argv[0],
                           {"--no-huge", "-m", "128", "--no-pci", "--no-telemetry", "--lcores=0@0",
                            "--log-level=error", "--log-level=sluice.emulator:critical"});
  return eal.started() ? RUN_ALL_TESTS() : 1;
}
