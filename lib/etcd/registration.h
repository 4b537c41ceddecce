// SPDX-License-Identifier: BSD-3-Clause
//
// Registers this process in etcd as a key with a lease. A thread keeps the lease alive. However the
// process ends, the key disappears when the lease expires, or earlier. If etcd is unreachable, the
// thread retries with growing pauses; if etcd has lost the lease, the thread registers the key with
// a new one. No other thread waits for requests to etcd.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "etcd/address.h"
#include "etcd/http_post.h"

namespace sluice::etcd {

class Registration {
 public:
  /// Shortest lease in seconds that etcd grants with its default election timeout.
  static constexpr uint32_t kLeastLeaseS = 2;
  static constexpr uint32_t kMostLeaseS = 3600;

  struct Entry {
    Address address;
    std::string name;  ///< The key is the prefix from the address, followed by this name.
    std::string value;
    uint32_t lease_s = 10;
  };
  /// Reports an event in one line: the first registration, the loss of etcd (once per outage), a
  /// renewed registration, or a failed revocation. Called by the registration thread and by Leave.
  using Log = std::function<void(const std::string& line)>;

  /// Starts the thread. `here` must outlive this object. `*here` is true while etcd keeps the key's
  /// lease alive, even if another client has deleted the key.
  Registration(Entry entry, Log log, std::atomic<bool>* here);
  /// Calls Leave.
  ~Registration();
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  /// Deletes the key at once if etcd answers within two seconds. Otherwise reports the failure, and
  /// the key disappears when its lease expires. Later calls have no effect.
  void Leave();

 private:
  void Main();
  std::string Register();
  std::string KeepAlive();
  std::string Ask(HttpPoster& http, const std::string& path, const std::string& request,
                  int timeout_s, std::string* answer) const;
  bool Sleep(std::chrono::milliseconds time);

  const Entry entry_;
  const Log log_;
  std::atomic<bool>* const here_;
  HttpPoster http_;
  int64_t lease_ = 0;  // The current lease, or 0. Only the thread uses it while the thread runs.
  bool left_ = false;

  std::mutex mutex_;  // Mutex for waits on `stopping_`.
  std::condition_variable stopping_;
  std::thread thread_;
};

}  // namespace sluice::etcd
