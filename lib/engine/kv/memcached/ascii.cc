// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/memcached/ascii.h"

#include <cstring>

#include "engine/kv/memcached/ascii_request.h"

namespace sluice::engine::kv::memcached {
namespace {

Step ServeUnknown(AsciiRequest& request) { return request.WriteError(kError); }

[[gnu::noinline]] Step ServeVersion(AsciiRequest& request) {
  const ServerFacts* const server = request.exchange.server;
  const std::string_view version = server != nullptr ? server->version : "unknown";
  if (!request.Fits(version.size() + kAnswerBytes)) return request.WriteTooLong();
  request.reply.Add("VERSION ");
  return request.WriteLine(version);
}

// Returns whether `word` is `text`. Of so many uses of operator==, GCC would inline only some.
template <size_t kSize>
[[gnu::always_inline]] inline bool Is(std::string_view word, const char (&text)[kSize]) {
  return word.size() == kSize - 1 && std::memcmp(word.data(), text, kSize - 1) == 0;
}

// Accepts the command without effect, because the server has no log level.
Step ServeVerbosity(AsciiRequest& request, Words words) {
  const WordList<2> list(words);
  if (!list.Within(1, 2)) return ServeUnknown(request);
  request.muted = list.last() == "noreply";
  const bool good =
      !list.at[0].empty() && list.at[0].find_first_not_of("0123456789") == std::string_view::npos;
  return good ? request.WriteLine("OK") : request.WriteError(kBadLine);
}

Step ServeMeta(AsciiRequest& request, char command, Words words) {
  switch (command) {
    case 'g':
      return ServeMetaGet(request, words);
    case 's':
      return ServeMetaSet(request, words);
    case 'd':
      return ServeMetaDelete(request, words);
    case 'a':
      return ServeMetaArithmetic(request, words);
    case 'n':
      return request.WriteLine("MN");
    default:
      return ServeUnknown(request);
  }
}

// Returns whether an unknown command is the request line of HTTP, as memcached decides it, which
// then closes the connection. memcached compares only commands that no group of its commands
// contains, and splits a line into at most 23 words.
bool IsHttp(std::string_view command, Words words) {
  if (command.size() < 2 ||
      std::string_view("acdgist").find(command[0]) != std::string_view::npos) {
    return false;
  }
  const WordList<22> list(words);
  return (list.count == 0 ? command : list.last()).starts_with("HTTP/");
}

[[gnu::cold, gnu::noinline]] Step ServeOther(AsciiRequest& request, std::string_view command,
                                             Words words) {
  if (request.exchange.is_stream() && IsHttp(command, words)) return Step::kEnd;
  return ServeUnknown(request);
}

Step ServeRarer(AsciiRequest& request, std::string_view command, Words words) {
  if (Is(command, "gat")) return ServeGet(request, words, false, true);
  if (Is(command, "gats")) return ServeGet(request, words, true, true);
  if (Is(command, "touch")) return ServeTouch(request, words);
  if (Is(command, "cas")) return ServeStore(request, words, StoreMode::kCas);
  if (Is(command, "append")) return ServeStore(request, words, StoreMode::kAppend);
  if (Is(command, "prepend")) return ServeStore(request, words, StoreMode::kPrepend);
  if (Is(command, "version")) return ServeVersion(request);
  if (Is(command, "quit")) return Step::kEnd;
  if (Is(command, "stats")) return ServeStatistics(request, words);
  if (Is(command, "flush_all")) return ServeFlush(request, words);
  if (Is(command, "verbosity")) return ServeVerbosity(request, words);
  return ServeOther(request, command, words);
}

Step Serve(AsciiRequest& request) {
  Words words(request.line);
  const std::string_view command = words.Next();
  if (Is(command, "get")) return ServeGet(request, words, false, false);
  if (Is(command, "set")) return ServeStore(request, words, StoreMode::kSet);
  if (command.size() == 2 && command[0] == 'm') return ServeMeta(request, command[1], words);
  if (Is(command, "gets")) return ServeGet(request, words, true, false);
  if (Is(command, "delete")) return ServeDelete(request, words);
  if (Is(command, "add")) return ServeStore(request, words, StoreMode::kAdd);
  if (Is(command, "replace")) return ServeStore(request, words, StoreMode::kReplace);
  if (Is(command, "incr")) return ServeDelta(request, words, false);
  if (Is(command, "decr")) return ServeDelta(request, words, true);
  return ServeRarer(request, command, words);
}

// Ends at bytes without a line end.
[[gnu::cold, gnu::noinline]] Progress EndInLine(const Exchange& exchange,
                                                ProtocolCounters& counters) {
  if (exchange.is_stream()) return Progress::kMore;
  if (exchange.position == 0) return Progress::kRefused;
  ++counters.errors;
  return Progress::kDone;
}

// Ends before a request whose answer might not fit.
[[gnu::cold, gnu::noinline]] Progress EndWithoutRoom(AsciiRequest& request) {
  if (request.exchange.is_stream()) return Progress::kRoom;
  ++request.counters.cut_replies;
  if (request.room() >= kCutReply.size() + 2) request.WriteLine(kCutReply);
  return Progress::kDone;
}

// Returns the progress at a request that is not finished.
Progress ProgressOf(Step step) {
  if (step == Step::kForeign) return Progress::kForeign;
  return step == Step::kMore ? Progress::kMore : Progress::kRoom;
}

}  // namespace

Progress ServeAscii(Exchange& exchange, Access& access, Reply& reply, ProtocolCounters& counters) {
  while (exchange.position < exchange.datagram.size()) {
    const auto line = FirstLine(AsText(exchange.datagram.subspan(exchange.position)));
    if (!line) return EndInLine(exchange, counters);
    const bool resumed = exchange.within != 0;
    AsciiRequest request{exchange,
                         access,
                         reply,
                         counters,
                         RequestText(*line),
                         exchange.position + line->bytes,
                         resumed ? exchange.reply_before : reply.size()};
    if (!resumed && request.room() < kAnswerBytes) return EndWithoutRoom(request);
    const Step step = Serve(request);
    if (step >= Step::kForeign) [[unlikely]]
      return ProgressOf(step);
    ++counters.requests;
    exchange.position = request.next;
    exchange.within = 0;
    if (step == Step::kEnd) return Progress::kEnd;
  }
  return exchange.datagram.empty() ? Progress::kRefused : Progress::kDone;
}

}  // namespace sluice::engine::kv::memcached
