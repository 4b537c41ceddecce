// SPDX-License-Identifier: BSD-3-Clause
//
// Follows all etcd keys with a given prefix. A thread reads all keys, then watches them from the
// next revision on. Whenever the watch ends, the thread reads all keys again, after a pause that
// grows while etcd is unreachable. Therefore the keys become correct again even if changes were
// missed, for example because etcd has discarded old revisions or was replaced.
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
  /// Limits of the key list. If a list is larger, an error is reported and the last reported list
  /// remains valid.
  struct Limits {
    size_t keys;   ///< Number of keys.
    size_t bytes;  ///< Size of all keys and values in etcd's JSON, and of one watch message.
  };
  /// Called with a consistent set of all keys: initially, after each change, and after each new
  /// read.
  using OnKeys = std::function<void(const Keys& keys)>;
  /// Called with one line about an error, at most once per etcd outage.
  using OnTrouble = std::function<void(const std::string& trouble)>;

  Watcher(Address address, const Limits& limits, OnKeys on_keys, OnTrouble on_trouble);
  /// Stops the thread. No function is called afterwards.
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// Reads the keys and calls `on_keys` in the calling thread, within a few seconds. Returns the
  /// error, or an empty string on success. Call it once, before Follow.
  std::string Open();
  /// Starts the watcher's thread, which makes all further calls of these functions, one at a time.
  /// Call it once.
  void Follow();

 private:
  using Clock = std::chrono::steady_clock;

  void Main();
  std::string ReadKeys();
  std::string Watch();
  bool ProcessLine(std::string_view line, std::string* trouble);
  bool Sleep(std::chrono::milliseconds time);
  std::string TooMany() const;

  const Address address_;
  const Limits limits_;
  const OnKeys on_keys_;
  const OnTrouble on_trouble_;
  HttpPoster http_;

  // Used only by the thread once the thread runs.
  Keys keys_;
  int64_t revision_ = 0;                    // Revision of keys_.
  std::optional<Clock::time_point> since_;  // Start time of the watch.

  std::mutex mutex_;  // Mutex for waits on `stopping_`.
  std::condition_variable stopping_;
  std::thread thread_;
};

}  // namespace sluice::etcd
