// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-chain-stage: the process of one stage, started by sluice-chain --processes. It can access
// its link, but neither the rest of the switch nor other stages.
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "bar/ring_memory.h"
#include "device/stage/stage.h"
#include "host/step_thread.h"
#include "stage_kinds.h"
#include "stage_memory.h"

namespace {

using sluice::chain_app::Phase;
using sluice::chain_app::StageMemory;

[[noreturn]] void Fail(StageMemory& memory, const std::string& error) {
  std::snprintf(memory.error.data(), memory.error.size(), "%s", error.c_str());
  memory.phase.store(Phase::kFailed, std::memory_order_release);
  _exit(1);
}

}  // namespace

// Arguments: FD PORT MAX_MESSAGE EXECUTOR PARENT. The options are in the shared memory.
int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr,
                 "sluice-chain-stage: do not start this program directly: sluice-chain --processes "
                 "starts it\n");
    return 2;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != std::atoi(argv[5])) return 1;  // The parent ended before the call to prctl.
  const auto shared = sluice::bar::RingMemory::FromFile(
      std::atoi(argv[1]), sluice::chain_app::kStageMemoryBytes, false);
  if (!shared) {
    std::fprintf(stderr, "sluice-chain-stage: descriptor %s is not the shared memory of a stage\n",
                 argv[1]);
    return 2;
  }
  auto& memory = *reinterpret_cast<StageMemory*>(shared.data());
  std::string error;
  const auto* const kind = sluice::chain_app::FindStage(argv[4], &error);
  if (kind == nullptr) Fail(memory, error);
  const auto longest = static_cast<uint32_t>(std::strtoul(argv[3], nullptr, 10));
  memory.options.back() = '\0';
  const auto executor = kind->make({memory.options.data(), longest}, &error);
  if (executor == nullptr) Fail(memory, error);
  const auto stage = std::make_unique<sluice::device::stage::Stage>(
      memory.link,
      static_cast<sluice::device::pcie_switch::PortId>(std::strtoul(argv[2], nullptr, 10)),
      *executor, memory.counters);
  memory.phase.store(Phase::kReady, std::memory_order_release);
  for (sluice::host::SleepingIdle idle;;) {
    if (stage->Step()) {
      idle.Worked();
    } else {
      idle.Wait();
    }
  }
}
