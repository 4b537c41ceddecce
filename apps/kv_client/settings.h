// SPDX-License-Identifier: BSD-3-Clause
//
// What the command line says, checked.
#pragma once

#include <optional>
#include <string>

#include "engine/kv/client/client.h"
#include "engine/kv/client/ketama.h"
#include "engine/kv/client/server_list.h"
#include "etcd/address.h"
#include "runtime/run_flags.h"

namespace sluice::kv_client {

struct Settings : runtime::RunSettings {
  engine::kv::client::ClientOptions client;
  engine::kv::client::Servers servers;        ///< That stay. None: the next two tell.
  std::string servers_file;                   ///< Empty: none.
  std::optional<etcd::Address> servers_etcd;  ///< Not together with a file.
  engine::kv::client::ServerRules rules;
  engine::kv::client::Ring::Kind ring = engine::kv::client::Ring::Kind::kWeighted;
  bool preload = true;
  double patience_s = 5;  ///< How long preloading may stand still.

  /// The flag that says where servers are.
  std::string ServersFlag() const {
    return servers_etcd ? "servers_etcd" : servers_file.empty() ? "server" : "servers_file";
  }
};

/// Reads all flags. Nothing, when the run is over already, with `exit_code` set: 0 after --help
/// or --version, 2 after a bad argument (one line on standard error names it).
std::optional<Settings> ReadSettings(int argc, char** argv, int* exit_code);

}  // namespace sluice::kv_client
