// SPDX-License-Identifier: BSD-3-Clause
//
// Events of filters with alerts, grouped by host, on their way from a worker to the collector.
// Memory is bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice::logmon {

/// Events of a filter that name the same host.
struct AlertEvent {
  size_t filter = 0;
  /// Name of the host, at most kMaxHostBytes bytes. Empty if the alert covers all hosts, or if the
  /// lines do not name a host.
  std::string_view host;
  std::string_view line;  ///< First kMaxLineBytes bytes of the last line; arbitrary bytes.
  uint64_t count = 0;
};

/// Allocates only in the constructor.
class AlertEvents {
 public:
  static constexpr size_t kMaxHostBytes = 255, kMaxLineBytes = 512;
  /// Maximum number of (filter, host) pairs; events without a host always fit.
  static constexpr size_t kMaxHosts = 1024;

  explicit AlertEvents(size_t filters);

  /// Copies the texts, truncated. Returns false if kMaxHosts pairs are in use and (`filter`,
  /// `host`) is not one of them.
  bool Add(size_t filter, std::string_view host, std::string_view line);

  /// Calls `each(const AlertEvent&)` for all entries, and clears them. The views are valid during
  /// the call.
  template <typename Each>
  void Drain(Each each) {
    for (const Entry& entry : entries_) {
      each(AlertEvent{.filter = entry.filter,
                      .host = {entry.host, entry.host_bytes},
                      .line = {entry.line, entry.line_bytes},
                      .count = entry.count});
    }
    Clear();
  }

 private:
  struct Entry {
    uint64_t count;
    uint16_t filter, line_bytes;
    uint8_t host_bytes;
    char host[kMaxHostBytes];
    char line[kMaxLineBytes];
  };
  static constexpr uint16_t kNone = UINT16_MAX;

  void Clear();

  size_t max_entries_;
  size_t hosts_ = 0;
  std::vector<Entry> entries_;
  std::vector<uint16_t> places_;  ///< Hash table of entry indices, with linear probing.
};

}  // namespace sluice::logmon
