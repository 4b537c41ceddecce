// SPDX-License-Identifier: BSD-3-Clause
//
// What a run begins with: the configuration that --config and --config_etcd say.
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
  std::string path;  ///< Of the file; empty: the built-in sample, or nothing but etcd.
  Sources sources;
  std::unique_ptr<EtcdConfig> etcd;  ///< Null: nothing comes from there.
};

/// Why there is no origin.
struct Trouble {
  std::string flag;  ///< That is to blame.
  std::vector<std::string> errors;
  int exit_code = 2;  ///< 1: what etcd says, or that it does not, is no fault of the command line.
};

/// Reads flags, the file and etcd. Nothing, with `trouble`, if something is wrong.
std::optional<Origin> ReadOrigin(Trouble* trouble);

/// Another file, with the same additions.
std::optional<Config> ReadBeside(const std::string& path, const Additions& additions,
                                 std::vector<std::string>* errors);

}  // namespace sluice::maglev
