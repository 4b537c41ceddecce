// SPDX-License-Identifier: BSD-3-Clause
//
// Which server has which item, while servers come and go: read again from their file when that
// changes. Servers keep the numbers that they got when they first were there.
#pragma once

#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "servers.h"
#include "settings.h"

namespace sluice::kv_client {

class Membership {
 public:
  explicit Membership(const Settings& settings);

  /// All that ever were there, by number.
  const Servers& known() const { return known_; }
  /// How many are there now.
  size_t size() const { return present_.size(); }

  /// Server of each item. Blocks while it is computed.
  std::vector<uint16_t> Place() const;

  /// Looks at the file, and computes in another thread where items are when it changed. Returns
  /// that once, when it is ready. A file that is wrong changes nothing: one line in `error`.
  std::optional<std::vector<uint16_t>> Poll(std::string* error);

 private:
  bool FileChanged();
  void Adopt(const Servers& servers);

  const Settings& settings_;
  Servers known_;
  Servers present_;
  std::vector<uint16_t> numbers_;  // Of those that are present.
  std::string signature_;          // Of the file as it was read last.
  std::future<std::vector<uint16_t>> placing_;
};

}  // namespace sluice::kv_client
