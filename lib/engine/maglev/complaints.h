// SPDX-License-Identifier: BSD-3-Clause
//
// What Check finds wrong: lines, each of which begins with the place.
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

/// "TCP" or "UDP".
const char* ProtocolName(uint8_t protocol);
/// "IPv4" or "IPv6".
const char* FamilyName(bool ipv6);
/// A name as messages show it: no byte of it can end the line or its quotes.
std::string Quoted(std::string_view name);

class Complaints {
 public:
  /// Keeps the first `most`.
  explicit Complaints(size_t most) : most_(most) {}

  /// What the lines that follow begin with.
  void set_where(std::string where) { where_ = std::move(where); }
  const std::string& where() const { return where_; }
  /// The place of the faults that follow.
  void set_place(Place place) { place_ = place; }
  Place place() const { return place_; }
  bool IsFull() const { return faults_.size() >= most_; }
  std::vector<Fault> Take() { return std::move(faults_); }

  template <typename... Args>
  void Add(const absl::FormatSpec<Args...>& format, const Args&... args) {
    AddConflict(Place(), format, args...);
  }
  /// Adds a contradiction to what is at `other`.
  template <typename... Args>
  void AddConflict(Place other, const absl::FormatSpec<Args...>& format, const Args&... args) {
    if (!IsFull()) faults_.push_back({where_ + absl::StrFormat(format, args...), place_, other});
  }
  void CheckRange(const char* what, uint32_t value, uint32_t least, uint32_t most);
  /// Printable, and not too long.
  void CheckName(std::string_view name);
  /// By packet/host_address.h.
  void CheckHost(const char* what, const IpAddress& address);
  void CheckNextHop(const std::optional<packet::MacAddress>& mac);

 private:
  size_t most_;
  std::string where_;
  Place place_;
  std::vector<Fault> faults_;
};

}  // namespace sluice::engine::maglev
