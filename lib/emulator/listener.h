// SPDX-License-Identifier: BSD-3-Clause
//
// A listening socket. If this process has no free descriptor for a new connection, poll would
// report the connection again at once. The listener is therefore not polled for kRest.
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

/// A listening socket at a path. Used by one thread.
class Listener {
 public:
  /// Creates a listener as Listen does. Returns null and sets `error` on failure.
  static std::unique_ptr<Listener> Create(const std::string& path, std::string* error,
                                          int type = SOCK_SEQPACKET);
  /// Removes the socket's path if it still belongs to this listener.
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Returns whether the path still refers to this socket. Another process may have replaced it.
  bool OwnsPath() const;

  /// Returns the listening descriptor, which must be polled for `*patience`. For kRest after an
  /// Accept that returned no connection, returns −1 instead and limits `*patience` to the rest of
  /// that time.
  int Await(std::chrono::milliseconds* patience) const {
    using std::chrono::milliseconds;
    const auto left = std::chrono::ceil<milliseconds>(rests_until_ - Clock::now());
    if (left.count() <= 0) return socket_.fd();
    *patience = std::min(*patience, left);
    return -1;
  }
  /// Accepts the next connection. Returns an empty file if no connection is waiting or no
  /// descriptor is free.
  base::OwnedFd Accept() {
    base::OwnedFd peer(accept4(socket_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!peer) rests_until_ = Clock::now() + kRest;
    return peer;
  }

  static constexpr std::chrono::milliseconds kRest{100};

 private:
  using Clock = std::chrono::steady_clock;

  Listener(base::OwnedFd socket, const std::string& path);

  const base::OwnedFd socket_;
  const std::string path_;
  dev_t device_ = 0;  ///< Identity of the path's file when listening began.
  ino_t inode_ = 0;
  Clock::time_point rests_until_;
};

}  // namespace sluice::emulator
