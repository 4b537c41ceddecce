// SPDX-License-Identifier: BSD-3-Clause
//
// Servers from etcd: one key each below a prefix, its value a server as on a line of a file.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "etcd/watcher.h"
#include "member_source.h"

namespace sluice::kv_client {

class EtcdSource : public MemberSource {
 public:
  EtcdSource(etcd::Address address, const ServerRules& rules);

  std::optional<Servers> Open(std::string* error) override;
  std::optional<Servers> Poll(std::string* error) override;

 private:
  void Publish(const etcd::Keys& keys);
  void Complain(const std::string& trouble);

  const ServerRules rules_;
  std::vector<std::string> published_;  // Servers that Poll was told of last: the watcher's.
  std::mutex mutex_;
  std::optional<Servers> news_;  // Under mutex_; so is trouble_.
  std::string trouble_;
  etcd::Watcher watcher_;  // Its thread calls the methods above: ends first.
};

}  // namespace sluice::kv_client
