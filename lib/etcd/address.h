// SPDX-License-Identifier: BSD-3-Clause
//
// Address of an etcd server and a key prefix, as given in flags.
#pragma once

#include <optional>
#include <string>

namespace sluice::etcd {

struct Address {
  std::string url;     ///< http://host:port
  std::string prefix;  ///< Key prefix; not empty.

  /// Parses host:port/prefix; the prefix may contain slashes. Returns nullopt if `text` is
  /// malformed.
  static std::optional<Address> Read(const std::string& text);
};

/// Text for error messages about an address that Read rejects.
inline constexpr char kAddressFix[] = "give HOST:PORT/PREFIX";

}  // namespace sluice::etcd
