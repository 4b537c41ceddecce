// SPDX-License-Identifier: BSD-3-Clause
//
// etcd's additions to the configuration file: the keys below a prefix (config.h, Additions), and
// their changes.
#pragma once

#include <functional>
#include <string>

#include "engine/maglev/config/config.h"
#include "etcd/watcher.h"

namespace sluice::maglev {

using engine::maglev::Additions;

class EtcdConfig {
 public:
  explicit EtcdConfig(etcd::Address address);

  /// Waits for the current additions. Returns an empty string, or an error. Call it once, before
  /// Follow.
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
  etcd::Watcher watcher_;  // Declared last: its thread calls Accept, so it must end first.
};

}  // namespace sluice::maglev
