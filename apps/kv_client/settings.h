// SPDX-License-Identifier: BSD-3-Clause
//
// The checked command line.
#pragma once

#include <optional>
#include <string>

#include "engine/kv/client/client.h"
#include "engine/kv/client/ketama.h"
#include "engine/kv/client/server_list.h"
#include "etcd/address.h"
#include "host/run_flags.h"

namespace sluice::kv_client {

struct Settings : host::RunSettings {
  engine::kv::client::ClientOptions client;
  /// Constant servers; empty if one of the next two members is used.
  engine::kv::client::Servers servers;
  std::string servers_file;                   ///< Empty: none.
  std::optional<etcd::Address> servers_etcd;  ///< Excludes servers_file.
  engine::kv::client::ServerRules rules;
  engine::kv::client::Ring::Kind ring = engine::kv::client::Ring::Kind::kWeighted;
  bool preload = true;
  double patience_s = 5;  ///< Maximum time without an answer during the preload.

  /// Returns the name of the flag that selects the servers.
  std::string ServersFlag() const {
    return servers_etcd ? "servers_etcd" : servers_file.empty() ? "server" : "servers_file";
  }
};

/// Reads all flags. Returns nullopt if the process should exit with `exit_code`: 0 after --help or
/// --version, 2 after a bad argument (one line on standard error names it).
std::optional<Settings> ReadSettings(int argc, char** argv, int* exit_code);

}  // namespace sluice::kv_client
