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
/// Room for more files than are allowed, so that too many are seen and closed.
constexpr size_t kMaxFiles = 4;

/// False, with a reason, if no socket can have that path.
bool MakeAddress(const std::string& path, sockaddr_un* address, std::string* error) {
  *address = {};
  address->sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address->sun_path)) {
    *error = "give a path of 1 to " + std::to_string(sizeof(address->sun_path) - 1) + " characters";
    return false;
  }
  path.copy(address->sun_path, path.size());
  return true;
}

File MakeSocket() {
  return File(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

template <typename Call>
bool WithAddress(Call call, const File& socket, const sockaddr_un& address) {
  return call(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

/// The files of a received message, all of them owned.
std::array<File, kMaxFiles> TakeFiles(msghdr& message, size_t* count) {
  std::array<File, kMaxFiles> files;
  *count = 0;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t number = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < number; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      File file(fd);
      if (*count < kMaxFiles) files[(*count)++] = std::move(file);
    }
  }
  return files;
}

}  // namespace

File::~File() {
  if (fd_ >= 0) close(fd_);
}

bool Channel::Send(const void* data, size_t bytes, int file) {
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
    sent = sendmsg(socket_.fd(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(bytes);
}

std::optional<size_t> Channel::Receive(void* data, size_t capacity, File* file,
                                       std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  iovec part = {data, capacity};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxFiles * sizeof(int))> control{};
  for (;;) {
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t received =
        recvmsg(socket_.fd(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (received >= 0) {
      size_t files = 0;
      auto taken = TakeFiles(message, &files);
      if (received == 0 || files > 1 || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
        return std::nullopt;
      }
      *file = std::move(taken[0]);
      return static_cast<size_t>(received);
    }
    // A reset is reported once, before what the peer had sent last.
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

std::optional<Peer> PeerOf(const File& socket) {
  ucred peer{};
  socklen_t bytes = sizeof(peer);
  if (getsockopt(socket.fd(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) return std::nullopt;
  return Peer{peer.pid, peer.uid};
}

bool IsOwnOrRoot(uid_t uid) { return uid == 0 || uid == geteuid(); }

File Listen(const std::string& path, std::string* error) {
  sockaddr_un address;
  if (!MakeAddress(path, &address, error)) return {};
  struct stat there {};
  if (lstat(path.c_str(), &there) == 0) {
    if (!S_ISSOCK(there.st_mode)) {
      *error = "exists and is not a socket: name a path that does not exist";
      return {};
    }
    const File probe = MakeSocket();
    if (WithAddress(connect, probe, address) || errno == EAGAIN) {
      *error = "another process listens there: end it, or give another path";
      return {};
    }
    if (errno == ECONNREFUSED) unlink(path.c_str());
  }
  File socket = MakeSocket();
  // bind() gives the file the socket's own mode; the umask is all threads'.
  if (!socket || fchmod(socket.fd(), S_IRUSR | S_IWUSR) != 0 ||
      !WithAddress(bind, socket, address) || listen(socket.fd(), kBacklog) != 0) {
    *error = std::string(std::strerror(errno)) +
             ": give a path in a folder where you may create files";
    return {};
  }
  return socket;
}

File ConnectTo(const std::string& path) {
  sockaddr_un address;
  std::string unsaid;
  if (!MakeAddress(path, &address, &unsaid)) return {};
  File socket = MakeSocket();
  if (!socket || !WithAddress(connect, socket, address)) return {};
  return socket;
}

File Connect(const std::string& path, std::optional<uid_t> trusted, std::string* error) {
  sockaddr_un address;
  if (!MakeAddress(path, &address, error)) return {};
  File socket = ConnectTo(path);
  if (!socket) {
    *error =
        std::string(std::strerror(errno)) + ": start sluice-device --socket=" + path + " first";
    return {};
  }
  const std::optional<Peer> peer = PeerOf(socket);
  if (peer && (IsOwnOrRoot(peer->uid) || peer->uid == trusted)) return socket;
  const std::string user = peer ? std::to_string(peer->uid) : "unknown";
  *error = "user " + user + " listens there, and would get all memory of this process: start " +
           "sluice-device as this user or root, or trust that user with device_uid=" + user;
  return {};
}

}  // namespace sluice::emulator
