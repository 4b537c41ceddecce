// SPDX-License-Identifier: BSD-3-Clause
//
// A port's extended statistics by name, and what a model NIC says through them
// about itself ("model_…") and about what stands behind it ("wire_…"). Control path.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace sluice::runtime {

/// Held by each call of a port's statistics and link while it runs: ethdev's functions are not to
/// run side by side on one port (rte_ethdev.h).
std::mutex& PortCalls();

class PortStats {
 public:
  PortStats() = default;
  /// Reads all statistics of a port, which is configured; empty if the driver has none. Any thread.
  static PortStats Read(uint16_t port);
  /// Statistics that were read elsewhere.
  explicit PortStats(std::map<std::string, uint64_t> values) : values_(std::move(values)) {}

  /// 0 for a name that the port does not have.
  uint64_t Get(std::string_view name) const;
  /// True if a traffic source stands behind the port: what it loses is known.
  bool HasSource() const { return Get("wire_offered") > 0; }
  /// True if the port is a model, whose source can be stopped.
  bool IsModel() const { return values_.contains("wire_offered"); }
  const std::map<std::string, uint64_t>& values() const { return values_; }

 private:
  std::map<std::string, uint64_t> values_;
};

}  // namespace sluice::runtime
