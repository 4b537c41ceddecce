// SPDX-License-Identifier: BSD-3-Clause
//
// flush_all and stats.
#include "engine/kv/memcached/ascii_request.h"
#include "engine/kv/memcached/flush.h"
#include "engine/kv/memcached/numbers.h"

namespace sluice::engine::kv::memcached {

Step ServeFlush(AsciiRequest& request, Words words) {
  const WordList<2> list(words);
  if (list.more) return request.SayError(kError);
  request.muted = list.count > 0 && list.last() == "noreply";
  if (!request.access.store().allow_flush) {
    ++request.counters.refused_admin;
    return request.SayError("CLIENT_ERROR flush_all not allowed");
  }
  if (list.count > (request.muted ? 1 : 0)) {
    const auto delay = ParseSigned(list.at[0]);
    if (!delay) return request.SayError(kBadExptime);
    if (*delay > 0) return request.SayError("CLIENT_ERROR flush_all with a delay not allowed");
  }
  if (request.exchange.within == 0) request.exchange.reply_before = request.reply_before;
  return ClearOwn(request.exchange, request.access) ? request.Say("OK") : Step::kForeign;
}

Step ServeStatistics(AsciiRequest& request, Words words) {
  const std::string_view list = words.Next();
  if (!list.empty()) {
    if (list == "reset") ++request.counters.refused_admin;
    return request.SayError(kError);
  }
  if (request.exchange.server != nullptr) {
    for (const auto& [name, value] : request.exchange.server->statistics) {
      const Digits digits(value);
      if (name.size() + digits.text().size() + 8 + kAnswerBytes > request.room()) {
        return request.SayCut();
      }
      request.reply.Add("STAT ");
      request.reply.Add(name);
      request.reply.Add(" ");
      request.Say(digits.text());
    }
  }
  return request.Say("END");
}

}  // namespace sluice::engine::kv::memcached
