// SPDX-License-Identifier: BSD-3-Clause
//
// Implements flush_all and stats.
#include "engine/kv/memcached/ascii_request.h"
#include "engine/kv/memcached/flush.h"
#include "engine/kv/memcached/numbers.h"
#include "engine/kv/memcached/statistics.h"

namespace sluice::engine::kv::memcached {

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
    if (name.size() + value.size() + 8 + kAnswerBytes > request.room()) return false;
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
