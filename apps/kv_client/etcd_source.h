// SPDX-License-Identifier: BSD-3-Clause
//
// Servers from etcd: one key each below a prefix, its value a server as on a line of a file. A
// thread reads all keys, then watches them from the next revision on. Whenever that ends, it reads
// them again, after a pause that grows while etcd is away: what was missed in between (an etcd that
// has forgotten old revisions, or is another one) does not matter then.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "etcd_messages.h"
#include "http_post.h"
#include "member_source.h"

namespace sluice::kv_client {

struct EtcdAddress {
  std::string url;     ///< http://host:port
  std::string prefix;  ///< Of keys; not empty.

  /// From host:port/prefix; the prefix may have slashes. Nothing if it is none.
  static std::optional<EtcdAddress> Read(const std::string& text);
};

class EtcdSource : public MemberSource {
 public:
  EtcdSource(EtcdAddress address, const ServerRules& rules);
  ~EtcdSource() override;

  std::optional<Servers> Open(std::string* error) override;
  std::optional<Servers> Poll(std::string* error) override;

 private:
  using Clock = std::chrono::steady_clock;

  void Follow();
  std::string ReadKeys();
  std::string Watch();
  bool TakeLine(std::string_view line, std::string* trouble);
  bool Sleep(std::chrono::milliseconds time);
  void Publish();
  void Complain(const std::string& trouble);

  const EtcdAddress address_;
  const ServerRules rules_;
  HttpPoster http_;

  // The thread's, once it runs.
  EtcdKeys keys_;
  int64_t revision_ = 0;  // At which these were all.
  std::optional<Clock::time_point> since_;  // When etcd began to watch.
  std::vector<std::string> published_;      // Servers that Poll was told of last.

  std::mutex mutex_;
  std::condition_variable stopping_;
  std::optional<Servers> news_;  // Under mutex_; so is trouble_.
  std::string trouble_;
  std::thread thread_;
};

}  // namespace sluice::kv_client
