// SPDX-License-Identifier: BSD-3-Clause
//
// Addresses of the NIC that the kernel has, too, on the interface that is the NIC's wire. Then the
// kernel answers ARP, ping and TCP for them. Of the NIC's datagrams it is not to say that nobody is
// there: their ports are taken by sockets that drop all they get.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/owned_fd.h"

namespace sluice::rpc_app {

class KernelPorts {
 public:
  /// Takes the UDP `ports` of all `addresses`, a list by commas, if the kernel has them; listens
  /// at `tcp_port`, if it is not 0. Nothing, with one line in `error`: it has some and not others,
  /// or another process has a port.
  static std::optional<KernelPorts> Take(const std::string& addresses,
                                         const std::set<uint16_t>& ports, uint16_t tcp_port,
                                         std::string* error);

  /// Whether the kernel has the addresses.
  bool any() const { return !silent_.empty(); }
  /// Listening sockets, for each address one.
  const std::vector<runtime::OwnedFd>& listeners() const { return listeners_; }

 private:
  std::vector<runtime::OwnedFd> silent_;
  std::vector<runtime::OwnedFd> listeners_;
};

}  // namespace sluice::rpc_app
