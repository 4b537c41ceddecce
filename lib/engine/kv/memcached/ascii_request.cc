// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/memcached/ascii_request.h"

#include <algorithm>
#include <cstring>

#include "engine/kv/memcached/flush.h"
#include "engine/kv/memcached/numbers.h"
#include "engine/kv/memcached/statistics.h"

namespace sluice::engine::kv::memcached {

namespace {

uint8_t* Put(uint8_t* to, std::string_view text) {
  std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

// Adds an item to the reply. Returns false if no room for an error would remain after the item.
bool AddItem(AsciiRequest& request, std::string_view key, const ItemView& item, bool with_unique) {
  const Digits flags(item.attributes.flags);
  const Digits bytes(item.value.size());
  const Digits unique(item.unique);
  size_t size = std::strlen("VALUE ") + key.size() + 1 + flags.text().size() + 1 +
                bytes.text().size() + 2 + item.value.size() + 2;
  if (with_unique) size += 1 + unique.text().size();
  const size_t needed = size + kAnswerBytes;
  if (needed > request.room()) {
    // In a stream, earlier answers are sent first, and later items after this one.
    if (request.reply.size() != 0 || !request.Fits(needed)) return false;
    request.exchange.max_reply_bytes = static_cast<uint32_t>(needed);
  }
  uint8_t* at = request.reply.Extend(size);
  at = Put(Put(at, "VALUE "), key);
  at = Put(Put(at, " "), flags.text());
  at = Put(Put(at, " "), bytes.text());
  if (with_unique) at = Put(Put(at, " "), unique.text());
  at = Put(at, "\r\n");
  at = Put(at, AsText(item.value));
  Put(at, "\r\n");
  return true;
}

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

Step AsciiRequest::WriteLine(std::string_view text) {
  if (!muted) {
    reply.Add(text);
    reply.Add("\r\n");
  }
  return Step::kNext;
}

Step AsciiRequest::WriteError(std::string_view text) {
  ++counters.errors;
  return WriteLine(text);
}

Step AsciiRequest::WriteTooLong() {
  ++counters.cut_replies;
  reply.Cut(reply_before);
  return WriteLine(kCutReply);
}

Step AsciiRequest::Foreign(const KeyHash& hash) {
  exchange.owner = access.store().OwnerOf(hash.route);
  return Step::kForeign;
}

std::optional<Bytes> AsciiRequest::ReadData(size_t bytes, Step* step) {
  const Bytes rest = exchange.datagram.subspan(next);
  if (bytes + 2 > rest.size()) {
    *step = AwaitData(bytes);
    return std::nullopt;
  }
  next += bytes + 2;
  if (rest[bytes] == '\r' && rest[bytes + 1] == '\n') return rest.first(bytes);
  *step = WriteError(kBadChunk);
  return std::nullopt;
}

Step AsciiRequest::AwaitData(size_t bytes) {
  if (!exchange.is_stream()) {
    next = exchange.datagram.size();
    return WriteError(kBadChunk);
  }
  exchange.wanted = static_cast<uint32_t>(next - exchange.position + bytes + 2);
  if (bytes <= kMaxStoreValueBytes) return Step::kMore;
  SkipData(bytes);
  return Step::kSkipped;
}

Step AsciiRequest::SkipData(size_t bytes) {
  next += exchange.is_stream() ? bytes + 2 : std::min(bytes + 2, exchange.datagram.size() - next);
  exchange.reply_before = reply_before;
  return Step::kNext;
}

// Implements get, gets, gat and gats. If a worker may not read all keys, the request moves to
// another worker: the items found so far stay in the reply, and Exchange::within is the offset of
// the next key in its line. The same happens in a stream if the reply must be sent first.

namespace {

// Ends a request because the item of the key `word` does not fit into the reply. In a stream, the
// items before it are sent first. They could not be replaced by an error later, so the remaining
// keys are checked now.
[[gnu::cold, gnu::noinline]] Step StopAtKey(AsciiRequest& request, std::string_view word,
                                            Words words) {
  if (!request.exchange.is_stream() || request.reply.size() == 0) return request.WriteTooLong();
  const auto begin = static_cast<uint32_t>(words.begin());
  for (; !word.empty(); word = words.Next()) {
    if (!IsKey(word)) {
      request.reply.Cut(request.reply_before);
      return request.WriteError(kBadLine);
    }
  }
  request.exchange.within = begin;
  return Step::kRoom;
}

}  // namespace

Step ServeGet(AsciiRequest& request, Words words, bool with_unique, bool touch) {
  Exchange& exchange = request.exchange;
  uint32_t expires_s = 0;
  std::string_view word = words.Next();
  if (word.empty()) return request.WriteError(kError);
  if (touch) {
    const auto exptime = ParseSigned(word);
    if (!exptime) return request.WriteError(kBadExptime);
    expires_s = ExpiryOf(*exptime, exchange);
    word = words.Next();
  }
  if (exchange.within != 0) {
    words = Words(request.line, exchange.within);
    word = words.Next();
  }
  for (; !word.empty(); word = words.Next()) {
    if (!IsKey(word)) {
      request.reply.Cut(request.reply_before);
      return request.WriteError(kBadLine);
    }
    const Bytes key = AsBytes(word);
    const KeyHash hash = request.access.Hash(key);
    if (!(touch ? request.access.MayWrite(hash) : request.access.MayRead(hash))) {
      exchange.within = static_cast<uint32_t>(words.begin());
      exchange.reply_before = request.reply_before;
      return request.Foreign(hash);
    }
    const auto item = request.access.Get(key, hash, exchange.now_s);
    if (!item) {
      ++(touch ? request.counters.touch_misses : request.counters.get_misses);
      continue;
    }
    if (!AddItem(request, word, *item, with_unique)) return StopAtKey(request, word, words);
    ++(touch ? request.counters.touches : request.counters.get_hits);
    if (touch) request.access.Own(hash).Touch(key, hash.index, expires_s, exchange.now_s);
  }
  return request.WriteLine("END");
}

// Implements set, add, replace, append, prepend and cas; incr, decr, delete and touch.

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
  store.hash = hash.index;
  Step step = Step::kNext;
  const auto data = request.ReadData(*bytes, &step);
  if (!data) {
    if (step != Step::kSkipped) return step;
    return WriteStored(request,
                       RejectTooLarge(partition, store, request.exchange.now_s, request.counters));
  }
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

// Implements flush_all and stats.

Step ServeFlush(AsciiRequest& request, Words words) {
  const WordList<2> list(words);
  if (list.more) return request.WriteError(kError);
  request.muted = list.count > 0 && list.last() == "noreply";
  if (!request.access.store().allow_flush) {
    ++request.counters.refused_admin;
    return request.WriteError("CLIENT_ERROR flush_all not allowed");
  }
  if (list.count > (request.muted ? 1 : 0)) {
    const auto delay = ParseSigned(list.at[0]);
    if (!delay) return request.WriteError(kBadExptime);
    if (*delay > 0) return request.WriteError("CLIENT_ERROR flush_all with a delay not allowed");
  }
  if (request.exchange.within == 0) request.exchange.reply_before = request.reply_before;
  if (!ClearOwn(request.exchange, request.access)) return Step::kForeign;
  ++request.counters.flushes;
  return request.WriteLine("OK");
}

// Words after the name of the list are ignored, as in memcached.
Step ServeStatistics(AsciiRequest& request, Words words) {
  const std::string_view word = words.Next();
  if (word == kResetWord) {
    ResetStatistics(request.access.store());
    return request.WriteLine("RESET");
  }
  const auto list = StatisticsListOf(word);
  if (!list) return request.WriteError(kError);
  const auto tell = [&request](std::string_view name, std::string_view value) {
    if (!request.Fits(name.size() + value.size() + 8 + kAnswerBytes)) return false;
    for (const std::string_view part : {std::string_view("STAT "), name, std::string_view(" ")}) {
      request.reply.Add(part);
    }
    request.WriteLine(value);
    return true;
  };
  if (!AppendStatistics(*list, request.exchange, request.access.store(), tell)) {
    return request.WriteTooLong();
  }
  return request.WriteLine("END");
}

}  // namespace sluice::engine::kv::memcached
