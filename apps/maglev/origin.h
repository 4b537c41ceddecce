// SPDX-License-Identifier: BSD-3-Clause
//
// The initial configuration of a run, from --config and --config_etcd.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control.h"
#include "engine/maglev/config/config.h"
#include "etcd/watcher.h"

namespace sluice::maglev {

using engine::maglev::Additions;

/// etcd's additions to the configuration file: the keys below a prefix (config.h, Additions), and
/// their changes.
class EtcdConfig {
 public:
  explicit EtcdConfig(etcd::Address address);

  /// Waits for the current additions. Returns an error message, or an empty string. Call it once,
  /// before Follow.
  std::string Open(Additions* additions);
  /// Starts a thread that calls `on_additions` with all additions after each change since Open, and
  /// `on_trouble` once per etcd outage.
  void Follow(std::function<void(const Additions&)> on_additions,
              std::function<void(const std::string&)> on_trouble);

 private:
  void Accept(const etcd::Keys& keys);

  const std::string prefix_;
  Additions last_;
  std::function<void(const Additions&)> on_additions_;
  std::function<void(const std::string&)> on_trouble_;
  etcd::Watcher watcher_;  // Declared last, so that its thread, which calls Accept, ends first.
};

struct Origin {
  Config config;
  std::string path;  ///< Path of the file; empty: the built-in sample, or only etcd.
  Sources sources;
  std::unique_ptr<EtcdConfig> etcd;  ///< Null without --config_etcd.
};

/// An error in reading the origin.
struct Trouble {
  std::string flag;  ///< Name of the flag with the error.
  std::vector<std::string> errors;
  /// 1 if etcd sent an invalid answer or none; 2 if the command line is wrong.
  int exit_code = 2;
};

/// Reads flags, the file and etcd. On an error, returns nullopt and sets `trouble`.
std::optional<Origin> ReadOrigin(Trouble* trouble);

/// Reads another file together with `additions`.
std::optional<Config> ReadBeside(const std::string& path, const Additions& additions,
                                 std::vector<std::string>* errors);

}  // namespace sluice::maglev
