// SPDX-License-Identifier: BSD-3-Clause
//
// Where a list of servers comes from that may change while it is used.
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

  /// The first list, waited for; nothing, with one line in `error`, if there is none. Once, before
  /// Poll.
  virtual std::optional<Servers> Open(std::string* error) = 0;

  /// At once: the list, if there was another one since the last call. One line in `error` says
  /// that something went wrong since then.
  virtual std::optional<Servers> Poll(std::string* error) = 0;
};

}  // namespace sluice::kv_client
