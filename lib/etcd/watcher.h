// SPDX-License-Identifier: BSD-3-Clause
//
// All keys below a prefix of etcd, followed while they change. A thread reads all of them, then
// watches them from the next revision on. Whenever that ends, it reads them again, after a pause
// that grows while etcd is away: what was missed in between (an etcd that has forgotten old
// revisions, or is another one) does not matter then.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "etcd/address.h"
#include "etcd/http_post.h"
#include "etcd/messages.h"

namespace sluice::etcd {

class Watcher {
 public:
  /// More than that is no list of ours: trouble, and what was told last stays.
  struct Limits {
    size_t keys;   ///< At a time.
    size_t bytes;  ///< Of all keys and values in etcd's JSON, or of one message while watching.
  };
  /// All keys as they were at one moment: at first, after each change, and whenever they were read
  /// again.
  using OnKeys = std::function<void(const Keys& keys)>;
  /// Something went wrong, in one line. Said once for each time that etcd is away.
  using OnTrouble = std::function<void(const std::string& trouble)>;

  Watcher(Address address, const Limits& limits, OnKeys on_keys, OnTrouble on_trouble);
  /// Afterwards nothing is called any more.
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// Reads the keys and hands them over, in the calling thread; waits some seconds at most. Empty,
  /// or why they could not be read. Once, before Follow.
  std::string Open();
  /// From now on a thread of the watcher's own calls, one call at a time. Once.
  void Follow();

 private:
  using Clock = std::chrono::steady_clock;

  void Main();
  std::string ReadKeys();
  std::string Watch();
  bool TakeLine(std::string_view line, std::string* trouble);
  bool Sleep(std::chrono::milliseconds time);
  std::string TooMany() const;

  const Address address_;
  const Limits limits_;
  const OnKeys on_keys_;
  const OnTrouble on_trouble_;
  HttpPoster http_;

  // The thread's, once it runs.
  Keys keys_;
  int64_t revision_ = 0;                    // At which these were all.
  std::optional<Clock::time_point> since_;  // When etcd began to watch.

  std::mutex mutex_;  // Of `stopping_`.
  std::condition_variable stopping_;
  std::thread thread_;
};

}  // namespace sluice::etcd
