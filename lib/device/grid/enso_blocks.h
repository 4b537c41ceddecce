// SPDX-License-Identifier: BSD-3-Clause
//
// The blocks of the Ensō NIC on a card: one for registers, some that receive, some that send.
#pragma once

#include <cstdint>

#include "device/grid/enso_receive.h"
#include "device/grid/enso_registers.h"
#include "device/grid/enso_transmit.h"
#include "device/grid/posted.h"
#include "device/grid/roles.h"
#include "device/grid/team.h"

namespace sluice::device::grid {

/// Shared memory of a block: zeroes at first.
union EnsoMemory {
  PostedMemory posted;
  EnsoReceiveMemory receive;
  EnsoTransmitMemory transmit;
};
static_assert(sizeof(EnsoMemory) + sizeof(TeamMemory) <= 48 << 10, "static shared memory of a block");

/// One turn of block `block`; called by all its threads, again and again.
inline void TakeTurn(EnsoCard& card, const Roles& roles, uint32_t block, const Team& team,
                     EnsoMemory& memory) {
  if (block == 0) {
    EnsoRegisters registers(card);
    ServePosted(card, registers, team, memory.posted);
  } else if (block <= roles.receivers) {
    EnsoReceiver(card, team, memory.receive).Turn();
  } else {
    EnsoTransmitter(card, team, memory.transmit)
        .Turn(block - 1 - roles.receivers, roles.senders);
  }
}

}  // namespace sluice::device::grid
