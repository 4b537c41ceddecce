// SPDX-License-Identifier: BSD-3-Clause
//
// Lists of servers, as flags, files and etcd say them: host, host:port, [ipv6]:port, each with an
// optional /?weight behind it, as libmemcached's --SERVER.
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
  uint32_t ports = 1;  ///< That a server has, from its port on.
};

/// The servers of a list; nothing, with the reason in `error`, if there is none, one of them is
/// none, or one is there twice.
std::optional<Servers> ReadServers(const std::vector<std::string>& words, const ServerRules& rules,
                                   std::string* error);

}  // namespace sluice::engine::kv::client
