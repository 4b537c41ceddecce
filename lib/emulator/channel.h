// SPDX-License-Identifier: BSD-3-Clause
//
// Messages with file descriptors over a UNIX socket. All waits are bounded.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/owned_fd.h"

namespace sluice::emulator {

/// Sends as much of `data` as the socket has room for, with a copy of `file` unless it is negative.
/// Never waits. Returns the number of bytes sent, or −1 with errno.
ssize_t SendWithFile(int socket, const void* data, size_t bytes, int file = -1);

/// Result of one call of recvmsg(2).
struct Received {
  ssize_t bytes;                     ///< 0: the peer is gone. −1: see errno.
  std::vector<base::OwnedFd> files;  ///< All received files, owned.
  bool cut;                          ///< Bytes or files were truncated.
};
/// Receives the available data, with up to kMaxReceivedFiles files. Never waits.
Received ReceiveWithFiles(int socket, void* data, size_t capacity);
inline constexpr size_t kMaxReceivedFiles = 16;

/// One end of a SOCK_SEQPACKET connection. Send and Receive may be called by one thread at a time,
/// Shutdown by any thread.
class Channel {
 public:
  Channel() = default;
  explicit Channel(base::OwnedFd socket) : socket_(std::move(socket)) {}

  explicit operator bool() const { return static_cast<bool>(socket_); }
  int fd() const { return socket_.fd(); }

  /// Sends one message, with `file` unless it is negative. Returns false if the peer is gone or
  /// does not read. Never waits.
  bool Send(const void* data, size_t bytes, int file = -1);
  /// Receives one message of at most `capacity` bytes and the file attached to it, if any. Returns
  /// nullopt after `patience`, if the peer is gone, or if the message is too long, is empty or has
  /// several files.
  std::optional<size_t> Receive(void* data, size_t capacity, base::OwnedFd* file,
                                std::chrono::milliseconds patience);
  /// Ends the connection; threads that wait at either end return.
  void Shutdown();

 private:
  base::OwnedFd socket_;
};

/// Creates a listening socket at `path`. Only this user may connect, and the path appears when it
/// accepts connections. Replaces a dead process's socket. Returns an empty file and sets `error` on
/// failure.
base::OwnedFd Listen(const std::string& path, std::string* error, int type = SOCK_SEQPACKET);
/// Connects to `path`, without checking the listening process. Returns an empty file if no process
/// listens or the path is invalid.
base::OwnedFd ConnectTo(const std::string& path);
/// Connects to `path`. Returns an empty file and sets `error` if no process listens there or if the
/// process does not belong to this user, root or `trusted`.
base::OwnedFd Connect(const std::string& path, std::optional<uid_t> trusted, std::string* error);

/// The process at the other end of a connection: the one that connected or that listened.
struct Peer {
  pid_t pid = 0;
  uid_t uid = 0;
};
/// Returns the process at the other end of a connected socket; nullopt if the kernel does not
/// provide it.
std::optional<Peer> PeerOf(const base::OwnedFd& socket);
/// Returns true if the user is root or this process's user.
bool IsOwnOrRoot(uid_t uid);

}  // namespace sluice::emulator
