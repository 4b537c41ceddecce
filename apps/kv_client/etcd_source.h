// SPDX-License-Identifier: BSD-3-Clause
//
// Reads servers from etcd: one key per server below a prefix. The value has the format of a line in
// a servers file (file_source.h).
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
  // Servers that Publish last stored for Poll; used by the watcher's thread.
  std::vector<std::string> published_;
  std::mutex mutex_;
  std::optional<Servers> news_;  // Protected by mutex_, like trouble_.
  std::string trouble_;
  // Declared last: its thread calls the methods above, so it must end first.
  etcd::Watcher watcher_;
};

}  // namespace sluice::kv_client
