// SPDX-License-Identifier: BSD-3-Clause
#include "alert_events.h"

#include <absl/hash/hash.h>

#include <algorithm>
#include <bit>

namespace sluice::logmon {

AlertEvents::AlertEvents(size_t filters) : max_entries_(kMaxHosts + filters) {
  entries_.reserve(max_entries_);
  places_.resize(std::bit_ceil(2 * max_entries_), kNone);
}

bool AlertEvents::Add(size_t filter, std::string_view host, std::string_view line) {
  host = host.substr(0, kMaxHostBytes);
  const size_t mask = places_.size() - 1;
  size_t place = absl::HashOf(filter, host) & mask;
  for (; places_[place] != kNone; place = (place + 1) & mask) {
    const Entry& entry = entries_[places_[place]];
    if (entry.filter == filter && std::string_view(entry.host, entry.host_bytes) == host) break;
  }
  if (places_[place] == kNone) {
    if (!host.empty() && hosts_ == kMaxHosts) return false;
    hosts_ += !host.empty();
    places_[place] = static_cast<uint16_t>(entries_.size());
    Entry& entry = entries_.emplace_back();
    entry.count = 0;
    entry.filter = static_cast<uint16_t>(filter);
    entry.host_bytes = static_cast<uint8_t>(host.copy(entry.host, kMaxHostBytes));
  }
  Entry& entry = entries_[places_[place]];
  ++entry.count;
  entry.line_bytes = static_cast<uint16_t>(line.copy(entry.line, kMaxLineBytes));
  return true;
}

void AlertEvents::Clear() {
  if (entries_.empty()) return;
  entries_.clear();
  hosts_ = 0;
  std::fill(places_.begin(), places_.end(), kNone);
}

}  // namespace sluice::logmon
