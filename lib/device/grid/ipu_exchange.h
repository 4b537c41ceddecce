// SPDX-License-Identifier: BSD-3-Clause
//
// The exchange blocks of the packetized NIC on a card: they serve queue pairs that use regions or
// lines, instead of rings, to exchange frames with the host. Queue pairs are distributed over the
// blocks.
#pragma once

#include <cstdint>

#include "device/grid/endpoint_block.h"
#include "device/grid/ipu_card.h"
#include "device/grid/ipu_fifo.h"
#include "device/grid/ipu_link_exchange.h"
#include "device/grid/team.h"
#include "device/grid/wire_state.h"

namespace sluice::device::grid {

struct IpuExchangeMemory {
  WireShape shape;
  IpuSentMemory sent;  ///< The frames that are checked together in a turn.
  IpuLinkMemory link;
  EndpointMemory endpoints;
};

class IpuExchanger {
 public:
  /// Creates exchange block `block`.
  IpuExchanger(IpuCard& card, const Team& team, IpuExchangeMemory& memory, uint32_t block)
      : card_(card), team_(team), memory_(memory), block_(block) {}

  /// Serves each queue pair of this block once.
  void Turn(uint32_t blocks) {
    EndpointServer endpoints(card_, team_, memory_.shape, memory_.endpoints, memory_.sent, block_,
                             blocks);
    endpoints.Turn();
    for (uint32_t queue = block_; queue < kIpuQueues; queue += blocks) {
      if (endpoints.KindOf(queue) != IpuExchange::kLink) continue;
      IpuExchangeGate& gate = card_.gates[queue];
      const auto protocol = static_cast<IpuExchange>(team_.Agree([&] { return gate.Enter(); }));
      if (protocol == IpuExchange::kNone) continue;
      if (protocol == IpuExchange::kLink) {
        IpuLinker(card_, memory_.shape, team_, memory_.link, memory_.sent,
                  ExchangeStaging(card_, block_), queue)
            .Turn();
      }
      team_.One([&] { gate.Leave(); });
    }
    team_.Sync();  // The next turn overwrites the words that all threads have read.
  }

 private:
  IpuCard& card_;
  const Team team_;
  IpuExchangeMemory& memory_;
  const uint32_t block_;
};

}  // namespace sluice::device::grid
