// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/stream_server.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "engine/kv/memcached/ascii.h"
#include "engine/kv/memcached/ascii_request.h"
#include "engine/kv/memcached/binary.h"

namespace sluice::engine::kv {
namespace {

using packet::AfterTurn;
using packet::StreamTurn;

/// memcached closes a connection if it has received more bytes of a line than this, except for get
/// and gets after at most 100 spaces (try_read_command_ascii of 1.6.18).
constexpr size_t kMaxLineBytes = 2048;
constexpr size_t kMaxLeadingSpaces = 100;

bool IsGet(std::string_view line) {
  const size_t command = line.find_first_not_of(' ');
  if (command == std::string_view::npos || command > kMaxLeadingSpaces) return false;
  line.remove_prefix(command);
  return line.starts_with("get ") || line.starts_with("gets ");
}

}  // namespace

StreamServer::StreamServer(Store& store, const ServiceOptions& options, uint64_t cycles_per_second)
    : access_(store, 0),
      facts_(options.facts),
      unix_epoch_s_(options.unix_epoch_s),
      cycles_per_second_(cycles_per_second),
      long_reply_(std::make_unique_for_overwrite<uint8_t[]>(kLongReplyBytes)),
      counters_(std::make_shared<ResponderCounters>()),
      chain_request_(std::make_shared<ChainRequest>()) {
  facts_.tcp_port = options.memcached_port;
  store.AddWorker(0, counters_, chain_request_);
}

void StreamServer::AtRest(uint64_t now) {
  now_s_ = static_cast<uint32_t>(now / cycles_per_second_);
  chain_request_->Serve();
}

void StreamServer::Process(Connection& connection, StreamTurn& turn, uint64_t /*now*/) {
  if (connection.skip != 0 || connection.HasAnswer()) return SendHeld(connection, turn);
  if (connection.request_bytes != 0) return Collect(connection, turn);
  if (turn.bytes < connection.wanted || turn.room_bytes < kMaxAnswerBytes) return;
  const Bytes unread(turn.data, std::min(turn.bytes, kMaxRequestBytes));
  if (connection.in_line) {
    const uint32_t searched = connection.wanted - 1;
    if (std::memchr(turn.data + searched, '\n', unread.size() - searched) == nullptr) {
      return Await(connection, turn, unread, 0);
    }
  }
  Exchange exchange;
  Reply reply = Reply::Movable({turn.room, std::min(turn.room_bytes, kRoomBytes)},
                               {long_reply_.get(), kLongReplyBytes});
  const Progress progress = Serve(connection, unread, exchange, reply);
  Send(connection, turn, exchange, reply, progress);
  if (progress == Progress::kMore) {
    Await(connection, turn, unread.subspan(exchange.position), exchange.wanted);
    if (connection.request_bytes != 0 && turn.consumed == 0) Collect(connection, turn);
  }
}

void StreamServer::SendHeld(Connection& connection, StreamTurn& turn) {
  const bool has_answer = connection.HasAnswer();
  const uint64_t last = has_answer && connection.skip != 0 ? 1 : 0;
  turn.consumed = static_cast<uint32_t>(std::min<uint64_t>(turn.bytes, connection.skip - last));
  connection.skip -= turn.consumed;
  if (!has_answer || connection.skip > last || turn.consumed == turn.bytes) return;
  UnreadBytes& held = connection.held;
  turn.written = std::min(held.size(), turn.room_bytes);
  std::memcpy(turn.room, held.data(), turn.written);
  held.Remove(turn.written, limit_);
  if (held.size() != 0) return;
  turn.consumed += static_cast<uint32_t>(last);
  connection.skip = 0;
  if (connection.closing) turn.after = AfterTurn::kFinish;
}

void StreamServer::Collect(Connection& connection, StreamTurn& turn) {
  const uint32_t missing = connection.request_bytes - connection.held.size();
  const uint32_t bytes = std::min(turn.bytes, missing);
  if (bytes == missing && turn.room_bytes < kMaxAnswerBytes) return;
  if (!connection.held.Append(turn.data, bytes, limit_)) {
    turn.after = AfterTurn::kAbort;
    return;
  }
  turn.consumed = bytes;
  if (bytes != missing) return;
  Exchange exchange;
  Reply reply = Reply::Movable({turn.room, std::min(turn.room_bytes, kRoomBytes)},
                               {long_reply_.get(), kLongReplyBytes});
  const Bytes request(connection.held.data(), connection.request_bytes);
  const Progress progress = Serve(connection, request, exchange, reply);
  connection.request_bytes = 0;
  connection.held.Remove(connection.held.size(), limit_);
  exchange.position = bytes;
  Send(connection, turn, exchange, reply, progress);
}

void StreamServer::Await(Connection& connection, StreamTurn& turn, Bytes unread, uint32_t wanted) {
  connection.wanted = wanted;
  connection.in_line = connection.protocol == Connection::Protocol::kText && wanted <= 1;
  if (connection.in_line) {
    connection.wanted = static_cast<uint32_t>(unread.size()) + 1;
    const bool too_long = unread.size() > kMaxLineBytes && !IsGet(memcached::AsText(unread));
    if (too_long || unread.size() == kMaxRequestBytes) turn.after = AfterTurn::kFinish;
  } else if (wanted > kMaxRequestBytes) {
    connection.request_bytes = wanted;
    connection.wanted = 1;
  }
}

Progress StreamServer::Serve(Connection& connection, Bytes bytes, Exchange& exchange,
                             Reply& reply) {
  using Protocol = Connection::Protocol;
  if (connection.protocol == Protocol::kUnknown) {
    connection.protocol =
        bytes[0] == memcached::kRequestMagic ? Protocol::kBinary : Protocol::kText;
  }
  exchange.datagram = bytes;
  exchange.within = connection.within;
  exchange.wanted = 1;
  exchange.now_s = now_s_ + 1;  // 0 means "never".
  exchange.unix_s = unix_epoch_s_ + now_s_;
  exchange.max_reply_bytes = kLongReplyBytes;
  exchange.server = &facts_;
  const Progress progress =
      connection.protocol == Protocol::kBinary
          ? memcached::ServeBinary(exchange, access_, reply, counters_->memcached)
          : memcached::ServeAscii(exchange, access_, reply, counters_->memcached);
  connection.within = exchange.within;
  connection.wanted = 1;
  connection.in_line = false;
  return progress;
}

// At least one byte stays unread while an answer is kept.
void StreamServer::Send(Connection& connection, StreamTurn& turn, const Exchange& exchange,
                        const Reply& reply, Progress progress) {
  const bool ends = progress == Progress::kEnd;
  turn.consumed = static_cast<uint32_t>(std::min<size_t>(exchange.position, turn.bytes));
  const uint64_t skip = ends ? 0 : exchange.position - turn.consumed;
  const size_t now = skip != 0 ? exchange.reply_before : reply.size();
  turn.written = static_cast<uint32_t>(std::min<size_t>(now, turn.room_bytes));
  if (!reply.movable()) std::memcpy(turn.room, reply.begin(), turn.written);
  const Bytes rest = reply.bytes().subspan(turn.written);
  connection.skip = skip;
  if (rest.empty()) {
    if (ends) turn.after = AfterTurn::kFinish;
    return;
  }
  if (!connection.held.Append(rest.data(), static_cast<uint32_t>(rest.size()), limit_)) {
    turn.after = AfterTurn::kAbort;
    return;
  }
  connection.closing = ends;
  if (skip == 0 && turn.consumed == turn.bytes) {
    --turn.consumed;
    connection.skip = 1;
  }
}

}  // namespace sluice::engine::kv
