// SPDX-License-Identifier: BSD-3-Clause
//
// Handles NIC addresses that the kernel also has, on the interface that is the NIC's wire. The
// kernel answers ARP, ping and TCP for these addresses. The NIC's UDP ports are bound to kernel
// sockets that drop all datagrams, so that the kernel does not answer with "port unreachable".
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/owned_fd.h"

namespace sluice::rpc_app {

class KernelPorts {
 public:
  /// If the kernel has the `addresses`, a comma-separated list, binds the UDP `ports` of all of
  /// them, and listens at `tcp_port` if it is not 0. Returns nullopt and sets `error` if the kernel
  /// has only some of the addresses, or if another process uses one of the ports.
  static std::optional<KernelPorts> Bind(const std::string& addresses,
                                         const std::set<uint16_t>& ports, uint16_t tcp_port,
                                         std::string* error);

  /// Returns whether the kernel has the addresses.
  bool any() const { return !silent_.empty(); }
  /// Returns the listening sockets, one per address.
  const std::vector<base::OwnedFd>& listeners() const { return listeners_; }

 private:
  std::vector<base::OwnedFd> silent_;
  std::vector<base::OwnedFd> listeners_;
};

}  // namespace sluice::rpc_app
