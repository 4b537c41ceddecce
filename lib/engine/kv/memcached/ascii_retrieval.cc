// SPDX-License-Identifier: BSD-3-Clause
//
// Implements get, gets, gat and gats. If a worker may not read all keys, the request moves to
// another worker: the items found so far stay in the reply, and Exchange::within is the offset of
// the next key in its line.
#include <cstring>

#include "engine/kv/memcached/ascii_request.h"
#include "engine/kv/memcached/numbers.h"

namespace sluice::engine::kv::memcached {
namespace {

uint8_t* Put(uint8_t* to, std::string_view text) {
  std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

// Adds an item to the reply. Returns false if an error would not fit after it.
bool AddItem(AsciiRequest& request, std::string_view key, const ItemView& item, bool with_unique) {
  const Digits flags(item.attributes.flags);
  const Digits bytes(item.value.size());
  const Digits unique(item.unique);
  size_t size = std::strlen("VALUE ") + key.size() + 1 + flags.text().size() + 1 +
                bytes.text().size() + 2 + item.value.size() + 2;
  if (with_unique) size += 1 + unique.text().size();
  if (size + kAnswerBytes > request.room()) return false;
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
    ++(touch ? request.counters.touches : request.counters.get_hits);
    if (!AddItem(request, word, *item, with_unique)) return request.WriteTooLong();
    if (touch) request.access.Own(hash).Touch(key, hash.index, expires_s, exchange.now_s);
  }
  return request.WriteLine("END");
}

}  // namespace sluice::engine::kv::memcached
