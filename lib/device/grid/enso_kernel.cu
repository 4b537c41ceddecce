// SPDX-License-Identifier: BSD-3-Clause
//
// The Ensō NIC as a persistent kernel, compiled to PTX by clang without a CUDA toolkit.
#include <array>
#include <cstdint>
#include <string_view>

// Everything from here on is code of the card.
#pragma clang force_cuda_host_device begin
#include "device/grid/enso_blocks.h"
#pragma clang force_cuda_host_device end

extern "C" __attribute__((global)) __attribute__((launch_bounds(1024))) void sluice_enso(
    sluice::device::grid::EnsoCard* card, sluice::device::grid::Roles roles) {
  using namespace sluice::device::grid;
  alignas(16) static __attribute__((shared)) unsigned char shared[sizeof(EnsoMemory)];
  alignas(16) static __attribute__((shared)) unsigned char team_shared[sizeof(TeamMemory)];
  auto& memory = *reinterpret_cast<EnsoMemory*>(shared);
  const Team team(reinterpret_cast<TeamMemory*>(team_shared));
  const auto block = static_cast<uint32_t>(__nvvm_read_ptx_sreg_ctaid_x());
  team.ForEach(sizeof(EnsoMemory) / sizeof(uint32_t),
               [&](uint32_t i) { reinterpret_cast<uint32_t*>(shared)[i] = 0; });
  while (team.Agree([&] { return Load(&card->stopping); }) == 0) {
    TakeTurn(*card, roles, block, team, memory);
  }
}
