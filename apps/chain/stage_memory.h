// SPDX-License-Identifier: BSD-3-Clause
//
// What sluice-chain shares with one of its stages: the link, counters, and how the start went. One
// sealed file without a name, so that a stage can be a process; either end may die at any instant.
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
  kFailed,  ///< `error` says why.
};

/// Begins as zeroes.
struct StageMemory {
  std::atomic<Phase> phase;
  std::array<char, 252> error;
  /// Of its executor; ends with a 0. Here, and not among its arguments, which everybody can read.
  std::array<char, 1028> options;
  device::stage::StageCounters counters;
  device::stage::LinkMemory link;
};
inline constexpr size_t kStageMemoryBytes = (sizeof(StageMemory) + 4095) / 4096 * 4096;

}  // namespace sluice::chain_app
