// SPDX-License-Identifier: BSD-3-Clause
//
// A stream of bytes, and the files that came with them, as messages. Knows nothing of sockets.
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
  std::vector<File> files;
};

/// Used by one thread. Believes nothing: after the first piece that makes no sense it is broken.
class MessageReader {
 public:
  /// One piece, as one call of recvmsg returned it. A stream of the socket family hands over files
  /// with the bytes that they were sent with, and ends a piece with those bytes: the files belong
  /// to the last message that begins in the piece. Null, or what is wrong with it, for good.
  const char* Take(std::span<const uint8_t> bytes, std::vector<File> files);
  /// Messages that are complete, in order. Whoever takes them out owns them.
  std::deque<Message>& messages() { return messages_; }
  const std::deque<Message>& messages() const { return messages_; }
  /// Bytes of a message that is not complete.
  size_t waiting_bytes() const { return buffer_.size(); }

 private:
  std::vector<uint8_t> buffer_;  ///< Of the message that is not complete.
  std::vector<File> files_;      ///< The same.
  std::deque<Message> messages_;
  const char* wrong_ = nullptr;
};

}  // namespace sluice::emulator::vfio_user
