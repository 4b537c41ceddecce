// SPDX-License-Identifier: BSD-3-Clause
//
// The numbers of messages in chains. Stages see these numbers and can change them. The NIC
// therefore accepts a number only from the chain to which it issued the number.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "flow.h"

namespace sluice::chain_app {

/// Maximum flows of a NIC.
inline constexpr uint32_t kMaxFlows = 16;

/// Used by one thread. Remembers the last kMemory tickets.
class Tickets {
 public:
  static constexpr uint32_t kMemory = 1u << 16;

  /// An issued ticket, and the message that it identifies.
  struct Given {
    uint32_t ticket = 0;
    uint32_t flow = kMaxFlows;
    uint32_t number = 0;
    uint32_t chain = 0;  ///< Incarnation of the chain that the message entered (NodeSetup::chain).
  };

  Tickets() : given_(kMemory), random_(std::random_device()()) {}

  /// Returns a ticket for a message that enters a chain. 15 bits of the ticket are pseudo-random,
  /// so a stage is unlikely to produce another chain's ticket by chance.
  uint32_t Give(uint32_t flow, uint32_t number, uint32_t chain) {
    const uint32_t place = next_++ % kMemory;
    const uint32_t ticket = static_cast<uint32_t>(random_()) / kMemory * kMemory + place;
    given_[place] = {ticket, flow, number, chain};
    return ticket;
  }
  /// Returns the message that entered `chain` with this ticket, or null if the ticket was not
  /// issued to that chain or has been forgotten.
  const Given* Find(uint32_t ticket, uint32_t chain) const {
    const Given& given = given_[ticket % kMemory];
    const bool same = given.ticket == ticket && given.chain == chain && given.flow < kMaxFlows;
    return same ? &given : nullptr;
  }

 private:
  std::vector<Given> given_;
  std::minstd_rand random_;
  uint32_t next_ = 0;
};

}  // namespace sluice::chain_app
