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
  /// Returns the unit's MAC address, first octet in the lowest byte, which changes when the unit
  /// loses its connections. Any thread may read it.
  const std::atomic<uint64_t>& unit_mac() const { return unit_mac_; }

 private:
  TransportUnit(uint16_t port, const rte_memzone* memory) : port_(port), memory_(memory) {}
  /// Chooses a new MAC address and starts the unit. Returns 0 or a negative errno.
  int Start();

  const uint16_t port_;
  const rte_memzone* const memory_;
  bool gone_ = false;
  std::atomic<uint64_t> unit_mac_{0};
};

}  // namespace sluice::nic
