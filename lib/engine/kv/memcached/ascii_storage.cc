// SPDX-License-Identifier: BSD-3-Clause
//
// Implements set, add, replace, append, prepend and cas; incr, decr, delete and touch.
#include "engine/kv/memcached/ascii_request.h"
#include "engine/kv/memcached/numbers.h"

namespace sluice::engine::kv::memcached {
namespace {

constexpr std::string_view kNoReply = "noreply";
constexpr std::string_view kNotFound = "NOT_FOUND";
constexpr int64_t kMaxDataBytes = 0x7fffffff - 2;  // memcached's limit.

Step WriteStored(AsciiRequest& request, Result result) {
  switch (result) {
    case Result::kOk:
      return request.WriteLine("STORED");
    case Result::kNotStored:
      return request.WriteLine("NOT_STORED");
    case Result::kExists:
      return request.WriteLine("EXISTS");
    case Result::kNotFound:
      return request.WriteLine(kNotFound);
    case Result::kTooLarge:
      return request.WriteError(kTooLarge);
    case Result::kNoMemory:
      break;
  }
  return request.WriteLine(kNoMemory);
}

}  // namespace

Step ServeStore(AsciiRequest& request, Words words, StoreMode mode) {
  const size_t arguments = mode == StoreMode::kCas ? 5 : 4;
  const WordList<6> list(words);
  if (!list.Within(arguments, arguments + 1)) return request.WriteError(kError);
  request.muted = list.last() == kNoReply;
  if (!IsKey(list.at[0])) return request.WriteError(kBadLine);
  const auto flags = ParseUnsigned(list.at[1]);
  const auto exptime = ParseSigned(list.at[2]);
  const auto bytes = ParseSigned(list.at[3]);
  if (!flags || !exptime || !bytes || *bytes < 0 || *bytes > kMaxDataBytes) {
    return request.WriteError(kBadLine);
  }
  StoreRequest store{.key = AsBytes(list.at[0]), .mode = mode};
  if (mode == StoreMode::kCas) {
    const auto unique = ParseUnsigned(list.at[4]);
    if (!unique) return request.WriteError(kBadLine);
    store.compare = *unique;
  }
  const KeyHash hash = request.access.Hash(store.key);
  if (!request.access.MayWrite(hash)) return request.Foreign(hash);
  Partition& partition = request.access.Own(hash);
  Step step = Step::kNext;
  const auto data = request.ReadData(*bytes, &step);
  if (!data) return step;
  store.hash = hash.index;
  store.value = *data;
  store.attributes = {static_cast<uint32_t>(*flags), ExpiryOf(*exptime, request.exchange)};
  uint64_t unique = 0;
  return WriteStored(
      request, StoreItem(partition, store, request.exchange.now_s, &unique, request.counters));
}

Step ServeDelta(AsciiRequest& request, Words words, bool decrement) {
  const WordList<3> list(words);
  if (!list.Within(2, 3)) return request.WriteError(kError);
  request.muted = list.last() == kNoReply;
  if (!IsKey(list.at[0])) return request.WriteError(kBadLine);
  const auto delta = ParseUnsigned(list.at[1]);
  if (!delta) return request.WriteError("CLIENT_ERROR invalid numeric delta argument");
  const Bytes key = AsBytes(list.at[0]);
  const KeyHash hash = request.access.Hash(key);
  if (!request.access.MayWrite(hash)) return request.Foreign(hash);
  DeltaAnswer answer;
  switch (ChangeNumber(request.access.Own(hash),
                       {.key = key, .hash = hash.index, .delta = *delta, .decrement = decrement},
                       request.exchange.now_s, &answer, request.counters)) {
    case DeltaOutcome::kOk:
      return request.WriteLine(Digits(answer.value).text());
    case DeltaOutcome::kNonNumeric:
      return request.WriteError(kNonNumeric);
    case DeltaOutcome::kNoMemory:
      return request.WriteLine("SERVER_ERROR out of memory in incr");
    case DeltaOutcome::kNotFound:
    case DeltaOutcome::kExists:
      break;
  }
  CountMissedNumber(decrement, request.counters);
  return request.WriteLine(kNotFound);
}

Step ServeDelete(AsciiRequest& request, Words words) {
  const WordList<3> list(words);
  if (!list.Within(1, 3)) return request.WriteError(kError);
  if (list.count > 1) {
    // delete accepts a time only if it is 0.
    request.muted = list.last() == kNoReply;
    const bool zero = list.at[1] == "0";
    if (list.count == 2 ? !zero && !request.muted : !zero || !request.muted) {
      return request.WriteError(
          "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]");
    }
  }
  if (!IsKey(list.at[0])) return request.WriteError(kBadLine);
  const Bytes key = AsBytes(list.at[0]);
  const KeyHash hash = request.access.Hash(key);
  if (!request.access.MayWrite(hash)) return request.Foreign(hash);
  const Result result = request.access.Own(hash).Delete(key, hash.index, 0, request.exchange.now_s);
  if (result != Result::kOk) {
    ++request.counters.delete_misses;
    return request.WriteLine(kNotFound);
  }
  ++request.counters.deletes;
  return request.WriteLine("DELETED");
}

Step ServeTouch(AsciiRequest& request, Words words) {
  const WordList<3> list(words);
  if (!list.Within(2, 3)) return request.WriteError(kError);
  request.muted = list.last() == kNoReply;
  if (!IsKey(list.at[0])) return request.WriteError(kBadLine);
  const auto exptime = ParseSigned(list.at[1]);
  if (!exptime) return request.WriteError(kBadExptime);
  const Bytes key = AsBytes(list.at[0]);
  const KeyHash hash = request.access.Hash(key);
  if (!request.access.MayWrite(hash)) return request.Foreign(hash);
  const Result result = request.access.Own(hash).Touch(
      key, hash.index, ExpiryOf(*exptime, request.exchange), request.exchange.now_s);
  if (result != Result::kOk) {
    ++request.counters.touch_misses;
    return request.WriteLine(kNotFound);
  }
  ++request.counters.touches;
  return request.WriteLine("TOUCHED");
}

}  // namespace sluice::engine::kv::memcached
