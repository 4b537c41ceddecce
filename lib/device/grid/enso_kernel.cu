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

/// The block's shared memory. The launch sets its size to sizeof(EnsoMemory).
extern __attribute__((shared)) unsigned char sluice_shared[];

namespace sluice::device::grid {
namespace {

__attribute__((shared)) TeamMemory team_memory;

/// Runs a block's turns until the block is stopped. There is one function per role, so that the
/// compiler allocates registers separately for each role.
template <EnsoRole kRole>
__attribute__((device, noinline)) void RunTurns(EnsoCard& card, uint32_t block, uint32_t blocks) {
  const Team team(&team_memory);
  auto& memory = *reinterpret_cast<EnsoMemory*>(sluice_shared);
  BeginTurns<kRole>(card, team, memory);
  do {
#pragma clang loop unroll(disable)
    for (uint32_t turn = 0; turn < kTurnsBetweenLooks; ++turn) {
      RunTurn<kRole>(card, block, blocks, team, memory);
    }
  } while (team.Agree([&] { return Load(&card.stopping); }) == 0);
}

}  // namespace
}  // namespace sluice::device::grid

extern "C" __attribute__((global)) __attribute__((launch_bounds(1024, 1))) void sluice_enso(
    sluice::device::grid::EnsoCard* card, sluice::device::grid::Roles roles) {
  using namespace sluice::device::grid;
  const auto block = static_cast<uint32_t>(__nvvm_read_ptx_sreg_ctaid_x());
  CallEnsoRole(roles, block, [card]<EnsoRole kRole>(uint32_t number, uint32_t count) {
    RunTurns<kRole>(*card, number, count);
  });
}
