// SPDX-License-Identifier: BSD-3-Clause
//
// A port's extended statistics by name. A model NIC reports its state as "model_…" and the state of
// its wire as "wire_…". Used on the control path only.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace sluice::runtime {

/// Returns the mutex that callers must hold when they read a port's statistics or link, because
/// ethdev's functions must not run concurrently on one port (rte_ethdev.h).
std::mutex& PortCalls();

class PortStats {
 public:
  PortStats() = default;
  /// Reads all statistics of a configured port. Empty if the driver has none. May be called by any
  /// thread.
  static PortStats Read(uint16_t port);
  /// Constructs from statistics that were read elsewhere.
  explicit PortStats(std::map<std::string, uint64_t> values) : values_(std::move(values)) {}

  /// Returns the value of a statistic, or 0 if the port does not have it.
  uint64_t Get(std::string_view name) const;
  /// Returns whether the port's traffic source has offered frames. If so, losses can be computed.
  bool HasSource() const { return Get("wire_offered") > 0; }
  /// Returns whether the port is a model, whose source can be stopped.
  bool IsModel() const { return values_.contains("wire_offered"); }
  const std::map<std::string, uint64_t>& values() const { return values_; }

 private:
  std::map<std::string, uint64_t> values_;
};

}  // namespace sluice::runtime
