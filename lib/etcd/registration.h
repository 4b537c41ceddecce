// SPDX-License-Identifier: BSD-3-Clause
//
// A key of etcd that says who is here, on a lease: it is there as long as a thread keeps the lease
// alive, and gone at the latest when the lease has run out, however this process ends. While etcd
// is away the thread tries again and again, after pauses that grow; an etcd that does not know the
// lease any more gets the key on another one. Nobody waits for any of it.
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
  /// Etcd itself grants none shorter with its default election timeout.
  static constexpr uint32_t kLeastLeaseS = 2;
  static constexpr uint32_t kMostLeaseS = 3600;

  struct Entry {
    Address address;
    std::string name;  ///< The key is the address's prefix and this.
    std::string value;
    uint32_t lease_s = 10;
  };
  /// One line about what happened: that the key is there for the first time, that etcd went away,
  /// and that the key is there again, once each time. The registration's thread and Leave call it.
  using Say = std::function<void(const std::string& line)>;

  /// Starts the thread. `here`, which outlives it, is true while etcd keeps the lease of the key;
  /// somebody may have deleted the key itself.
  Registration(Entry entry, Say say, std::atomic<bool>* here);
  /// As Leave.
  ~Registration();
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  /// Takes the key back at once, if etcd answers within two seconds: otherwise it goes with its
  /// lease, and that is said. Later calls do nothing.
  void Leave();

 private:
  void Main();
  std::string Register();
  std::string KeepAlive();
  std::string Ask(HttpPoster& http, const std::string& path, const std::string& request,
                  int timeout_s, std::string* answer) const;
  bool Sleep(std::chrono::milliseconds time);

  const Entry entry_;
  const Say say_;
  std::atomic<bool>* const here_;
  HttpPoster http_;
  int64_t lease_ = 0;  // The thread's, while it runs. 0: none.
  bool left_ = false;

  std::mutex mutex_;  // Of `stopping_`.
  std::condition_variable stopping_;
  std::thread thread_;
};

}  // namespace sluice::etcd
