// SPDX-License-Identifier: BSD-3-Clause
//
// A client's stream socket. Sends and receives messages. Only Part() waits.
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

/// The connection to one client. Used by one thread.
class ClientSocket {
 public:
  /// `socket` must be a connected stream socket.
  explicit ClientSocket(base::OwnedFd socket) : socket_(std::move(socket)) {}

  const base::OwnedFd& file() const { return socket_; }
  /// Receives at most one piece of the available data. Returns false if the client is gone; if the
  /// data is invalid, also sets `*wrong` to the reason.
  bool Receive(const char** wrong);
  std::deque<Message>& messages() { return reader_.messages(); }
  const std::deque<Message>& messages() const { return reader_.messages(); }
  /// Returns whether the client has closed its socket and no longer reads.
  bool HungUp() const;

  /// Sends a message, together with a copy of `file` unless `file` is negative. Bytes for which the
  /// socket has no room are sent later by Flush. Returns false if the client is gone; if the client
  /// is at fault, also sets `*wrong` to the reason.
  bool Send(const Header& header, std::span<const uint8_t> payload, int file, const char** wrong);
  bool Flush();
  bool waiting() const { return waiting_bytes() != 0; }
  /// Sends no more data, and discards incoming data until none arrives, so that the client sees the
  /// end of the connection instead of an error. Waits at most kPartingPatience.
  void Part();

  size_t waiting_bytes() const { return outbox_.size() - sent_; }

  static constexpr std::chrono::milliseconds kPartingPatience{2000};
  /// Maximum number of unsent bytes. A client that does not read is disconnected when it is
  /// reached.
  static constexpr size_t kMaxWaitingBytes = 16 * kMaxMessageBytes;

 private:
  /// Discards incoming data until none has arrived for `quiet`, or until `patience` has passed.
  /// Returns false if the client is gone.
  bool Discard(std::chrono::milliseconds quiet, std::chrono::milliseconds patience);
  /// Sets `*sent` to the number of bytes that the socket has accepted. Returns false if the client
  /// is gone.
  bool TrySend(std::span<const uint8_t> bytes, int file, size_t* sent);

  base::OwnedFd socket_;
  MessageReader reader_;
  std::vector<uint8_t> piece_ = std::vector<uint8_t>(64 * 1024);
  std::vector<uint8_t> outbox_;
  size_t sent_ = 0;  ///< Number of bytes of outbox_ that have been sent.
};

}  // namespace sluice::emulator::vfio_user
