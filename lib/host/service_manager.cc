// SPDX-License-Identifier: BSD-3-Clause
#include "host/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdlib>

#include "base/owned_fd.h"

namespace sluice::host {

void NotifyServiceManager(std::string_view state) {
  const char* const given = std::getenv("NOTIFY_SOCKET");
  const std::string_view name = given == nullptr ? "" : given;
  sockaddr_un manager{};
  if (!(name.starts_with('/') || name.starts_with('@')) || name.size() > sizeof(manager.sun_path)) {
    return;
  }
  manager.sun_family = AF_UNIX;
  name.copy(manager.sun_path, name.size());
  if (name.starts_with('@')) manager.sun_path[0] = '\0';  // Abstract socket address, unix(7).
  const base::OwnedFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd) return;
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  sendto(fd.fd(), state.data(), state.size(), MSG_NOSIGNAL,
         reinterpret_cast<const sockaddr*>(&manager), bytes);
}

}  // namespace sluice::host
