// SPDX-License-Identifier: BSD-3-Clause
//
// Collects the faults that Check finds. Each fault is one line that starts with its place in the
// setup.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "engine/maglev/address.h"
#include "engine/maglev/setup.h"
#include "packet/rewrite.h"

namespace sluice::engine::maglev {

/// Returns "TCP" or "UDP".
const char* ProtocolName(uint8_t protocol);
/// Returns "IPv4" or "IPv6".
const char* FamilyName(bool ipv6);
/// Returns a name for use in messages: truncated to kMaxNameBytes, in quotes, and with C escapes
/// for all bytes that could end the line or the quotes.
std::string Quoted(std::string_view name);

class Complaints {
 public:
  /// Records the first `most` faults and drops the rest.
  explicit Complaints(size_t most) : most_(most) {}

  /// Sets the prefix of the lines that follow.
  void set_where(std::string where) { where_ = std::move(where); }
  const std::string& where() const { return where_; }
  /// Sets the place of the faults that follow.
  void set_place(Place place) { place_ = place; }
  Place place() const { return place_; }
  bool IsFull() const { return faults_.size() >= most_; }
  std::vector<Fault> Release() { return std::move(faults_); }

  template <typename... Args>
  void Add(const absl::FormatSpec<Args...>& format, const Args&... args) {
    AddConflict(Place(), format, args...);
  }
  /// Adds a fault at place(): that part of the setup contradicts the part at `other`.
  template <typename... Args>
  void AddConflict(Place other, const absl::FormatSpec<Args...>& format, const Args&... args) {
    if (!IsFull()) faults_.push_back({where_ + absl::StrFormat(format, args...), place_, other});
  }
  void CheckRange(const char* what, uint32_t value, uint32_t least, uint32_t most);
  /// Adds a fault unless the name has 1 … kMaxNameBytes printable ASCII characters without quotes
  /// and backslashes.
  void CheckName(std::string_view name);
  /// Adds a fault unless the address is a host address as packet/host_address.h defines it.
  void CheckHost(const char* what, const IpAddress& address);
  void CheckNextHop(const std::optional<packet::MacAddress>& mac);

 private:
  size_t most_;
  std::string where_;
  Place place_;
  std::vector<Fault> faults_;
};

}  // namespace sluice::engine::maglev
