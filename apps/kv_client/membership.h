// SPDX-License-Identifier: BSD-3-Clause
//
// Maps items to servers while servers join and leave. A server keeps the number that it got when it
// first joined.
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
  /// `source` provides the lists that replace `servers`, and must outlive the object. If it is
  /// null, the servers do not change.
  Membership(const Settings& settings, const Servers& servers, MemberSource* source);

  /// Returns all servers known so far, indexed by number.
  const Servers& known() const { return known_; }
  /// Returns the number of current servers.
  size_t size() const { return present_.size(); }
  /// Returns whether Place and Poll are needed. They are not if the servers never change and there
  /// is only one.
  bool IsSpread() const { return source_ != nullptr || present_.size() > 1; }

  /// Returns the server of each item. Blocks during the computation.
  std::vector<uint16_t> Place() const;

  /// Polls the source. For a new list, computes each item's server on another thread, and returns
  /// the result once, when it is ready. An invalid or missing list changes nothing, and sets
  /// `error`.
  std::optional<std::vector<uint16_t>> Poll(std::string* error);

 private:
  bool Adopt(const Servers& servers);

  const Settings& settings_;
  MemberSource* const source_;
  Servers known_;
  Servers present_;
  std::vector<uint16_t> numbers_;  // Numbers of the current servers.
  std::future<std::vector<uint16_t>> placing_;
};

}  // namespace sluice::kv_client
