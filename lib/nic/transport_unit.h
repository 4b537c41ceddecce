// SPDX-License-Identifier: BSD-3-Clause
//
// The transport unit of a model NIC (regs/transport.h) and the memory that it shares with the host.
// Control path, main thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "regs/transport.h"

struct rte_memzone;

namespace sluice::nic {

class TransportUnit {
 public:
  /// Allocates the rings, sets `configuration.rings`, and starts the unit of `port`. On failure
  /// returns null and sets `error` to one line.
  static std::unique_ptr<TransportUnit> Open(uint16_t port,
                                             regs::transport::Configuration configuration,
                                             std::string* error);
  /// Ends the unit's work, which resets all connections, and frees the memory.
  ~TransportUnit();
  TransportUnit(const TransportUnit&) = delete;
  TransportUnit& operator=(const TransportUnit&) = delete;

  /// Returns the rings of connection 0, which those of the others follow.
  uint8_t* rings() const;
  /// Starts the unit again if the device has lost its power. Call it from time to time.
  void Watch();
  /// Returns the number of times that Watch has seen the unit without connections; any thread may
  /// read it.
  const std::atomic<uint32_t>& losses() const { return losses_; }

 private:
  TransportUnit(uint16_t port, const rte_memzone* memory) : port_(port), memory_(memory) {}

  const uint16_t port_;
  const rte_memzone* const memory_;
  bool lost_ = false;
  std::atomic<uint32_t> losses_{0};
};

}  // namespace sluice::nic
