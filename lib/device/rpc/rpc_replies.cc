// SPDX-License-Identifier: BSD-3-Clause
//
// Path from line to frame: results, and errors of the protocol.
#include <cstring>

#include "device/rpc/rpc_nic.h"
#include "rpc/marshal.h"
#include "rpc/reply.h"

namespace sluice::device::rpc {

using coherent::Pair;
using wire::AcceptStat;

void RpcNic::Reply(End& end, CallId call) {
  CallSlot& slot = slots_[call];
  slot.trace.answered_ns = now_ns_;
  if (slot.nested) return ReplyToParent(end, call);
  if (end.nic->returned(Pair::kReceive).kind == coherent::Kind::kNoReply) {
    Count(RpcCounter::kUnreplied);
    return slots_.Release(call);
  }
  const uint32_t at = slot.datagram.payload;
  auto to = replies_.Begin();
  uint8_t* const frame = to.bytes;
  const uint32_t head = at + wire::kSuccessBytes;
  std::optional<uint32_t> results;
  const uint32_t room = slot.datagram.MostAnswerBytes() - wire::kSuccessBytes;
  if (!to.full()) results = MarshalResults(end, slot, frame + head, room);
  if (!results) return EndWith(call, AcceptStat::kSystemErr);
  const uint32_t bytes = wire::kSuccessBytes + *results;
  wire::WriteAccepted(frame + at, slot.trace.xid, AcceptStat::kSuccess);
  std::memcpy(frame, slot.headers.data(), at);
  slot.datagram.Answer(frame, bytes);
  to.Add(at + bytes);
  replies_.Keep(to);
  Count(RpcCounter::kSent);
  if (config_.traces) host_.Answered(slot.trace);
  slots_.Release(call);
}

std::optional<uint32_t> RpcNic::MarshalResults(const End& end, CallSlot& slot, uint8_t* to,
                                               uint32_t room) {
  const coherent::Returned& returned = end.nic->returned(Pair::kReceive);
  if (returned.kind != coherent::Kind::kReply) {
    Count(RpcCounter::kBadResults);
    return {};
  }
  if (returned.status != static_cast<uint64_t>(AcceptStat::kSuccess)) return {};
  // Checks apply to a copy, because the process may still write to its line.
  const std::span<const uint8_t> payload = returned.payload;
  std::memcpy(scratch_.data(), payload.data(), payload.size());
  slot.trace.result_bytes = static_cast<uint32_t>(payload.size());
  const Service& service = *services_.Of(slot.trace.process);
  const auto base = end.base + static_cast<uint64_t>(payload.data() - end.memory);
  const wire::Marshalled made = wire::Marshal(
      service.table, service.table.procedures[slot.procedure].result,
      wire::Source::Prepared(scratch_.data(), static_cast<uint32_t>(payload.size()), base), to,
      room);
  if (made.error == wire::MarshalError::kNone) return made.bytes;
  Count(RpcCounter::kBadResults);
  return {};
}

void RpcNic::Refuse(const packet::Datagram& datagram, const uint8_t* headers,
                    const uint8_t* message, uint32_t bytes, RpcCounter counter) {
  Count(counter);
  auto to = replies_.Begin();
  if (to.full()) return Count(RpcCounter::kUnsent);
  uint8_t* const frame = to.bytes;
  std::memcpy(frame, headers, datagram.payload);
  std::memcpy(frame + datagram.payload, message, bytes);
  datagram.Answer(frame, bytes);
  to.Add(datagram.payload + bytes);
  replies_.Keep(to);
  Count(RpcCounter::kSent);
}

void RpcNic::RefuseAccepted(const packet::Datagram& datagram, const uint8_t* headers, uint32_t xid,
                            AcceptStat stat) {
  uint8_t message[wire::kMaxReplyBytes];
  const uint32_t bytes = wire::WriteAccepted(message, xid, stat);
  Refuse(datagram, headers, message, bytes, CounterOf(stat));
}

void RpcNic::EndWith(CallId call, AcceptStat stat) {
  CallSlot& slot = slots_[call];
  Orphan(call);
  if (slot.nested) return EndNested(call, static_cast<NestedStatus>(stat));
  if (!replies_.Begin().full()) return SendError(call, stat);
  // The call keeps its slot, because a process that ends may end all its calls at once.
  slot.error = stat;
  errors_.Push(call);
}

void RpcNic::SendError(CallId call, AcceptStat stat) {
  const CallSlot& slot = slots_[call];
  RefuseAccepted(slot.datagram, slot.headers.data(), slot.trace.xid, stat);
  slots_.Release(call);
}

uint32_t RpcNic::Flush(FrameSink& sink) {
  uint32_t sent = 0;
  while (replies_.size() != 0) {
    sent += replies_.size();
    replies_.Flush(sink);
    while (!errors_.empty() && !replies_.Begin().full()) {
      const CallId call = errors_.Pop();
      SendError(call, slots_[call].error);
    }
  }
  return sent;
}

void RpcNic::Discard(CallId call, NestedStatus status) {
  if (slots_[call].nested) return EndNested(call, status);
  slots_.Release(call);
}

}  // namespace sluice::device::rpc
