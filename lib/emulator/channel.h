// SPDX-License-Identifier: BSD-3-Clause
//
// Files, and messages with files over a UNIX socket; no wait without a bound.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::emulator {

/// Owns a file descriptor. Movable.
class File {
 public:
  File() = default;
  explicit File(int fd) : fd_(fd) {}
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~File();

  explicit operator bool() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  /// Gives it away.
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

/// Sends as much of `data` as the socket has room for, with a copy of `file` unless it is negative;
/// never waits. The bytes that it took, or −1 and errno.
ssize_t SendWithFile(int socket, const void* data, size_t bytes, int file = -1);

/// What one call of recvmsg(2) returned.
struct Received {
  ssize_t bytes;            ///< 0: the peer is gone. −1: errno says why.
  std::vector<File> files;  ///< All that came with them, owned.
  bool cut;                 ///< Bytes or files found no room, here or in this process.
};
/// Receives what is there, with up to kMaxReceivedFiles files; never waits.
Received ReceiveWithFiles(int socket, void* data, size_t capacity);
inline constexpr size_t kMaxReceivedFiles = 16;

/// One end of a SOCK_SEQPACKET connection. Send and Receive: one thread at a time;
/// Shutdown: any.
class Channel {
 public:
  Channel() = default;
  explicit Channel(File socket) : socket_(std::move(socket)) {}

  explicit operator bool() const { return static_cast<bool>(socket_); }
  int fd() const { return socket_.fd(); }

  /// Sends one message, with `file` unless it is negative. False if the peer is gone or
  /// does not read; never waits.
  bool Send(const void* data, size_t bytes, int file = -1);
  /// Receives one message of at most `capacity` bytes and the file that came with it, if
  /// any. Nothing after `patience`, if the peer is gone, or if the message is longer,
  /// empty, or has several files.
  std::optional<size_t> Receive(void* data, size_t capacity, File* file,
                                std::chrono::milliseconds patience);
  /// Whoever waits at either end sees the end of the connection.
  void Shutdown();

 private:
  File socket_;
};

/// Listens at `path`, which only this user may connect to, and which appears when it can be
/// connected to; takes the place of a dead process's socket. Empty, with the reason in `error`, if
/// that is not possible.
File Listen(const std::string& path, std::string* error, int type = SOCK_SEQPACKET);
/// Connects to `path`, whoever listens there. Empty if nobody does, or no path is like that.
File ConnectTo(const std::string& path);
/// Connects to `path`. Empty, with the reason in `error`, if nobody listens there, or a
/// process of another user than this one, root and `trusted`.
File Connect(const std::string& path, std::optional<uid_t> trusted, std::string* error);

/// Who is at the other end of a connection: who connected, or who listened.
struct Peer {
  pid_t pid = 0;
  uid_t uid = 0;
};
/// Nothing if the kernel does not say.
std::optional<Peer> PeerOf(const File& socket);
/// True for root's processes and this user's.
bool IsOwnOrRoot(uid_t uid);

}  // namespace sluice::emulator
