// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/memcached/binary_request.h"

#include <cstring>

namespace sluice::engine::kv::memcached {
namespace {

std::string_view TextOf(Status status) {
  switch (status) {
    case Status::kNotFound:
      return "Not found";
    case Status::kExists:
      return "Data exists for key.";
    case Status::kTooLarge:
      return "Too large.";
    case Status::kInvalid:
      return "Invalid arguments";
    case Status::kNotStored:
      return "Not stored.";
    case Status::kNonNumeric:
      return "Non-numeric server-side value for incr or decr";
    case Status::kAuthError:
      return "Auth failure.";
    case Status::kUnknown:
      return "Unknown command";
    case Status::kNoMemory:
      return "Out of memory";
    case Status::kOk:
      break;
  }
  return "";
}

uint8_t* Put(uint8_t* to, Bytes bytes) {
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  return to + bytes.size();
}

}  // namespace

Ending BinaryRequest::Respond(Bytes extras, Bytes key, Bytes value, uint64_t unique,
                              Status status) {
  const size_t body = extras.size() + key.size() + value.size();
  if (kHeaderBytes + body > room()) return WriteTooLong();
  uint8_t* const header = reply.Extend(kHeaderBytes + body);
  header[0] = kResponseMagic;
  header[1] = opcode;
  packet::StoreBe16(header + 2, static_cast<uint16_t>(key.size()));
  header[4] = static_cast<uint8_t>(extras.size());
  header[5] = 0;
  packet::StoreBe16(header + 6, static_cast<uint16_t>(status));
  packet::StoreBe32(header + 8, static_cast<uint32_t>(body));
  packet::StoreBe32(header + 12, opaque);
  packet::Store<uint64_t>(header + 16, __builtin_bswap64(unique));
  Put(Put(Put(header + kHeaderBytes, extras), key), value);
  return Ending::kNext;
}

Ending BinaryRequest::Fail(Status status) {
  const std::string_view text = TextOf(status);
  return Respond({}, {}, {reinterpret_cast<const uint8_t*>(text.data()), text.size()}, 0, status);
}

Ending BinaryRequest::Refuse(Status status) {
  ++counters.errors;
  Fail(status);
  return Ending::kEnd;
}

// Replaces the response with an error. There was room for it before the request was served.
Ending BinaryRequest::WriteTooLong() {
  ++counters.cut_replies;
  reply.Cut(reply_before);
  return Fail(Status::kTooLarge);
}

Ending BinaryRequest::Foreign(const KeyHash& hash) {
  exchange.owner = access.store().OwnerOf(hash.route);
  return Ending::kForeign;
}

}  // namespace sluice::engine::kv::memcached
