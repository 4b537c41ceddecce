// SPDX-License-Identifier: BSD-3-Clause
//
// Sends and receives messages and file descriptors over a UNIX socket. All waits are bounded.
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

/// Sends as much of `data` as the socket has room for, together with a copy of `file` unless `file`
/// is negative. Never waits. Returns the number of bytes sent, or −1 with errno.
ssize_t SendWithFile(int socket, const void* data, size_t bytes, int file = -1);

/// Result of a single recvmsg(2) call.
struct Received {
  ssize_t bytes;                     ///< 0: the peer is gone. −1: see errno.
  std::vector<base::OwnedFd> files;  ///< All received files, which this object owns.
  bool cut;                          ///< Bytes or files were truncated.
};
/// Receives the available data, with up to kMaxReceivedFiles files. Never waits.
Received ReceiveWithFiles(int socket, void* data, size_t capacity);
inline constexpr size_t kMaxReceivedFiles = 16;

/// One end of a SOCK_SEQPACKET connection. Send and Receive may be called by only one thread at a
/// time; Shutdown may be called by any thread.
class Channel {
 public:
  Channel() = default;
  explicit Channel(base::OwnedFd socket) : socket_(std::move(socket)) {}

  explicit operator bool() const { return static_cast<bool>(socket_); }
  int fd() const { return socket_.fd(); }

  /// Sends one message, together with `file` unless `file` is negative. Returns false if the peer
  /// is gone or is not reading. Never waits.
  bool Send(const void* data, size_t bytes, int file = -1);
  /// Receives one message of at most `capacity` bytes and the file attached to it, if any. Returns
  /// nullopt if none arrives within `patience`, if the peer is gone, or if the message is too long,
  /// is empty or has more than one file.
  std::optional<size_t> Receive(void* data, size_t capacity, base::OwnedFd* file,
                                std::chrono::milliseconds patience);
  /// Ends the connection; threads that wait at either end return.
  void Shutdown();

 private:
  base::OwnedFd socket_;
};

/// Creates a listening socket at `path`. Only this user may connect, and the path appears only once
/// the socket accepts connections. Replaces the socket of a dead process. Returns an empty file and
/// sets `error` on failure.
base::OwnedFd Listen(const std::string& path, std::string* error, int type = SOCK_SEQPACKET);
/// Connects to `path` without checking which process is listening. Returns an empty file if no
/// process is listening or the path is invalid.
base::OwnedFd ConnectTo(const std::string& path);
/// Connects to `path`. Returns an empty file and sets `error` if no process is listening there or
/// if the process does not belong to this user, root or `trusted`.
base::OwnedFd Connect(const std::string& path, std::optional<uid_t> trusted, std::string* error);

/// The process at the other end of a connection: the one that connected or that listened.
struct Peer {
  pid_t pid = 0;
  uid_t uid = 0;
};
/// Returns the process at the other end of a connected socket; nullopt if the kernel does not
/// provide this information.
std::optional<Peer> PeerOf(const base::OwnedFd& socket);
/// Returns whether the user is root or this process's user.
bool IsOwnOrRoot(uid_t uid);

}  // namespace sluice::emulator
