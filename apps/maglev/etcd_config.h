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
  /// Starts a thread that calls `take` with all additions after each change since Open, and `tell`
  /// once per etcd outage.
  void Follow(std::function<void(const Additions&)> take,
              std::function<void(const std::string&)> tell);

 private:
  void Take(const etcd::Keys& keys);

  const std::string prefix_;
  Additions last_;
  std::function<void(const Additions&)> take_;
  std::function<void(const std::string&)> tell_;
  etcd::Watcher watcher_;  // Declared last: its thread calls Take, so it must end first.
};

}  // namespace sluice::maglev
