// SPDX-License-Identifier: BSD-3-Clause
//
// Interrupts to a host in another process. Each interrupt is a message on a dedicated socket. An
// eventfd is not used, because a host could make the device's write to it block; a non-blocking
// send on a socket never waits.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <utility>

#include "device/device.h"
#include "emulator/channel.h"

namespace sluice::emulator {

/// The device's end. A message that does not fit is lost. A host that reads its messages does not
/// lose any, because the socket has room for more messages than the host can arm interrupts at
/// once.
class InterruptSocket final : public device::InterruptSink {
 public:
  InterruptSocket() = default;
  explicit InterruptSocket(base::OwnedFd socket) : socket_(std::move(socket)) {}

  void Raise(uint32_t vector) override {
    send(socket_.fd(), &vector, sizeof(vector), MSG_DONTWAIT | MSG_NOSIGNAL);
  }

  /// Creates both ends. Returns false if no descriptors are available.
  static bool Pair(base::OwnedFd* device, base::OwnedFd* host) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
      return false;
    }
    *device = base::OwnedFd(ends[0]);
    *host = base::OwnedFd(ends[1]);
    return true;
  }
  /// Returns whether a file received from a peer is a socket of this type.
  static bool Is(const base::OwnedFd& file) {
    int domain = 0, type = 0;
    socklen_t bytes = sizeof(domain);
    return getsockopt(file.fd(), SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 &&
           getsockopt(file.fd(), SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && domain == AF_UNIX &&
           type == SOCK_SEQPACKET;
  }
  /// The host's end: calls `raise` with each interrupt number that it receives. Ignores invalid
  /// messages.
  template <typename Raise>
  static void Receive(const base::OwnedFd& host, Raise&& raise) {
    uint32_t vector;
    // Limits the loop, so that a device that sends continuously cannot block the caller.
    for (int i = 0; i < 256; ++i) {
      const ssize_t bytes = recv(host.fd(), &vector, sizeof(vector), MSG_DONTWAIT);
      if (bytes <= 0) return;
      if (bytes == sizeof(vector)) raise(vector);
    }
  }

 private:
  base::OwnedFd socket_;
};

}  // namespace sluice::emulator
