// SPDX-License-Identifier: BSD-3-Clause
#include "kernel_ports.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace sluice::rpc_app {
namespace {

constexpr int kBacklog = 64;

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t bytes = 0;
};

// Returns an address of 0 bytes if `text` is not an IP address.
SocketAddress AddressOf(const std::string& text, uint16_t port) {
  SocketAddress address;
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&address.storage, &v4, address.bytes = sizeof(v4));
  } else if (inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&address.storage, &v6, address.bytes = sizeof(v6));
  }
  return address;
}

// Returns a socket bound to the address, or none, with errno set.
base::OwnedFd Bound(const SocketAddress& address, int type) {
  base::OwnedFd made(socket(address.storage.ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!made) return {};
  const int on = 1;
  if (address.storage.ss_family == AF_INET6) {
    setsockopt(made.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
  }
  if (type == SOCK_STREAM) setsockopt(made.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address.storage);
  if (bind(made.fd(), generic, address.bytes) != 0) return {};
  return made;
}

// Makes the socket drop all datagrams silently.
bool Silence(int socket) {
  sock_filter none = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog program = {1, &none};
  return setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0;
}

std::vector<std::string> Split(const std::string& list) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= list.size();) {
    const size_t comma = std::min(list.find(',', at), list.size());
    parts.push_back(list.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

}  // namespace

std::optional<KernelPorts> KernelPorts::Bind(const std::string& addresses,
                                             const std::set<uint16_t>& ports, uint16_t tcp_port,
                                             std::string* error) {
  KernelPorts taken;
  const auto fail = [&](const std::string& address, uint16_t port, const char* protocol) {
    *error = address + ": the kernel has this address, but " + protocol + " port " +
             std::to_string(port) + " cannot be bound: " + std::strerror(errno);
    return std::nullopt;
  };
  size_t foreign = 0;
  const std::vector<std::string> all = Split(addresses);
  for (const std::string& text : all) {
    for (const uint16_t port : ports) {
      const SocketAddress address = AddressOf(text, port);
      if (address.bytes == 0) continue;  // The wire reports the error.
      base::OwnedFd made = Bound(address, SOCK_DGRAM);
      if (!made && errno == EADDRNOTAVAIL) {
        ++foreign;
        break;
      }
      if (!made || !Silence(made.fd())) return fail(text, port, "UDP");
      taken.silent_.push_back(std::move(made));
    }
    if (tcp_port == 0 || foreign != 0) continue;
    const SocketAddress address = AddressOf(text, tcp_port);
    if (address.bytes == 0) continue;
    base::OwnedFd listener = Bound(address, SOCK_STREAM);
    if (!listener || listen(listener.fd(), kBacklog) != 0) return fail(text, tcp_port, "TCP");
    taken.listeners_.push_back(std::move(listener));
  }
  if (foreign != 0 && taken.any()) {
    *error =
        "the kernel has only some of these addresses: assign all of them to the kernel, or none";
    return std::nullopt;
  }
  return taken;
}

}  // namespace sluice::rpc_app
