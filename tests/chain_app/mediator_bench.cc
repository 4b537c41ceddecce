// SPDX-License-Identifier: BSD-3-Clause
//
// Counts the CPU's instructions per mediated message. All parts are stepped in one thread, so
// callgrind counts the same in every run. scripts/chains makes callgrind count only
// CpuControl::Step.
//
//   mediator_bench STAGES BYTES OUTSTANDING MESSAGES
#include <cstdio>
#include <cstdlib>
#include <string>

#include "rig.h"

int main(int argc, char** argv) {
  using namespace sluice::chain_app::test;  // NOLINT
  if (argc != 5) return 2;
  const auto number = [&](int i) {
    return static_cast<uint32_t>(std::strtoul(argv[i], nullptr, 10));
  };
  Rig rig(
      Read(ChainText(std::string(number(1), 's'), number(2))),
      {.through_cpu = true, .bytes = number(2), .outstanding = number(3), .messages = number(4)});
  rig.Settle();
  std::printf("%lu messages\n", static_cast<unsigned long>(rig.endings().right));
  return rig.endings().right == number(4) ? 0 : 1;
}
