// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace sluice::emulator {
namespace {

constexpr int kBacklog = 8;
/// Room for the temporary suffix that a socket's path has until the socket listens: a separator and
/// a process id.
constexpr size_t kMaxUnreadyChars = 11;
constexpr size_t kMaxPathChars = sizeof(sockaddr_un::sun_path) - 1 - kMaxUnreadyChars;

/// Returns the address for a path, which must fit together with its NUL.
sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

/// Returns false and sets `error` if a socket cannot have the path `path`.
bool MakeAddress(const std::string& path, sockaddr_un* address, std::string* error) {
  if (path.empty() || path.size() > kMaxPathChars) {
    *error = "give a path of 1 to " + std::to_string(kMaxPathChars) + " characters";
    return false;
  }
  *address = AddressOf(path);
  return true;
}

base::OwnedFd MakeSocket(int type = SOCK_SEQPACKET) {
  return base::OwnedFd(socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

template <typename Call>
bool WithAddress(Call call, const base::OwnedFd& socket, const sockaddr_un& address) {
  return call(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

/// Binds and listens at a temporary path, then links `path` to it. If `path` itself were bound,
/// another process could connect before listen(), be refused, and consider the socket dead. On
/// failure, returns false and sets errno; EEXIST means that the path exists.
bool ListenAt(const std::string& path, const base::OwnedFd& socket) {
  const std::string unready = path + "~" + std::to_string(getpid());
  const sockaddr_un address = AddressOf(unready);
  unlink(unready.c_str());  // A killed process with this id may have left a socket.
  // bind() applies the socket's mode to the file. Setting the umask instead would affect all
  // threads.
  if (fchmod(socket.fd(), S_IRUSR | S_IWUSR) != 0 || !WithAddress(bind, socket, address)) {
    return false;
  }
  const bool listens =
      listen(socket.fd(), kBacklog) == 0 && link(unready.c_str(), path.c_str()) == 0;
  const int reason = errno;
  unlink(unready.c_str());
  errno = reason;
  return listens;
}

}  // namespace

ssize_t SendWithFile(int socket, const void* data, size_t bytes, int file) {
  iovec part = {const_cast<void*>(data), bytes};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (file >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &file, sizeof(int));
  }
  ssize_t sent;
  do {
    sent = sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent;
}

Received ReceiveWithFiles(int socket, void* data, size_t capacity) {
  iovec into = {data, capacity};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxReceivedFiles * sizeof(int))> control;
  msghdr message = {};
  message.msg_iov = &into;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  Received received = {recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC), {}, false};
  if (received.bytes < 0) return received;
  received.cut = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t number = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < number; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      received.files.emplace_back(fd);
    }
  }
  return received;
}

bool Channel::Send(const void* data, size_t bytes, int file) {
  return SendWithFile(socket_.fd(), data, bytes, file) == static_cast<ssize_t>(bytes);
}

std::optional<size_t> Channel::Receive(void* data, size_t capacity, base::OwnedFd* file,
                                       std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    Received received = ReceiveWithFiles(socket_.fd(), data, capacity);
    if (received.bytes >= 0) {
      if (received.bytes == 0 || received.files.size() > 1 || received.cut) return std::nullopt;
      *file = received.files.empty() ? base::OwnedFd() : std::move(received.files[0]);
      return static_cast<size_t>(received.bytes);
    }
    // A reset is reported once, before the data that the peer sent last.
    if (errno == EINTR || errno == ECONNRESET) continue;
    if (errno != EAGAIN) return std::nullopt;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd wait = {socket_.fd(), POLLIN, 0};
    if (left.count() <= 0 || poll(&wait, 1, static_cast<int>(left.count()) + 1) == 0) {
      return std::nullopt;
    }
  }
}

void Channel::Shutdown() {
  if (socket_) shutdown(socket_.fd(), SHUT_RDWR);
}

std::optional<Peer> PeerOf(const base::OwnedFd& socket) {
  ucred peer{};
  socklen_t bytes = sizeof(peer);
  if (getsockopt(socket.fd(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) return std::nullopt;
  return Peer{peer.pid, peer.uid};
}

bool IsOwnOrRoot(uid_t uid) { return uid == 0 || uid == geteuid(); }

base::OwnedFd Listen(const std::string& path, std::string* error, int type) {
  sockaddr_un address;
  if (!MakeAddress(path, &address, error)) return {};
  struct stat there {};
  if (lstat(path.c_str(), &there) == 0) {
    if (!S_ISSOCK(there.st_mode)) {
      *error = "exists and is not a socket: give a path that does not exist";
      return {};
    }
    const base::OwnedFd probe = MakeSocket(type);
    // A socket of another type (EPROTOTYPE) also has a living owner.
    if (WithAddress(connect, probe, address) || errno == EAGAIN || errno == EPROTOTYPE) {
      errno = EADDRINUSE;
      *error = "another process listens there: end it, or give another path";
      return {};
    }
    if (errno == ECONNREFUSED) unlink(path.c_str());
  }
  base::OwnedFd socket = MakeSocket(type);
  if (!socket || !ListenAt(path, socket)) {
    *error =
        std::string(std::strerror(errno)) + ": give a path in a folder where you may create files";
    return {};
  }
  return socket;
}

base::OwnedFd ConnectTo(const std::string& path) {
  sockaddr_un address;
  std::string unsaid;
  if (!MakeAddress(path, &address, &unsaid)) return {};
  base::OwnedFd socket = MakeSocket();
  if (!socket || !WithAddress(connect, socket, address)) return {};
  return socket;
}

base::OwnedFd Connect(const std::string& path, std::optional<uid_t> trusted, std::string* error) {
  sockaddr_un address;
  if (!MakeAddress(path, &address, error)) return {};
  base::OwnedFd socket = ConnectTo(path);
  if (!socket) {
    *error =
        std::string(std::strerror(errno)) + ": start sluice-device --socket=" + path + " first";
    return {};
  }
  const std::optional<Peer> peer = PeerOf(socket);
  if (peer && (IsOwnOrRoot(peer->uid) || peer->uid == trusted)) return socket;
  if (!peer) {
    *error = "the user of the device's process is unknown: start sluice-device on this host";
    return {};
  }
  const std::string user = std::to_string(peer->uid);
  *error = "the device runs as user " + user +
           " and would get access to all memory of this process: start sluice-device as the user "
           "of this process or as root, or trust user " +
           user + " with device_uid=" + user;
  return {};
}

}  // namespace sluice::emulator
