// SPDX-License-Identifier: BSD-3-Clause
//
// Lists of servers, as flags and files say them: host, host:port, [ipv6]:port, each with an
// optional /?weight behind it, as libmemcached's --SERVER.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/kv/client/ketama.h"

namespace sluice::kv_client {

using Servers = std::vector<engine::kv::client::RingServer>;

/// Servers separated by commas; nothing, with the reason in `error`, if there is none, one of
/// them is none, or one is there twice.
std::optional<Servers> ReadServers(const std::string& text, uint16_t default_port,
                                   std::string* error);

/// A file with a server on each line; blank lines and what follows # say nothing.
std::optional<Servers> ReadServersFile(const std::string& path, uint16_t default_port,
                                       std::string* error);

}  // namespace sluice::kv_client
