// SPDX-License-Identifier: BSD-3-Clause
//
// What etcd adds to the configuration file: the keys below a prefix (config.h, Additions), while
// they change.
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

  /// What is there now, waited for. Empty, or why it could not be read. Once, before Follow.
  std::string Open(Additions* additions);
  /// From now on a thread calls `take` with all that is there whenever it has changed since Open,
  /// and `tell` when etcd goes away, once each time.
  void Follow(std::function<void(const Additions&)> take,
              std::function<void(const std::string&)> tell);

 private:
  void Take(const etcd::Keys& keys);

  const std::string prefix_;
  Additions last_;
  std::function<void(const Additions&)> take_;
  std::function<void(const std::string&)> tell_;
  etcd::Watcher watcher_;  // Its thread calls Take: ends first.
};

}  // namespace sluice::maglev
