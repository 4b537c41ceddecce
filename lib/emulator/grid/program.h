// SPDX-License-Identifier: BSD-3-Clause
//
// Describes a model that runs as blocks (lib/device/grid), on a GPU or as threads of this process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "device/grid/card.h"
#include "device/grid/roles.h"
#include "device/grid/team.h"
#include "emulator/attach.h"

namespace sluice::emulator {

struct GridProgram {
  const char* kernel;    ///< Name of the kernel in `ptx`.
  const char* ptx;       ///< Empty if the build had no compiler for PTX.
  size_t card_bytes;     ///< Size of the model's card class, whose only base is grid::Card.
  size_t block_bytes;    ///< Shared memory of a thread block, in bytes.
  size_t staging_bytes;  ///< Additional card memory.
  bool exchanges;        ///< Whether the model uses exchange blocks (Roles::exchangers).
  std::span<const std::string_view> events;  ///< Names of the model's counters.
  uint32_t received;  ///< Index of the counter for frames that reached the host.

  /// Constructs a card in zeroed memory.
  device::grid::Card* (*construct)(void* memory);
  /// Resets the model's state to power-on. Returns null, or a one-line message that names the
  /// invalid setting (static storage).
  const char* (*reset)(device::grid::Card& card, const SettingValues& settings, uint8_t* staging);
  /// Looks up every ring again after memory has been removed or moved.
  void (*find_rings)(device::grid::Card& card);
  /// Counts the frames that a dead host held. Null if the model does not count them.
  void (*host_died)(device::grid::Card& card);
  /// Initializes a block's memory before its first turn.
  void (*begin)(device::grid::Card& card, const device::grid::Roles& roles, uint32_t block,
                const device::grid::Team& team, void* memory);
  /// Runs one turn of a block on one thread, which does the work of all of the block's threads.
  void (*turn)(device::grid::Card& card, const device::grid::Roles& roles, uint32_t block,
               const device::grid::Team& team, void* memory);
};

}  // namespace sluice::emulator
