// SPDX-License-Identifier: BSD-3-Clause
//
// The blocks of the Ensō NIC on a card: one serves the registers, the others receive or send.
#pragma once

#include <cstdint>

#include "device/grid/enso_frames.h"
#include "device/grid/enso_receive.h"
#include "device/grid/enso_registers.h"
#include "device/grid/enso_transmit.h"
#include "device/grid/posted.h"
#include "device/grid/roles.h"
#include "device/grid/team.h"

namespace sluice::device::grid {

/// Shared memory of a block.
union EnsoMemory {
  PostedMemory posted;
  EnsoReceiveMemory receive;
  struct {
    EnsoFrameMemory frames;
    EnsoReadMemory read;
  } send;
};

enum class EnsoRole { kRegisters, kReceive, kRead, kCut, kReadAndCut };

/// Calls f.template operator()<role>(number, count) with the role of block `block`, the block's
/// index within that role, and the number of blocks in the role. Senders with even numbers read
/// bytes, the others cut them into frames. A single sender does both.
template <typename F>
void CallEnsoRole(const Roles& roles, uint32_t block, F f) {
  if (block == 0) return f.template operator()<EnsoRole::kRegisters>(0, 1);
  if (block <= roles.receivers) {
    return f.template operator()<EnsoRole::kReceive>(block - 1, roles.receivers);
  }
  if (roles.senders == 1) return f.template operator()<EnsoRole::kReadAndCut>(0, 1);
  const uint32_t sender = block - 1 - roles.receivers;
  if (sender % 2 == 0) {
    f.template operator()<EnsoRole::kRead>(sender / 2, (roles.senders + 1) / 2);
  } else {
    f.template operator()<EnsoRole::kCut>(sender / 2, roles.senders / 2);
  }
}

/// Initializes a block's memory. Called once by all threads of the block, before its first turn.
template <EnsoRole kRole>
[[gnu::always_inline]] inline void BeginTurns(EnsoCard& card, const Team& team,
                                              EnsoMemory& memory) {
  team.ForEach(sizeof(EnsoMemory) / sizeof(uint32_t),
               [&](uint32_t i) { reinterpret_cast<uint32_t*>(&memory)[i] = 0; });
  team.One([&] {
    if (kRole == EnsoRole::kRegisters) return;
    if (kRole == EnsoRole::kReceive) {
      memory.receive.shape = card.wire.shape;
    } else {
      memory.send.frames.shape = card.wire.shape;
      memory.send.read.dma.Fill(card.dma);
    }
  });
}

/// Runs one turn of block `block` of the `blocks` blocks in a role. Called repeatedly by all
/// threads of the block.
template <EnsoRole kRole>
[[gnu::always_inline]] inline void RunTurn(EnsoCard& card, uint32_t block, uint32_t blocks,
                                           const Team& team, EnsoMemory& memory) {
  if constexpr (kRole == EnsoRole::kRegisters) {
    EnsoRegisters registers(card);
    ServePosted(card, registers, team, memory.posted);
  } else if constexpr (kRole == EnsoRole::kReceive) {
    EnsoReceiver(card, team, memory.receive, block, blocks).Turn();
  } else {
    if (kRole != EnsoRole::kCut) EnsoReader(card, team, memory.send.read).Turn(block);
    if (kRole != EnsoRole::kRead) EnsoFramer(card, team, memory.send.frames).Turn(block);
  }
}

}  // namespace sluice::device::grid
