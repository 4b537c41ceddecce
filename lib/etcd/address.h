// SPDX-License-Identifier: BSD-3-Clause
//
// Address of an etcd server with a prefix of keys, as given in flags.
#pragma once

#include <optional>
#include <string>

namespace sluice::etcd {

struct Address {
  std::string url;     ///< http://host:port
  std::string prefix;  ///< Prefix of the keys; not empty.

  /// Parses host:port/prefix; the prefix may contain slashes. Returns nullopt if `text` is
  /// malformed.
  static std::optional<Address> Read(const std::string& text);
};

/// Fix for a text that Read rejects, for error lines.
inline constexpr char kAddressFix[] = "give HOST:PORT/PREFIX";

}  // namespace sluice::etcd
