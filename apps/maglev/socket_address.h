// SPDX-License-Identifier: BSD-3-Clause
//
// An address and a port in the format of kernel sockets.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstring>

#include "engine/maglev/address.h"

namespace sluice::maglev {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t bytes = 0;

  explicit SocketAddress(const engine::maglev::IpAddress& to, uint16_t port = 0) {
    if (to.ipv6) {
      sockaddr_in6 address{};
      address.sin6_family = AF_INET6;
      address.sin6_port = htons(port);
      std::memcpy(&address.sin6_addr, to.bytes.data(), 16);
      std::memcpy(&storage, &address, bytes = sizeof(address));
    } else {
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(port);
      std::memcpy(&address.sin_addr, to.bytes.data(), 4);
      std::memcpy(&storage, &address, bytes = sizeof(address));
    }
  }
  /// Returns the address for connect(2).
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

}  // namespace sluice::maglev
