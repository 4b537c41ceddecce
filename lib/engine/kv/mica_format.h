// SPDX-License-Identifier: BSD-3-Clause
//
// MICA's batch format (MICA 2) in the payload of a UDP datagram. Numbers are little-endian.
//
//   datagram   magic u8 (0x78 requests, 0x79 answers) | messages u8 | reserved u32 | messages …
//   message    operation u8 | result u8 | reserved u16 | key_bytes << 24 | value_bytes u32
//              | key hash u64 | opaque u32 | reserved u32 | key | value
//
// Key and value are each padded with zeros to a multiple of 8. A datagram is valid if it contains
// exactly the stated number of messages, at least one, and no further bytes.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "cpu/vector.h"
#include "engine/kv/hash.h"
#include "packet/bytes.h"

namespace sluice::engine::kv {

inline constexpr uint8_t kMicaRequests = 0x78;
inline constexpr uint8_t kMicaAnswers = 0x79;
inline constexpr size_t kMicaHeaderBytes = 6;    ///< Header of a datagram.
inline constexpr size_t kMicaMessageBytes = 24;  ///< A message without key and value.
inline constexpr uint32_t kMicaMaxMessages = 255;
inline constexpr uint32_t kMicaMaxKeyBytes = 0xff;
inline constexpr uint32_t kMicaMaxValueBytes = 0xffffff;

enum class MicaOperation : uint8_t {
  kReset = 0,
  kNoopRead = 1,
  kNoopWrite = 2,
  kAdd = 3,
  kSet = 4,
  kGet = 5,
  kTest = 6,
  kDelete = 7,
  kIncrement = 8,
};

enum class MicaResult : uint8_t {
  kSuccess = 0,
  kError = 1,
  kInsufficientSpace = 2,
  kExists = 3,
  kNotFound = 4,
  kPartialValue = 5,
  kNotProcessed = 6,
  kNotSupported = 7,
  kTimedOut = 8,
  kRejected = 9,
};

/// A request or an answer. Operation and result are unchecked and may have other values.
struct MicaMessage {
  MicaOperation operation = MicaOperation::kNoopRead;
  MicaResult result = MicaResult::kSuccess;
  uint32_t opaque = 0;  ///< Set by the client; copied to the answer.
  uint64_t hash = 0;    ///< RouteHash of the key as the client computed it.
  Bytes key = {};
  Bytes value = {};
};

constexpr size_t MicaPadded(size_t bytes) { return (bytes + 7) & ~size_t{7}; }
constexpr size_t MicaMessageSize(size_t key_bytes, size_t value_bytes) {
  return kMicaMessageBytes + MicaPadded(key_bytes) + MicaPadded(value_bytes);
}

/// Unchecked lengths of a message's key and value.
struct MicaLengths {
  uint32_t word;

  static MicaLengths Of(const uint8_t* message) { return {packet::Load<uint32_t>(message + 4)}; }
  uint32_t key_bytes() const { return word >> 24; }
  uint32_t value_bytes() const { return word & kMicaMaxValueBytes; }
  size_t size() const { return MicaMessageSize(key_bytes(), value_bytes()); }
};

/// The lengths, first 8 bytes and size of a get with a key of 8 bytes, which is usually for a tiny
/// item.
inline constexpr MicaLengths kMicaTinyGetLengths{8u << 24};
inline constexpr uint64_t kMicaTinyGet =
    static_cast<uint64_t>(MicaOperation::kGet) | uint64_t{kMicaTinyGetLengths.word} << 32;
inline constexpr size_t kMicaTinyGetBytes = MicaMessageSize(8, 0);

/// Returns the end of the message at `position`, or 0 if it extends beyond the datagram.
inline size_t MicaEnd(Bytes datagram, size_t position, MicaLengths* lengths) {
  if (position > datagram.size() || datagram.size() - position < kMicaMessageBytes) return 0;
  *lengths = MicaLengths::Of(datagram.data() + position);
  return lengths->size() > datagram.size() - position ? 0 : position + lengths->size();
}

/// Returns the message at `at`, whose lengths must have been checked.
inline MicaMessage MicaAt(const uint8_t* at, MicaLengths lengths) {
  const uint8_t* const key = at + kMicaMessageBytes;
  return {static_cast<MicaOperation>(at[0]),
          static_cast<MicaResult>(at[1]),
          packet::Load<uint32_t>(at + 16),
          packet::Load<uint64_t>(at + 8),
          Bytes(key, lengths.key_bytes()),
          Bytes(key + MicaPadded(lengths.key_bytes()), lengths.value_bytes())};
}

/// Reads the message at `position` and returns the position of the next one. Returns 0 without
/// reading if the message extends beyond the datagram.
inline size_t ReadMica(Bytes datagram, size_t position, MicaMessage* message) {
  MicaLengths lengths;
  const size_t end = MicaEnd(datagram, position, &lengths);
  if (end != 0) *message = MicaAt(datagram.data() + position, lengths);
  return end;
}

/// Returns the number of messages in a datagram with this magic, or 0 if the datagram is invalid.
inline uint32_t CountMica(Bytes datagram, uint8_t magic) {
  if (datagram.size() < kMicaHeaderBytes || datagram[0] != magic) return 0;
  uint32_t messages = 0;
  MicaLengths lengths;
  for (size_t position = kMicaHeaderBytes; position != datagram.size(); ++messages) {
    position = MicaEnd(datagram, position, &lengths);
    if (position == 0) return 0;
  }
  return messages == datagram[1] ? messages : 0;
}

inline void WriteMicaHeader(uint8_t* to, uint8_t magic, uint32_t messages) {
  to[0] = magic;
  to[1] = static_cast<uint8_t>(messages);
  packet::Store(to + 2, uint32_t{0});
}

/// Writes MicaMessageSize bytes. The key has at most kMicaMaxKeyBytes, the value at most
/// kMicaMaxValueBytes.
inline void WriteMica(const MicaMessage& message, uint8_t* to) {
  to[0] = static_cast<uint8_t>(message.operation);
  to[1] = static_cast<uint8_t>(message.result);
  packet::Store(to + 2, uint16_t{0});
  packet::Store(to + 4, static_cast<uint32_t>(message.key.size() << 24 | message.value.size()));
  packet::Store(to + 8, message.hash);
  packet::Store(to + 16, message.opaque);
  packet::Store(to + 20, uint32_t{0});
  to += kMicaMessageBytes;
  for (const Bytes part : {message.key, message.value}) {
    if (part.empty()) continue;
    std::memcpy(to, part.data(), part.size());
    std::memset(to + part.size(), 0, MicaPadded(part.size()) - part.size());
    to += MicaPadded(part.size());
  }
}

/// Writes the first kMicaMessageBytes of the answer to the request at `request`, whose operation is
/// `operation`: copies the hash and opaque; the answer has no key. `to` may equal `request` or be
/// any address before it.
inline void WriteMicaAnswer(const uint8_t* request, MicaOperation operation, MicaResult result,
                            uint32_t value_bytes, uint8_t* to) {
  packet::Store(to, static_cast<uint8_t>(operation) | uint64_t{static_cast<uint8_t>(result)} << 8 |
                        uint64_t{value_bytes} << 32);
  constexpr cpu::Words kHashAndOpaque{~0u, ~0u, ~0u, 0};
  cpu::Store(to + 8, cpu::Load(request + 8) & kHashAndOpaque);
}

/// Writes an answer with a value. Returns the end of its MicaMessageSize bytes.
inline uint8_t* AnswerMica(const uint8_t* request, MicaResult result, Bytes value, uint8_t* to) {
  WriteMicaAnswer(request, static_cast<MicaOperation>(request[0]), result,
                  static_cast<uint32_t>(value.size()), to);
  to += kMicaMessageBytes;
  const size_t rest = value.size() % 8;
  const size_t words = value.size() - rest;
  if (words == 8) {  // The most common length; avoids a call.
    std::memcpy(to, value.data(), 8);
  } else if (words != 0) {
    std::memcpy(to, value.data(), words);
  }
  to += words;
  if (rest == 0) return to;
  packet::Store(to, uint64_t{0});
  std::memcpy(to, value.data() + words, rest);
  return to + 8;
}

/// A client's datagram of requests, built in the caller's memory.
class MicaBatch {
 public:
  /// `room` has at least kMicaHeaderBytes.
  explicit MicaBatch(std::span<uint8_t> room) : room_(room) {
    WriteMicaHeader(room_.data(), kMicaRequests, 0);
  }

  /// Adds a request. Returns false and adds nothing if the datagram is full, or if the key or value
  /// is too long.
  bool Add(const MicaMessage& request) {
    const size_t size = MicaMessageSize(request.key.size(), request.value.size());
    if (requests_ == kMicaMaxMessages || request.key.size() > kMicaMaxKeyBytes ||
        request.value.size() > kMicaMaxValueBytes || size > room_.size() - size_) {
      return false;
    }
    WriteMica(request, room_.data() + size_);
    size_ += size;
    WriteMicaHeader(room_.data(), kMicaRequests, ++requests_);
    return true;
  }
  uint32_t requests() const { return requests_; }
  Bytes bytes() const { return room_.first(size_); }

 private:
  std::span<uint8_t> room_;
  size_t size_ = kMicaHeaderBytes;
  uint32_t requests_ = 0;
};

/// Reads the messages in a server's datagram one by one.
class MicaAnswers {
 public:
  /// Reads `datagram`. An invalid datagram yields no messages.
  explicit MicaAnswers(Bytes datagram) : datagram_(datagram) {
    if (CountMica(datagram, kMicaAnswers) != 0) next_ = kMicaHeaderBytes;
  }
  bool whole() const { return next_ != 0; }
  std::optional<MicaMessage> Next() {
    if (next_ == 0 || next_ == datagram_.size()) return std::nullopt;
    MicaMessage message;
    next_ = ReadMica(datagram_, next_, &message);
    return message;
  }

 private:
  Bytes datagram_;
  size_t next_ = 0;
};

}  // namespace sluice::engine::kv
