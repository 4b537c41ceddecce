// SPDX-License-Identifier: BSD-3-Clause
#include "ping.h"

#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "local_fault.h"
#include "socket_address.h"

namespace sluice::maglev {

Ping::Ping(const engine::maglev::IpAddress& to)
    : fd_(socket(to.ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                 to.ipv6 ? int{IPPROTO_ICMPV6} : int{IPPROTO_ICMP})),
      answer_type_(to.ipv6 ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY) {
  if (fd_ < 0) {
    local_fault_ = errno;
  } else if (!Send(to)) {
    local_fault_ = IsLocalFault(errno) ? errno : 0;
    close(fd_);
    fd_ = -1;
  }
}

Ping::~Ping() {
  if (fd_ >= 0) close(fd_);
}

bool Ping::Send(const engine::maglev::IpAddress& to) {
  const SocketAddress address(to);
  // Only type and code are set; the kernel fills in checksum and identifier, and delivers replies
  // with the identifier to this socket. Each request has a separate socket, so a sequence number is
  // not needed.
  std::array<uint8_t, 16> request{};
  request[0] = to.ipv6 ? ICMP6_ECHO_REQUEST : ICMP_ECHO;
  return connect(fd_, address.get(), address.bytes) == 0 &&
         send(fd_, request.data(), request.size(), 0) == static_cast<ssize_t>(request.size());
}

bool Ping::IsAnswered() {
  std::array<uint8_t, 64> reply;
  ssize_t bytes = 0;
  while ((bytes = recv(fd_, reply.data(), reply.size(), 0)) > 0) {
    if (reply[0] == answer_type_) return true;
  }
  return false;
}

}  // namespace sluice::maglev
