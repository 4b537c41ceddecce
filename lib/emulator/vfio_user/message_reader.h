// SPDX-License-Identifier: BSD-3-Clause
//
// Splits a byte stream with attached files into messages. Does not depend on sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "emulator/channel.h"
#include "emulator/vfio_user/protocol.h"

namespace sluice::emulator::vfio_user {

struct Message {
  Header header{};
  std::vector<uint8_t> payload;
  std::vector<base::OwnedFd> files;
};

/// Parses the messages of one connection. Used by one thread. The input is untrusted: after the
/// first invalid piece, all others are rejected.
class MessageReader {
 public:
  /// Parses one piece as returned by one recvmsg call. On a UNIX stream socket, files arrive with
  /// the bytes that they were sent with, and a piece ends with those bytes, so the files belong to
  /// the last message that begins in the piece. Returns null, or an error that is permanent.
  const char* Read(std::span<const uint8_t> bytes, std::vector<base::OwnedFd> files);
  /// Returns the complete messages in order. The caller may move them out.
  std::deque<Message>& messages() { return messages_; }
  const std::deque<Message>& messages() const { return messages_; }
  /// Returns the number of bytes of an incomplete message.
  size_t waiting_bytes() const { return buffer_.size(); }

 private:
  std::vector<uint8_t> buffer_;       ///< Bytes of the incomplete message.
  std::vector<base::OwnedFd> files_;  ///< Files of the incomplete message.
  std::deque<Message> messages_;
  const char* wrong_ = nullptr;
};

}  // namespace sluice::emulator::vfio_user
