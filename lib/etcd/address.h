// SPDX-License-Identifier: BSD-3-Clause
//
// Which etcd, and which of its keys, as flags say it.
#pragma once

#include <optional>
#include <string>

namespace sluice::etcd {

struct Address {
  std::string url;     ///< http://host:port
  std::string prefix;  ///< Of keys; not empty.

  /// From host:port/prefix; the prefix may have slashes. Nothing if it is none.
  static std::optional<Address> Read(const std::string& text);
};

/// What to do about a text that Read refuses.
inline constexpr char kAddressFix[] = "give HOST:PORT/PREFIX";

}  // namespace sluice::etcd
