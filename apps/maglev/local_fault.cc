// SPDX-License-Identifier: BSD-3-Clause
#include "local_fault.h"

#include <unistd.h>

#include <cerrno>

#include "socket_address.h"

namespace sluice::maglev {

bool IsLocalFault(int error) {
  switch (error) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:  // Also reported for a full neighbour table.
    case ENOMEM:
    case EAGAIN:         // No local port is free, or the send buffer is full.
    case EADDRNOTAVAIL:  // All ports are in use, or no source address exists.
    case EPERM:          // A filter on this host rejects the packet.
    case EINVAL:         // Also reported for a full IPv6 neighbour table.
    case ENETDOWN:
      return true;
    default:
      return false;
  }
}

int FaultOfSending(const engine::maglev::IpAddress& to) {
  constexpr uint16_t kDiscardPort = 9;
  const int fd = socket(to.ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return 0;
  // Without this option, the kernel hides ENOBUFS.
  const int on = 1;
  setsockopt(fd, to.ipv6 ? int{IPPROTO_IPV6} : int{IPPROTO_IP}, to.ipv6 ? IPV6_RECVERR : IP_RECVERR,
             &on, sizeof(on));
  const SocketAddress address(to, kDiscardPort);
  const bool sent = connect(fd, address.get(), address.bytes) == 0 && send(fd, "", 0, 0) == 0;
  const int error = sent ? 0 : errno;
  close(fd);
  // A filter may reject this datagram but not the check, so EPERM is not a fault here.
  return error == ENOBUFS || error == EINVAL ? error : 0;
}

}  // namespace sluice::maglev
