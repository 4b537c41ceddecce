// SPDX-License-Identifier: BSD-3-Clause
//
// The blocks of the packetized NIC on a card: one serves the registers, the others receive, send
// or exchange.
#pragma once

#include <cstdint>

#include "device/grid/ipu_exchange.h"
#include "device/grid/ipu_receive.h"
#include "device/grid/ipu_registers.h"
#include "device/grid/ipu_transmit.h"
#include "device/grid/posted.h"
#include "device/grid/roles.h"
#include "device/grid/team.h"

namespace sluice::device::grid {

/// A block's shared memory. Initially zero, except that receive and send blocks have copies of the
/// wire's shape and the DMA table.
union IpuMemory {
  PostedMemory posted;
  IpuReceiveMemory receive;
  IpuTransmitMemory transmit;
  IpuExchangeMemory exchange;
};

/// The smallest limit on a block's shared memory among GPUs with compute capability 8.0 or later
/// (CUDA C++ Programming Guide, "Compute Capabilities": 99 KB for 8.6, 8.9 and 12.x).
inline constexpr size_t kSharedBytes = 99 * 1024;
static_assert(sizeof(IpuMemory) + sizeof(TeamMemory) <= kSharedBytes);

enum class IpuRole { kRegisters, kReceive, kSend, kExchange };

/// Calls f.template operator()<role>(number, count) with the role of block `block`, the block's
/// index within that role, and the number of blocks in the role.
template <typename F>
void CallRole(const Roles& roles, uint32_t block, F f) {
  if (block == 0) {
    f.template operator()<IpuRole::kRegisters>(0, 1);
  } else if (block <= roles.receivers) {
    f.template operator()<IpuRole::kReceive>(block - 1, roles.receivers);
  } else if (block <= roles.receivers + roles.senders) {
    f.template operator()<IpuRole::kSend>(block - 1 - roles.receivers, roles.senders);
  } else {
    f.template operator()<IpuRole::kExchange>(block - 1 - roles.receivers - roles.senders,
                                              roles.exchangers);
  }
}

/// Initializes a block's memory. Called once by all threads of the block before its first turn.
template <IpuRole kRole>
[[gnu::always_inline]] inline void BeginTurns(IpuCard& card, const Team& team, IpuMemory& memory) {
  team.ForEach(sizeof(IpuMemory) / sizeof(uint32_t),
               [&](uint32_t i) { reinterpret_cast<uint32_t*>(&memory)[i] = 0; });
  team.One([&] {
    if (kRole == IpuRole::kReceive) {
      memory.receive.shape = card.wire.shape;
      memory.receive.dma.Fill(card.dma);
    }
    if (kRole == IpuRole::kSend) {
      memory.transmit.shape = card.wire.shape;
      memory.transmit.dma.Fill(card.dma);
    }
    if (kRole == IpuRole::kExchange) memory.exchange.shape = card.wire.shape;
  });
}

/// Runs one turn of block `block` of the `blocks` blocks in a role. Called repeatedly by all
/// threads of the block.
template <IpuRole kRole>
[[gnu::always_inline]] inline void RunTurn(IpuCard& card, uint32_t block, uint32_t blocks,
                                           const Team& team, IpuMemory& memory) {
  if constexpr (kRole == IpuRole::kRegisters) {
    IpuRegisters registers(card);
    ServePosted(card, registers, team, memory.posted);
  } else if constexpr (kRole == IpuRole::kReceive) {
    IpuReceiver(card, team, memory.receive, block, blocks).Turn();
  } else if constexpr (kRole == IpuRole::kExchange) {
    IpuExchanger(card, team, memory.exchange, block).Turn(blocks);
  } else {
    IpuTransmitter(card, team, memory.transmit, block).Turn(blocks);
  }
}

}  // namespace sluice::device::grid
