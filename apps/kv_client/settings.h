// SPDX-License-Identifier: BSD-3-Clause
//
// What the command line says, checked.
#pragma once

#include <cstdio>
#include <optional>
#include <string>

#include "engine/kv/client/client.h"
#include "engine/kv/client/ketama.h"
#include "etcd_source.h"
#include "servers.h"

namespace sluice::kv_client {

struct Settings {
  engine::kv::client::ClientOptions client;
  Servers servers;                          ///< That stay. None: the next two tell.
  std::string servers_file;                 ///< Empty: none.
  std::optional<EtcdAddress> servers_etcd;  ///< Not together with a file.
  ServerRules rules;
  engine::kv::client::Ring::Kind ring = engine::kv::client::Ring::Kind::kWeighted;
  bool preload = true;
  double duration_s = 0;
  double stats_period_s = 1;
  double patience_s = 5;  ///< How long preloading may stand still.
  std::string json;       ///< Empty: no report; -: standard output.

  /// The flag that says where servers are.
  std::string ServersFlag() const {
    return servers_etcd ? "servers_etcd" : servers_file.empty() ? "server" : "servers_file";
  }
  /// Where text goes: not among JSON.
  std::FILE* Text() const { return json == "-" ? stderr : stdout; }
};

/// Reads all flags. Nothing, when the run is over already, with `exit_code` set: 0 after --help
/// or --version, 2 after a bad argument (one line on standard error names it).
std::optional<Settings> ReadSettings(int argc, char** argv, int* exit_code);

}  // namespace sluice::kv_client
