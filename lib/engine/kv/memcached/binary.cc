// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/memcached/binary.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/kv/memcached/binary_request.h"
#include "engine/kv/memcached/flush.h"
#include "engine/kv/memcached/statistics.h"

namespace sluice::engine::kv::memcached {
namespace {

Bytes BytesOf(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

bool IsBare(const BinaryRequest& request) {
  return request.extras.empty() && request.key.empty() && request.value.empty();
}

Ending ServeNoop(BinaryRequest& request) {
  return IsBare(request) ? request.Done(0) : request.Refuse(Status::kInvalid);
}

Ending ServeQuit(BinaryRequest& request, bool quiet) {
  if (!IsBare(request)) return request.Refuse(Status::kInvalid);
  if (!quiet) request.Done(0);
  return Ending::kEnd;
}

Ending ServeVersion(BinaryRequest& request) {
  if (!IsBare(request)) return request.Refuse(Status::kInvalid);
  const ServerFacts* const server = request.exchange.server;
  const std::string_view version = server != nullptr ? server->version : "unknown";
  return request.Respond({}, {}, BytesOf(version), 0, Status::kOk);
}

Ending ServeFlush(BinaryRequest& request, bool quiet) {
  const bool has_delay = request.extras.size() == 4;
  if (!request.key.empty() || !request.value.empty() || (!request.extras.empty() && !has_delay)) {
    return request.Refuse(Status::kInvalid);
  }
  if (!request.access.store().allow_flush) {
    ++request.counters.refused_admin;
    return request.Fail(Status::kAuthError);
  }
  if (has_delay && packet::LoadBe32(&request.extras[0]) != 0) {
    return request.Refuse(Status::kInvalid);
  }
  if (request.exchange.within == 0) request.exchange.reply_before = request.reply_before;
  if (!ClearOwn(request.exchange, request.access)) return Ending::kForeign;
  ++request.counters.flushes;
  return quiet ? Ending::kNext : request.Done(0);
}

// Sends one response per statistic, then an empty one.
Ending ServeStat(BinaryRequest& request) {
  if (!request.extras.empty() || !request.value.empty()) return request.Refuse(Status::kInvalid);
  const std::string_view word(reinterpret_cast<const char*>(request.key.data()),
                              request.key.size());
  if (word == kResetWord) {
    ResetStatistics(request.access.store());
    return request.Done(0);
  }
  const auto list = StatisticsListOf(word);
  if (!list) return request.Fail(Status::kNotFound);
  const auto tell = [&request](std::string_view name, std::string_view value) {
    if (!request.Fits(kHeaderBytes + name.size() + value.size() + kResponseBytes)) return false;
    request.Respond({}, BytesOf(name), BytesOf(value), 0, Status::kOk);
    return true;
  };
  if (!AppendStatistics(*list, request.exchange, request.access.store(), tell)) {
    return request.WriteTooLong();
  }
  return request.Done(0);
}

Ending ServeUnknown(BinaryRequest& request) {
  ++request.counters.errors;
  return request.Fail(Status::kUnknown);
}

Ending Serve(BinaryRequest& request) {
  if (request.key.size() > kMaxKeyBytes) return request.Refuse(Status::kInvalid);
  switch (static_cast<Opcode>(request.opcode)) {
    case Opcode::kGet:
      return ServeBinaryGet(request, false, false);
    case Opcode::kGetQ:
      return ServeBinaryGet(request, true, false);
    case Opcode::kGetK:
      return ServeBinaryGet(request, false, true);
    case Opcode::kGetKQ:
      return ServeBinaryGet(request, true, true);
    case Opcode::kSet:
      return ServeBinarySet(request, Opcode::kSet, false);
    case Opcode::kSetQ:
      return ServeBinarySet(request, Opcode::kSet, true);
    case Opcode::kAdd:
      return ServeBinarySet(request, Opcode::kAdd, false);
    case Opcode::kAddQ:
      return ServeBinarySet(request, Opcode::kAdd, true);
    case Opcode::kReplace:
      return ServeBinarySet(request, Opcode::kReplace, false);
    case Opcode::kReplaceQ:
      return ServeBinarySet(request, Opcode::kReplace, true);
    case Opcode::kDelete:
      return ServeBinaryDelete(request, false);
    case Opcode::kDeleteQ:
      return ServeBinaryDelete(request, true);
    case Opcode::kIncrement:
      return ServeBinaryDelta(request, false, false);
    case Opcode::kIncrementQ:
      return ServeBinaryDelta(request, false, true);
    case Opcode::kDecrement:
      return ServeBinaryDelta(request, true, false);
    case Opcode::kDecrementQ:
      return ServeBinaryDelta(request, true, true);
    case Opcode::kAppend:
      return ServeBinaryAppend(request, Opcode::kAppend, false);
    case Opcode::kAppendQ:
      return ServeBinaryAppend(request, Opcode::kAppend, true);
    case Opcode::kPrepend:
      return ServeBinaryAppend(request, Opcode::kPrepend, false);
    case Opcode::kPrependQ:
      return ServeBinaryAppend(request, Opcode::kPrepend, true);
    case Opcode::kTouch:
      return ServeBinaryTouch(request);
    case Opcode::kGat:
      return ServeBinaryGat(request, false, false);
    case Opcode::kGatQ:
      return ServeBinaryGat(request, true, false);
    case Opcode::kGatK:
      return ServeBinaryGat(request, false, true);
    case Opcode::kGatKQ:
      return ServeBinaryGat(request, true, true);
    case Opcode::kNoop:
      return ServeNoop(request);
    case Opcode::kVersion:
      return ServeVersion(request);
    case Opcode::kStat:
      return ServeStat(request);
    case Opcode::kFlush:
      return ServeFlush(request, false);
    case Opcode::kFlushQ:
      return ServeFlush(request, true);
    case Opcode::kQuit:
      return ServeQuit(request, false);
    case Opcode::kQuitQ:
      return ServeQuit(request, true);
  }
  return ServeUnknown(request);
}

// Serves a request of a stream whose value, of `bytes` bytes, is incomplete, unless the value is
// needed. Returns kMore if it is.
Ending ServeWithoutValue(BinaryRequest& request, size_t bytes) {
  switch (static_cast<Opcode>(request.opcode)) {
    case Opcode::kSet:
    case Opcode::kSetQ:
      return ServeBinaryStoreLater(request, Opcode::kSet, bytes);
    case Opcode::kAdd:
    case Opcode::kAddQ:
    case Opcode::kReplace:
    case Opcode::kReplaceQ:
      return ServeBinaryStoreLater(request, Opcode::kAdd, bytes);
    case Opcode::kAppend:
    case Opcode::kAppendQ:
    case Opcode::kPrepend:
    case Opcode::kPrependQ:
      return ServeBinaryStoreLater(request, Opcode::kAppend, bytes);
    default:
      break;
  }
  // No other command permits a value.
  const bool refused = request.key.size() > kMaxKeyBytes || IsOpcode(request.opcode);
  return refused ? request.Refuse(Status::kInvalid) : ServeUnknown(request);
}

// Ends before a request whose response might not fit.
[[gnu::cold, gnu::noinline]] Progress EndWithoutRoom(BinaryRequest& request) {
  if (request.exchange.is_stream()) return Progress::kRoom;
  ++request.counters.cut_replies;
  if (request.room() >= kResponseBytes) request.Fail(Status::kTooLarge);
  return Progress::kDone;
}

// Ends at bytes that are not a whole request. In a stream, they may be an incomplete one.
[[gnu::cold, gnu::noinline]] Progress ServeIncomplete(Exchange& exchange, Access& access,
                                                      Reply& reply, ProtocolCounters& counters) {
  if (!exchange.is_stream()) {
    if (exchange.position == 0) return Progress::kRefused;
    ++counters.errors;
    return Progress::kDone;
  }
  const Bytes rest = exchange.datagram.subspan(exchange.position);
  exchange.wanted = kHeaderBytes;
  if (rest.size() < kHeaderBytes) return Progress::kMore;
  if (rest[0] != kRequestMagic) return Progress::kEnd;
  const size_t head = kHeaderBytes + packet::LoadBe16(&rest[2]) + rest[4];
  const size_t whole = kHeaderBytes + size_t{packet::LoadBe32(&rest[8])};
  exchange.wanted = static_cast<uint32_t>(std::min(head, whole));
  if (rest.size() < head) return Progress::kMore;
  BinaryRequest request(exchange, access, reply, counters, rest.first(head));
  if (request.room() < kResponseBytes + kMaxKeyBytes) return Progress::kRoom;
  const Ending ending = ServeWithoutValue(request, whole - head);
  if (ending == Ending::kForeign) return Progress::kForeign;
  if (ending == Ending::kMore) {
    exchange.wanted = static_cast<uint32_t>(whole);
    return Progress::kMore;
  }
  ++counters.requests;
  exchange.position += whole;
  exchange.reply_before = request.reply_before;
  return ending == Ending::kEnd ? Progress::kEnd : Progress::kDone;
}

}  // namespace

Progress ServeBinary(Exchange& exchange, Access& access, Reply& reply, ProtocolCounters& counters) {
  while (exchange.position < exchange.datagram.size()) {
    Bytes rest = exchange.datagram.subspan(exchange.position);
    const bool has_header = rest.size() >= kHeaderBytes && rest[0] == kRequestMagic;
    const size_t body = has_header ? packet::LoadBe32(&rest[8]) : 0;
    if (!has_header || body > rest.size() - kHeaderBytes) {
      return ServeIncomplete(exchange, access, reply, counters);
    }
    // The lengths contradict each other: respond as if the request had no extras, key and value.
    const bool is_whole = size_t{packet::LoadBe16(&rest[2])} + rest[4] <= body;
    std::array<uint8_t, kHeaderBytes> bare;
    if (is_whole) {
      rest = rest.first(kHeaderBytes + body);
    } else {
      std::copy_n(rest.begin(), kHeaderBytes, bare.begin());
      bare[2] = bare[3] = bare[4] = 0;
      rest = bare;
    }
    BinaryRequest request(exchange, access, reply, counters, rest);
    if (exchange.within == 0 && request.room() < kResponseBytes + kMaxKeyBytes) {
      return EndWithoutRoom(request);
    }
    const Ending ending = is_whole ? Serve(request) : request.Refuse(Status::kUnknown);
    if (ending == Ending::kForeign) return Progress::kForeign;
    ++counters.requests;
    exchange.position += rest.size();
    exchange.within = 0;
    if (ending == Ending::kEnd) return Progress::kEnd;
  }
  return exchange.datagram.empty() ? Progress::kRefused : Progress::kDone;
}

}  // namespace sluice::engine::kv::memcached
