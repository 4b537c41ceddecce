// SPDX-License-Identifier: BSD-3-Clause
//
// Which server has which item, while servers come and go. Servers keep the numbers that they got
// when they first were there.
#pragma once

#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "member_source.h"
#include "settings.h"

namespace sluice::kv_client {

class Membership {
 public:
  /// `source` says what comes after `servers`; null: nothing does. It outlives this.
  Membership(const Settings& settings, const Servers& servers, MemberSource* source);

  /// All that ever were there, by number.
  const Servers& known() const { return known_; }
  /// How many are there now.
  size_t size() const { return present_.size(); }
  /// Whether Place and Poll have anything to say: one server for good has all items.
  bool IsSpread() const { return source_ != nullptr || present_.size() > 1; }

  /// Server of each item. Blocks while it is computed.
  std::vector<uint16_t> Place() const;

  /// Asks the source, and computes in another thread where items are when it has a new list.
  /// Returns that once, when it is ready. A list that is wrong, or none, changes nothing: one line
  /// in `error`.
  std::optional<std::vector<uint16_t>> Poll(std::string* error);

 private:
  bool Adopt(const Servers& servers);

  const Settings& settings_;
  MemberSource* const source_;
  Servers known_;
  Servers present_;
  std::vector<uint16_t> numbers_;  // Of those that are present.
  std::future<std::vector<uint16_t>> placing_;
};

}  // namespace sluice::kv_client
