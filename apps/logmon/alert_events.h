// SPDX-License-Identifier: BSD-3-Clause
//
// Events of filters that have alerts, by host, on their way from a worker, in a bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice::logmon {

/// Events of a filter that name the same host.
struct AlertEvent {
  size_t filter = 0;
  std::string_view host;  ///< Empty: of all hosts, or none is named. At most kMaxHostBytes.
  std::string_view line;  ///< The last one's first bytes, kMaxLineBytes of them. Any bytes.
  uint64_t count = 0;
};

/// Allocates at construction only.
class AlertEvents {
 public:
  static constexpr size_t kMaxHostBytes = 255, kMaxLineBytes = 512;
  /// Different hosts at a time, of all filters; events without a host always have room.
  static constexpr size_t kMaxHosts = 1024;

  explicit AlertEvents(size_t filters);

  /// Copies what it keeps of the texts. False: no room for another host.
  bool Add(size_t filter, std::string_view host, std::string_view line);

  /// Calls `each(const AlertEvent&)`, whose views are valid during the call, and forgets all.
  template <typename Each>
  void TakeAll(Each each) {
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
  std::vector<uint16_t> places_;  ///< Of entries, by hash, then one behind the other.
};

}  // namespace sluice::logmon
