// SPDX-License-Identifier: BSD-3-Clause
//
// Memory that sluice-chain shares with one stage: the link, counters, and the result of the start.
// It is an unnamed, sealed file, so that a stage can be a process. Either end may die at any time.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "device/stage/link.h"
#include "device/stage/stage.h"

namespace sluice::chain_app {

enum class Phase : uint32_t {
  kStarting,
  kReady,
  kFailed,  ///< `error` contains the reason.
};

/// All bytes are initially zero.
struct StageMemory {
  std::atomic<Phase> phase;
  std::array<char, 252> error;
  /// Options of the executor, NUL-terminated. They are not in the process's arguments, which all
  /// users can read.
  std::array<char, 1028> options;
  device::stage::StageCounters counters;
  device::stage::LinkMemory link;
};
inline constexpr size_t kStageMemoryBytes = (sizeof(StageMemory) + 4095) / 4096 * 4096;

}  // namespace sluice::chain_app
