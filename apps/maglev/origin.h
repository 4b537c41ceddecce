// SPDX-License-Identifier: BSD-3-Clause
//
// The initial configuration of a run, from --config and --config_etcd.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control.h"
#include "etcd_config.h"

namespace sluice::maglev {

struct Origin {
  Config config;
  std::string path;  ///< Path of the file; empty: the built-in sample, or only etcd.
  Sources sources;
  std::unique_ptr<EtcdConfig> etcd;  ///< Null without --config_etcd.
};

/// An error in the origin.
struct Trouble {
  std::string flag;  ///< Name of the flag with the error.
  std::vector<std::string> errors;
  /// 1 if etcd sent an invalid answer or none; 2 if the command line is wrong.
  int exit_code = 2;
};

/// Reads flags, the file and etcd. Returns nullopt, with `trouble` set, on an error.
std::optional<Origin> ReadOrigin(Trouble* trouble);

/// Reads another file together with `additions`.
std::optional<Config> ReadBeside(const std::string& path, const Additions& additions,
                                 std::vector<std::string>* errors);

}  // namespace sluice::maglev
