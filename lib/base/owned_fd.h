// SPDX-License-Identifier: BSD-3-Clause
//
// Owns a file descriptor.
#pragma once

#include <unistd.h>

#include <utility>

namespace sluice::base {

/// Closes its descriptor on destruction. Movable.
class OwnedFd {
 public:
  OwnedFd() = default;
  /// `fd` may be negative, such as the result of a failed open(2); the object then owns nothing.
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(other.Release()) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~OwnedFd() {
    if (fd_ >= 0) close(fd_);
  }

  /// Returns whether this object owns a descriptor.
  explicit operator bool() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  /// Returns the descriptor; the caller then owns it.
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

}  // namespace sluice::base
