// SPDX-License-Identifier: BSD-3-Clause
//
// A binary protocol request: parses its header and builds its response. Offsets of the header's
// fields:
//
//   0 magic  1 opcode  2 key bytes  4 extras bytes  5 data type  6 status (requests: vbucket)
//   8 total bytes of extras, key and value, which follow the header  12 opaque  16 unique ("cas")
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/kv/access.h"
#include "engine/kv/exchange.h"
#include "engine/kv/memcached/binary.h"
#include "packet/bytes.h"

namespace sluice::engine::kv::memcached {

enum class Status : uint16_t {
  kOk = 0,
  kNotFound = 1,
  kExists = 2,
  kTooLarge = 3,
  kInvalid = 4,
  kNotStored = 5,
  kNonNumeric = 6,
  kAuthError = 0x20,
  kUnknown = 0x81,
  kNoMemory = 0x82,
};

enum class Opcode : uint8_t {
  kGet = 0x00,
  kSet = 0x01,
  kAdd = 0x02,
  kReplace = 0x03,
  kDelete = 0x04,
  kIncrement = 0x05,
  kDecrement = 0x06,
  kQuit = 0x07,
  kFlush = 0x08,
  kGetQ = 0x09,
  kNoop = 0x0a,
  kVersion = 0x0b,
  kGetK = 0x0c,
  kGetKQ = 0x0d,
  kAppend = 0x0e,
  kPrepend = 0x0f,
  kStat = 0x10,
  kSetQ = 0x11,
  kAddQ = 0x12,
  kReplaceQ = 0x13,
  kDeleteQ = 0x14,
  kIncrementQ = 0x15,
  kDecrementQ = 0x16,
  kQuitQ = 0x17,
  kFlushQ = 0x18,
  kAppendQ = 0x19,
  kPrependQ = 0x1a,
  kTouch = 0x1c,
  kGat = 0x1d,
  kGatQ = 0x1e,
  kGatK = 0x23,
  kGatKQ = 0x24,
};

/// Returns whether a request's opcode is one of Opcode.
constexpr bool IsOpcode(uint8_t opcode) {
  return opcode <= static_cast<uint8_t>(Opcode::kPrependQ) ||
         (opcode >= static_cast<uint8_t>(Opcode::kTouch) &&
          opcode <= static_cast<uint8_t>(Opcode::kGatQ)) ||
         opcode == static_cast<uint8_t>(Opcode::kGatK) ||
         opcode == static_cast<uint8_t>(Opcode::kGatKQ);
}

/// Result of serving a request.
enum class Ending : uint8_t {
  kNext,     ///< Served; continue with the next request.
  kForeign,  ///< Exchange::owner must serve it.
  kEnd,      ///< Served; ignore the rest of the datagram, or close the stream.
  kMore,     ///< A stream: not served, because its value is needed.
};

/// Maximum length of an error response and of a response without key and value.
inline constexpr size_t kResponseBytes = kHeaderBytes + 64;

struct BinaryRequest {
  /// `bytes` is the complete request; the caller must have checked its lengths.
  BinaryRequest(Exchange& exchange, Access& access, Reply& reply, ProtocolCounters& counters,
                Bytes bytes)
      : exchange(exchange),
        access(access),
        reply(reply),
        counters(counters),
        reply_before(exchange.within != 0 ? exchange.reply_before : reply.size()),
        opcode(bytes[1]),
        opaque(packet::LoadBe32(&bytes[12])),
        unique(packet::LoadBe64(&bytes[16])),
        extras(bytes.subspan(kHeaderBytes, bytes[4])),
        key(bytes.subspan(kHeaderBytes + bytes[4], packet::LoadBe16(&bytes[2]))),
        value(bytes.subspan(kHeaderBytes + bytes[4] + key.size())) {}

  /// Returns the number of bytes by which the reply may still grow.
  size_t room() const { return exchange.RoomOf(reply); }
  /// Returns whether the reply may grow by `bytes`, in a stream after it is moved.
  [[gnu::always_inline]] bool Fits(size_t bytes) {
    if (bytes <= room()) [[likely]]
      return true;
    return FitsElsewhere(bytes);
  }
  Ending Respond(Bytes extras, Bytes key, Bytes value, uint64_t unique, Status status);
  /// Responds with success and without data.
  Ending Done(uint64_t unique) { return Respond({}, {}, {}, unique, Status::kOk); }
  /// Responds with an error and the text of the status.
  Ending Fail(Status status);
  /// Responds with a client error; the rest of the datagram is not served.
  Ending Refuse(Status status);
  Ending WriteTooLong();
  Ending Foreign(const KeyHash& hash);

  Exchange& exchange;
  Access& access;
  Reply& reply;
  ProtocolCounters& counters;
  size_t reply_before;
  uint8_t opcode;
  uint32_t opaque;
  uint64_t unique;
  Bytes extras;
  Bytes key;
  Bytes value;

 private:
  [[gnu::cold, gnu::noinline]] bool FitsElsewhere(size_t bytes);
  /// Implements Respond for a response that exceeds room().
  [[gnu::cold, gnu::noinline]] Ending RespondElsewhere(Bytes extras, Bytes key, Bytes value,
                                                       uint64_t unique, Status status);
};

// Commands. The arguments after `request` depend on the opcode.
Ending ServeBinaryGet(BinaryRequest& request, bool quiet, bool with_key);
Ending ServeBinaryGat(BinaryRequest& request, bool quiet, bool with_key);
Ending ServeBinaryTouch(BinaryRequest& request);
Ending ServeBinarySet(BinaryRequest& request, Opcode command, bool quiet);
Ending ServeBinaryAppend(BinaryRequest& request, Opcode command, bool quiet);
Ending ServeBinaryDelta(BinaryRequest& request, bool decrement, bool quiet);
Ending ServeBinaryDelete(BinaryRequest& request, bool quiet);
/// Serves a storage request whose value has `bytes` bytes and is not in `request`: returns kMore if
/// the request is valid and the value not too large.
Ending ServeBinaryStoreLater(BinaryRequest& request, Opcode command, size_t bytes);

}  // namespace sluice::engine::kv::memcached
