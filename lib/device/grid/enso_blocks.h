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

/// Initializes a block's memory. Called once by all its threads, before the first turn.
inline void BeginTurns(EnsoCard& card, const Roles& roles, uint32_t block, const Team& team,
                       EnsoMemory& memory) {
  team.ForEach(sizeof(EnsoMemory) / sizeof(uint32_t),
               [&](uint32_t i) { reinterpret_cast<uint32_t*>(&memory)[i] = 0; });
  team.One([&] {
    if (block == 0) return;
    if (block <= roles.receivers) {
      memory.receive.shape = card.wire.shape;
    } else {
      memory.send.frames.shape = card.wire.shape;
      memory.send.read.dma.Fill(card.dma);
    }
  });
}

/// Runs one turn of block `block`. Called repeatedly by all its threads.
[[gnu::always_inline]] inline void RunTurn(EnsoCard& card, const Roles& roles, uint32_t block,
                                           const Team& team, EnsoMemory& memory) {
  if (block == 0) {
    EnsoRegisters registers(card);
    ServePosted(card, registers, team, memory.posted);
  } else if (block <= roles.receivers) {
    EnsoReceiver(card, team, memory.receive, block - 1, roles.receivers).Turn();
  } else {
    // Senders with even numbers read bytes, the others cut them into frames. A single sender does
    // both.
    const uint32_t sender = block - 1 - roles.receivers;
    if (sender % 2 == 0) EnsoReader(card, team, memory.send.read).Turn(sender / 2);
    if (sender % 2 == 1 || roles.senders == 1) {
      EnsoFramer(card, team, memory.send.frames).Turn(sender / 2);
    }
  }
}

}  // namespace sluice::device::grid
