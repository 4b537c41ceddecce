// SPDX-License-Identifier: BSD-3-Clause
//
// Interrupts on their way to a host in another process: one message each, of a socket of their own.
// A host could make an eventfd that its device writes to one that blocks; it cannot make a socket
// wait that is told not to.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <utility>

#include "device/device.h"
#include "emulator/channel.h"

namespace sluice::emulator {

/// The device's end. A message that finds no room is lost: a host that reads has room for more
/// than it can have armed.
class InterruptSocket final : public device::InterruptSink {
 public:
  InterruptSocket() = default;
  explicit InterruptSocket(File socket) : socket_(std::move(socket)) {}

  void Raise(uint32_t vector) override {
    send(socket_.fd(), &vector, sizeof(vector), MSG_DONTWAIT | MSG_NOSIGNAL);
  }

  /// Both ends; false if there are no descriptors left.
  static bool Pair(File* device, File* host) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
      return false;
    }
    *device = File(ends[0]);
    *host = File(ends[1]);
    return true;
  }
  /// Whether a peer's file is such an end.
  static bool Is(const File& file) {
    int domain = 0, type = 0;
    socklen_t bytes = sizeof(domain);
    return getsockopt(file.fd(), SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 &&
           getsockopt(file.fd(), SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && domain == AF_UNIX &&
           type == SOCK_SEQPACKET;
  }
  /// The host's end: calls `raise` with each number that came. Garbage is passed over.
  template <typename Raise>
  static void Receive(const File& host, Raise&& raise) {
    uint32_t vector;
    // As many as there are; a device that never ends is looked at again later.
    for (int i = 0; i < 256; ++i) {
      const ssize_t bytes = recv(host.fd(), &vector, sizeof(vector), MSG_DONTWAIT);
      if (bytes <= 0) return;
      if (bytes == sizeof(vector)) raise(vector);
    }
  }

 private:
  File socket_;
};

}  // namespace sluice::emulator
