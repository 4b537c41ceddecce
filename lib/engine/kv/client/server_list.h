// SPDX-License-Identifier: BSD-3-Clause
//
// Parses server lists from flags, files and etcd. A server is host, host:port or [ipv6]:port, with
// an optional suffix /?weight as in libmemcached's --SERVER.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/kv/client/ketama.h"

namespace sluice::engine::kv::client {

using Servers = std::vector<RingServer>;

inline constexpr size_t kMaxServers = 1000;

struct ServerRules {
  uint16_t default_port = 0;
  uint32_t ports = 1;  ///< Number of consecutive ports per server, starting at its port.
};

/// Parses a list. Returns nullopt with the reason in `error` if the list is empty or too long, or
/// if a server is invalid or listed twice.
std::optional<Servers> ReadServers(const std::vector<std::string>& words, const ServerRules& rules,
                                   std::string* error);

}  // namespace sluice::engine::kv::client
