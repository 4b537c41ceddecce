// SPDX-License-Identifier: BSD-3-Clause
//
// A source of a server list that may change while it is in use.
#pragma once

#include <optional>
#include <string>

#include "engine/kv/client/server_list.h"

namespace sluice::kv_client {

using engine::kv::client::kMaxServers;
using engine::kv::client::ReadServers;
using engine::kv::client::ServerRules;
using engine::kv::client::Servers;

class MemberSource {
 public:
  virtual ~MemberSource() = default;

  /// Waits for the first list. Returns nullopt and sets `error` if there is none. Call it once,
  /// before Poll.
  virtual std::optional<Servers> Open(std::string* error) = 0;

  /// Returns the list if it has changed since the last call and is valid, otherwise nullopt. Does
  /// not wait. If an error has occurred since the last call, sets `error` to one line that
  /// describes it.
  virtual std::optional<Servers> Poll(std::string* error) = 0;
};

}  // namespace sluice::kv_client
