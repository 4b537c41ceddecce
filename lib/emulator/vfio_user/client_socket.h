// SPDX-License-Identifier: BSD-3-Clause
//
// A client's stream socket: messages in, messages out, never a wait.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "emulator/channel.h"
#include "emulator/vfio_user/message_reader.h"

namespace sluice::emulator::vfio_user {

/// Used by one thread.
class ClientSocket {
 public:
  /// A connected stream socket.
  explicit ClientSocket(File socket) : socket_(std::move(socket)) {}

  const File& file() const { return socket_; }
  /// Takes in what has arrived, up to a piece. False: the client is gone, or `*wrong` says what
  /// makes no sense.
  bool Receive(const char** wrong);
  std::deque<Message>& messages() { return reader_.messages(); }
  const std::deque<Message>& messages() const { return reader_.messages(); }
  /// The client has closed its socket: it reads nothing that is sent from now on.
  bool HungUp() const;

  /// Sends a message, with a copy of `file` unless it is negative. What the socket has no room for
  /// leaves with Flush. False: the client is gone, or `*wrong` says what it does not do.
  bool Send(const Header& header, std::span<const uint8_t> payload, int file, const char** wrong);
  bool Flush();
  bool waiting() const { return waiting_bytes() != 0; }
  /// What still comes is thrown away until nothing comes, and nothing is sent any more: the client
  /// finds the end of the connection, and no error. Waits, but no longer than kPartingPatience.
  void Part();

  size_t waiting_bytes() const { return outbox_.size() - sent_; }

  static constexpr std::chrono::milliseconds kPartingPatience{2000};
  /// Beyond it a client that reads nothing is sent nothing.
  static constexpr size_t kMaxWaitingBytes = 16 * kMaxMessageBytes;

 private:
  /// Throws away what comes until nothing has come for `quiet`, or `patience` is over. False: the
  /// client is gone.
  bool Discard(std::chrono::milliseconds quiet, std::chrono::milliseconds patience);
  /// False: the client is gone. `*sent`: bytes that the socket took.
  bool TrySend(std::span<const uint8_t> bytes, int file, size_t* sent);

  File socket_;
  MessageReader reader_;
  std::vector<uint8_t> piece_ = std::vector<uint8_t>(64 * 1024);
  std::vector<uint8_t> outbox_;
  size_t sent_ = 0;  ///< Of outbox_.
};

}  // namespace sluice::emulator::vfio_user
