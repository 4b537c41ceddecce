// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/memcached/binary_request.h"

#include <array>
#include <cstring>

#include "engine/kv/memcached/items.h"
#include "engine/kv/memcached/numbers.h"

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

bool BinaryRequest::FitsElsewhere(size_t bytes) {
  const size_t body = extras.size() + key.size() + value.size();
  return exchange.FitsElsewhere(bytes, reply, exchange.position + kHeaderBytes + body);
}

Ending BinaryRequest::Respond(Bytes extras, Bytes key, Bytes value, uint64_t unique,
                              Status status) {
  const size_t body = extras.size() + key.size() + value.size();
  if (kHeaderBytes + body > room()) [[unlikely]]
    return RespondElsewhere(extras, key, value, unique, status);
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

Ending BinaryRequest::RespondElsewhere(Bytes extras, Bytes key, Bytes value, uint64_t unique,
                                       Status status) {
  const size_t body = extras.size() + key.size() + value.size();
  if (!FitsElsewhere(kHeaderBytes + body)) return WriteTooLong();
  return Respond(extras, key, value, unique, status);
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

// Implements the commands of the binary protocol that have a key.

namespace {

// Expiry by which a client requests that an increment or decrement must not create an item.
constexpr uint32_t kDoNotCreate = 0xffffffff;

template <typename T>
std::array<uint8_t, sizeof(T)> BigEndian(T number) {
  std::array<uint8_t, sizeof(T)> bytes;
  if constexpr (sizeof(T) == 8) {
    packet::Store<uint64_t>(bytes.data(), __builtin_bswap64(number));
  } else {
    packet::StoreBe32(bytes.data(), number);
  }
  return bytes;
}

uint32_t ExpiryAt(const BinaryRequest& request, size_t offset) {
  return ExpiryOf(packet::LoadBe32(&request.extras[offset]), request.exchange);
}

Ending Missed(BinaryRequest& request, bool quiet, bool with_key) {
  if (quiet) return Ending::kNext;
  if (!with_key) return request.Fail(Status::kNotFound);
  return request.Respond({}, request.key, {}, 0, Status::kNotFound);
}

Ending Hit(BinaryRequest& request, const ItemView& item, bool with_key, bool with_value) {
  const auto flags = BigEndian(item.attributes.flags);
  return request.Respond(flags, with_key ? request.key : Bytes(), with_value ? item.value : Bytes(),
                         item.unique, Status::kOk);
}

// Answers with the old item before Touch makes the view of the item invalid.
Ending TouchItem(BinaryRequest& request, bool quiet, bool with_key, bool with_value) {
  if (request.extras.size() != 4 || request.key.empty() || !request.value.empty()) {
    return request.Refuse(Status::kInvalid);
  }
  const KeyHash hash = request.access.Hash(request.key);
  if (!request.access.MayWrite(hash)) return request.Foreign(hash);
  Partition& partition = request.access.Own(hash);
  const uint32_t now_s = request.exchange.now_s;
  const auto item = partition.Get(request.key, hash.index, now_s);
  ++(item ? request.counters.touches : request.counters.touch_misses);
  if (!item) return Missed(request, quiet, with_key);
  const Ending ending = Hit(request, *item, with_key, with_value);
  partition.Touch(request.key, hash.index, ExpiryAt(request, 0), now_s);
  return ending;
}

Ending WriteStored(BinaryRequest& request, Result result, uint64_t unique, Status not_stored,
                   bool quiet) {
  switch (result) {
    case Result::kOk:
      return quiet ? Ending::kNext : request.Done(unique);
    case Result::kNotStored:
      return request.Fail(not_stored);
    case Result::kExists:
      return request.Fail(Status::kExists);
    case Result::kNotFound:
      return request.Fail(Status::kNotFound);
    case Result::kTooLarge:
      ++request.counters.errors;
      return request.Fail(Status::kTooLarge);
    case Result::kNoMemory:
      break;
  }
  return request.Fail(Status::kNoMemory);
}

}  // namespace

Ending ServeBinaryGet(BinaryRequest& request, bool quiet, bool with_key) {
  if (!request.extras.empty() || request.key.empty() || !request.value.empty()) {
    return request.Refuse(Status::kInvalid);
  }
  const KeyHash hash = request.access.Hash(request.key);
  if (!request.access.MayRead(hash)) return request.Foreign(hash);
  const auto item = request.access.Get(request.key, hash, request.exchange.now_s);
  ++(item ? request.counters.get_hits : request.counters.get_misses);
  if (!item) return Missed(request, quiet, with_key);
  return Hit(request, *item, with_key, true);
}

Ending ServeBinaryGat(BinaryRequest& request, bool quiet, bool with_key) {
  return TouchItem(request, quiet, with_key, true);
}

Ending ServeBinaryTouch(BinaryRequest& request) { return TouchItem(request, false, false, false); }

Ending ServeBinarySet(BinaryRequest& request, Opcode command, bool quiet) {
  if (request.extras.size() != 8 || request.key.empty()) return request.Refuse(Status::kInvalid);
  const KeyHash hash = request.access.Hash(request.key);
  if (!request.access.MayWrite(hash)) return request.Foreign(hash);
  StoreRequest store{request.key,     hash.index,
                     request.value,   {packet::LoadBe32(&request.extras[0]), ExpiryAt(request, 4)},
                     StoreMode::kSet, request.unique};
  Status not_stored = Status::kNotFound;
  if (request.unique != 0) {
    store.mode = StoreMode::kCas;
  } else if (command == Opcode::kAdd) {
    store.mode = StoreMode::kAdd;
    not_stored = Status::kExists;
  } else if (command == Opcode::kReplace) {
    store.mode = StoreMode::kReplace;
  }
  uint64_t unique = 0;
  const Result result =
      StoreItem(request.access.Own(hash), store, request.exchange.now_s, &unique, request.counters);
  return WriteStored(request, result, unique, not_stored, quiet);
}

Ending ServeBinaryAppend(BinaryRequest& request, Opcode command, bool quiet) {
  if (!request.extras.empty() || request.key.empty()) return request.Refuse(Status::kInvalid);
  const KeyHash hash = request.access.Hash(request.key);
  if (!request.access.MayWrite(hash)) return request.Foreign(hash);
  const StoreMode mode = command == Opcode::kAppend ? StoreMode::kAppend : StoreMode::kPrepend;
  uint64_t unique = 0;
  const Result result = StoreItem(
      request.access.Own(hash), {request.key, hash.index, request.value, {}, mode, request.unique},
      request.exchange.now_s, &unique, request.counters);
  return WriteStored(request, result, unique, Status::kNotStored, quiet);
}

Ending ServeBinaryStoreLater(BinaryRequest& request, Opcode command, size_t bytes) {
  const bool extends = command == Opcode::kAppend || command == Opcode::kPrepend;
  if (request.extras.size() != (extends ? 0 : 8) || request.key.empty() ||
      request.key.size() > kMaxKeyBytes) {
    return request.Refuse(Status::kInvalid);
  }
  if (bytes <= kMaxStoreValueBytes) return Ending::kMore;
  const KeyHash hash = request.access.Hash(request.key);
  if (!request.access.MayWrite(hash)) return request.Foreign(hash);
  StoreRequest store{.key = request.key, .hash = hash.index};
  if (command != Opcode::kSet) store.mode = StoreMode::kAdd;  // Never deletes the old item.
  const Result result =
      RejectTooLarge(request.access.Own(hash), store, request.exchange.now_s, request.counters);
  return WriteStored(request, result, 0, Status::kNotStored, false);
}

Ending ServeBinaryDelta(BinaryRequest& request, bool decrement, bool quiet) {
  if (request.extras.size() != 20 || request.key.empty() || !request.value.empty()) {
    return request.Refuse(Status::kInvalid);
  }
  const KeyHash hash = request.access.Hash(request.key);
  if (!request.access.MayWrite(hash)) return request.Foreign(hash);
  Partition& partition = request.access.Own(hash);
  const uint32_t now_s = request.exchange.now_s;
  const uint64_t delta = packet::LoadBe64(&request.extras[0]);
  DeltaAnswer answer;
  switch (ChangeNumber(partition, {request.key, hash.index, delta, decrement, request.unique},
                       now_s, &answer, request.counters)) {
    case DeltaOutcome::kOk:
      break;
    case DeltaOutcome::kExists:
      return request.Fail(Status::kExists);
    case DeltaOutcome::kNonNumeric:
      ++request.counters.errors;
      return request.Fail(Status::kNonNumeric);
    case DeltaOutcome::kNoMemory:
      return request.Fail(Status::kNoMemory);
    case DeltaOutcome::kNotFound: {
      if (packet::LoadBe32(&request.extras[16]) == kDoNotCreate) {
        CountMissedNumber(decrement, request.counters);
        return request.Fail(Status::kNotFound);
      }
      answer.value = packet::LoadBe64(&request.extras[8]);
      const Digits digits(answer.value);
      const Bytes text(reinterpret_cast<const uint8_t*>(digits.text().data()),
                       digits.text().size());
      const Result result = partition.Set(request.key, hash.index, text, {0, ExpiryAt(request, 16)},
                                          Condition::kIfAbsent, now_s, &answer.unique);
      if (result != Result::kOk) return request.Fail(Status::kNoMemory);
      ++request.counters.sets;
    }
  }
  if (quiet) return Ending::kNext;
  return request.Respond({}, {}, BigEndian(answer.value), answer.unique, Status::kOk);
}

Ending ServeBinaryDelete(BinaryRequest& request, bool quiet) {
  if (!request.extras.empty() || request.key.empty() || !request.value.empty()) {
    return request.Refuse(Status::kInvalid);
  }
  const KeyHash hash = request.access.Hash(request.key);
  if (!request.access.MayWrite(hash)) return request.Foreign(hash);
  switch (request.access.Own(hash).Delete(request.key, hash.index, request.unique,
                                          request.exchange.now_s)) {
    case Result::kOk:
      ++request.counters.deletes;
      return quiet ? Ending::kNext : request.Done(0);
    case Result::kExists:
      return request.Fail(Status::kExists);
    default:
      ++request.counters.delete_misses;
      return request.Fail(Status::kNotFound);
  }
}

}  // namespace sluice::engine::kv::memcached
