// SPDX-License-Identifier: BSD-3-Clause
#include "engine/rpc/stream_server.h"

#include <optional>

#include "packet/bytes.h"
#include "rpc/reply.h"

namespace sluice::engine::rpc {

using device::rpc::Services;
using wire::AcceptStat;
using wire::CallError;
using wire::kMarkBytes;

StreamServer::StreamServer(const Services& services, Counts& counts)
    : services_(&services), counts_(&counts), execution_(MaxResultBytes(services)) {
  joined_.reserve(kMaxCallBytes);
}

void StreamServer::Process(Connection& connection, packet::StreamTurn& turn, uint64_t /*now*/) {
  const Record record = Find({turn.data, turn.bytes});
  if (record.state == Record::State::kTooLong) turn.after = packet::AfterTurn::kAbort;
  if (record.state != Record::State::kWhole || turn.room_bytes < kMaxAnswerBytes) return;
  turn.consumed = record.bytes;
  const uint32_t bytes =
      Answer(connection.port, record.message, {turn.room + kMarkBytes, MessageServer::kReplyBytes});
  if (bytes == 0) {
    turn.after = packet::AfterTurn::kFinish;  // Like libtirpc: the peer does not send calls.
    return;
  }
  wire::WriteMark(turn.room, bytes);
  turn.written = kMarkBytes + bytes;
}

StreamServer::Record StreamServer::Find(std::span<const uint8_t> stream) {
  joined_.clear();
  for (uint32_t at = 0; stream.size() - at >= kMarkBytes;) {
    const uint32_t mark = packet::LoadBe32(&stream[at]);
    const uint32_t bytes = mark & wire::kMaxFragmentBytes;
    const bool last = (mark & wire::kLastFragment) != 0;
    if (bytes > kMaxCallBytes - joined_.size()) return {Record::State::kTooLong};
    at += kMarkBytes;
    if (stream.size() - at < bytes) break;
    const auto fragment = stream.subspan(at, bytes);
    at += bytes;
    // A record with a single fragment is not copied.
    if (last && joined_.empty()) return {Record::State::kWhole, at, fragment};
    joined_.insert(joined_.end(), fragment.begin(), fragment.end());
    if (last) return {Record::State::kWhole, at, joined_};
  }
  return {Record::State::kIncomplete};
}

// Writes the reply and returns its length; 0 if no reply is due.
uint32_t StreamServer::Answer(uint16_t port, std::span<const uint8_t> message,
                              std::span<uint8_t> reply) {
  wire::Call call;
  const CallError error =
      wire::ReadCall(message.data(), static_cast<uint32_t>(message.size()), &call);
  if (error != CallError::kNone) {
    const auto drop = device::rpc::DropOf(wire::FrameError::kCall, error);
    Count(drop ? *drop : device::rpc::CounterOf(error));
    if (drop) return 0;
    Count(RpcCounter::kSent);
    return wire::WriteRefusal(reply.data(), call.xid, error);
  }
  const Services::Found found = services_->Find(port, call);
  if (found.lookup.stat != AcceptStat::kSuccess) {
    Count(device::rpc::CounterOf(found.lookup.stat));
    Count(RpcCounter::kSent);
    return wire::WriteNotFound(reply.data(), call.xid, found.lookup);
  }
  const CallAnswer answer =
      AnswerCall(execution_, *services_->Of(found.process), found.lookup.procedure, call, reply);
  if (answer.executed) Count(RpcCounter::kReceived);
  if (answer.bad_result) Count(RpcCounter::kBadResults);
  if (answer.stat != AcceptStat::kSuccess) Count(device::rpc::CounterOf(answer.stat));
  Count(RpcCounter::kSent);
  return answer.bytes;
}

}  // namespace sluice::engine::rpc
