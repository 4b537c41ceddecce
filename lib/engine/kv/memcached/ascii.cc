// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/memcached/ascii.h"

#include "engine/kv/memcached/ascii_request.h"

namespace sluice::engine::kv::memcached {
namespace {

Step ServeUnknown(AsciiRequest& request) { return request.WriteError(kError); }

Step ServeVersion(AsciiRequest& request) {
  const ServerFacts* const server = request.exchange.server;
  const std::string_view version = server != nullptr ? server->version : "unknown";
  if (!request.Fits(version.size() + kAnswerBytes)) return request.WriteTooLong();
  request.reply.Add("VERSION ");
  return request.WriteLine(version);
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

Step ServeRarer(AsciiRequest& request, std::string_view command, Words words) {
  if (command == "gat") return ServeGet(request, words, false, true);
  if (command == "gats") return ServeGet(request, words, true, true);
  if (command == "touch") return ServeTouch(request, words);
  if (command == "cas") return ServeStore(request, words, StoreMode::kCas);
  if (command == "append") return ServeStore(request, words, StoreMode::kAppend);
  if (command == "prepend") return ServeStore(request, words, StoreMode::kPrepend);
  if (command == "version") return ServeVersion(request);
  if (command == "quit") return Step::kEnd;
  if (command == "stats") return ServeStatistics(request, words);
  if (command == "flush_all") return ServeFlush(request, words);
  if (command == "verbosity") return ServeVerbosity(request, words);
  if (request.exchange.is_stream() && IsHttp(command, words)) return Step::kEnd;
  return ServeUnknown(request);
}

Step Serve(AsciiRequest& request) {
  Words words(request.line);
  const std::string_view command = words.Next();
  if (command == "get") return ServeGet(request, words, false, false);
  if (command == "set") return ServeStore(request, words, StoreMode::kSet);
  if (command.size() == 2 && command[0] == 'm') return ServeMeta(request, command[1], words);
  if (command == "gets") return ServeGet(request, words, true, false);
  if (command == "delete") return ServeDelete(request, words);
  if (command == "add") return ServeStore(request, words, StoreMode::kAdd);
  if (command == "replace") return ServeStore(request, words, StoreMode::kReplace);
  if (command == "incr") return ServeDelta(request, words, false);
  if (command == "decr") return ServeDelta(request, words, true);
  return ServeRarer(request, command, words);
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
    if (!line) {
      if (exchange.is_stream()) return Progress::kMore;
      if (exchange.position == 0) return Progress::kRefused;
      ++counters.errors;
      break;
    }
    const bool resumed = exchange.within != 0;
    AsciiRequest request{exchange,
                         access,
                         reply,
                         counters,
                         RequestText(*line),
                         exchange.position + line->bytes,
                         resumed ? exchange.reply_before : reply.size()};
    if (!resumed && request.room() < kAnswerBytes) {
      if (exchange.is_stream()) return Progress::kRoom;
      ++counters.cut_replies;
      if (request.room() >= kCutReply.size() + 2) request.WriteLine(kCutReply);
      break;
    }
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
