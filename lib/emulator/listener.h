// SPDX-License-Identifier: BSD-3-Clause
//
// A socket where others connect. Who finds this process without a descriptor for him waits: poll
// would say at once, and again, that he is there.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "emulator/channel.h"

namespace sluice::emulator {

/// Used by one thread.
class Listener {
 public:
  /// As Listen. Null, with the reason in `error`, if that is not possible.
  static std::unique_ptr<Listener> Create(const std::string& path, std::string* error,
                                          int type = SOCK_SEQPACKET);
  /// Removes the socket's path while it is this listener's.
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Whether the path still leads here: others may take it over.
  bool OwnsPath() const;

  /// To be polled for `*patience`, which is less where it is −1: nobody is let in until then.
  int Await(std::chrono::milliseconds* patience) const {
    using std::chrono::milliseconds;
    const auto left = std::chrono::ceil<milliseconds>(rests_until_ - Clock::now());
    if (left.count() <= 0) return socket_.fd();
    *patience = std::min(*patience, left);
    return -1;
  }
  /// The next who has connected. Empty: there is nobody, or no room for him now.
  File Accept() {
    File peer(accept4(socket_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!peer) rests_until_ = Clock::now() + kRest;
    return peer;
  }

  static constexpr std::chrono::milliseconds kRest{100};

 private:
  using Clock = std::chrono::steady_clock;

  Listener(File socket, const std::string& path);

  const File socket_;
  const std::string path_;
  dev_t device_ = 0;  ///< Of the file that the path led to when listening began.
  ino_t inode_ = 0;
  Clock::time_point rests_until_;
};

}  // namespace sluice::emulator
