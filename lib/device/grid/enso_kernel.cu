// SPDX-License-Identifier: BSD-3-Clause
//
// The Ensō NIC as a persistent kernel, compiled to PTX by clang without a CUDA toolkit.
#include <array>
#include <cstdint>
#include <string_view>

// The includes below are compiled for the card.
#pragma clang force_cuda_host_device begin
#include "device/grid/enso_blocks.h"
#pragma clang force_cuda_host_device end

/// Shared memory of the block. The launch sets its size to sizeof(EnsoMemory).
extern __attribute__((shared)) unsigned char sluice_shared[];

extern "C" __attribute__((global)) __attribute__((launch_bounds(1024, 1))) void sluice_enso(
    sluice::device::grid::EnsoCard* card, sluice::device::grid::Roles roles) {
  using namespace sluice::device::grid;
  static __attribute__((shared)) TeamMemory team_memory;
  auto& memory = *reinterpret_cast<EnsoMemory*>(sluice_shared);
  const Team team(&team_memory);
  const auto block = static_cast<uint32_t>(__nvvm_read_ptx_sreg_ctaid_x());
  BeginTurns(*card, roles, block, team, memory);
  do {
#pragma clang loop unroll(disable)
    for (uint32_t turn = 0; turn < kTurnsBetweenLooks; ++turn) {
      RunTurn(*card, roles, block, team, memory);
    }
  } while (team.Agree([&] { return Load(&card->stopping); }) == 0);
}
