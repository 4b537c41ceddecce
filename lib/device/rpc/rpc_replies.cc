// SPDX-License-Identifier: BSD-3-Clause
//
// From line to frame: results, and the protocol's own errors.
#include <cstring>

#include "device/rpc/rpc_nic.h"
#include "rpc/marshal.h"
#include "rpc/reply.h"

namespace sluice::device::rpc {

using coherent::Pair;
using wire::AcceptStat;

void RpcNic::Reply(End& end, CallId call) {
  CallSlot& slot = slots_[call];
  const coherent::Returned& returned = end.nic->returned(Pair::kReceive);
  slot.trace.answered_ns = now_ns_;
  if (returned.kind == coherent::Kind::kNoReply) {
    Count(RpcCounter::kUnreplied);
    return slots_.Release(call);
  }
  const uint32_t at = slot.datagram.payload;
  uint8_t* const frame = replies_.Begin(kMaxFrame);
  const uint32_t bytes =
      frame == nullptr ? 0 : Results(end, slot, returned, frame + at, kMaxFrame - at);
  if (bytes == 0) return EndWith(call, AcceptStat::kSystemErr);
  std::memcpy(frame, slot.headers.data(), at);
  slot.datagram.Answer(frame, bytes);
  replies_.Add(at + bytes);
  Count(RpcCounter::kSent);
  if (config_.traces) host_.Answered(slot.trace);
  slots_.Release(call);
}

uint32_t RpcNic::Results(const End& end, CallSlot& slot, const coherent::Returned& returned,
                         uint8_t* message, uint32_t room) {
  if (returned.kind != coherent::Kind::kReply) {
    Count(RpcCounter::kBadResults);
    return 0;
  }
  if (returned.status != static_cast<uint64_t>(AcceptStat::kSuccess)) return 0;
  // The process may write to its line meanwhile: what is judged is a copy.
  const std::span<const uint8_t> payload = returned.payload;
  std::memcpy(scratch_.data(), payload.data(), payload.size());
  slot.trace.result_bytes = static_cast<uint32_t>(payload.size());
  const Service& service = *services_.Of(slot.trace.process);
  const auto base = end.base + static_cast<uint64_t>(payload.data() - end.memory);
  const uint32_t head = wire::WriteAccepted(message, slot.trace.xid, AcceptStat::kSuccess);
  const wire::Marshalled made = wire::Marshal(
      service.table, service.table.procedures[slot.procedure].result,
      wire::Source::Prepared(scratch_.data(), static_cast<uint32_t>(payload.size()), base),
      message + head, room - head);
  if (made.error == wire::MarshalError::kNone) return head + made.bytes;
  Count(RpcCounter::kBadResults);
  return 0;
}

void RpcNic::Refuse(const packet::Datagram& datagram, const uint8_t* headers,
                    const uint8_t* message, uint32_t bytes, RpcCounter counter) {
  Count(counter);
  uint8_t* const frame = replies_.Begin(datagram.payload + bytes);
  if (frame == nullptr) return Count(RpcCounter::kUnsent);
  std::memcpy(frame, headers, datagram.payload);
  std::memcpy(frame + datagram.payload, message, bytes);
  datagram.Answer(frame, bytes);
  replies_.Add(datagram.payload + bytes);
  Count(RpcCounter::kSent);
}

void RpcNic::RefuseAccepted(const packet::Datagram& datagram, const uint8_t* headers, uint32_t xid,
                            AcceptStat stat) {
  uint8_t message[wire::kMaxReplyBytes];
  const uint32_t bytes = wire::WriteAccepted(message, xid, stat);
  RpcCounter counter = RpcCounter::kSystemErr;
  if (stat == AcceptStat::kProgUnavail) counter = RpcCounter::kProgUnavail;
  if (stat == AcceptStat::kProcUnavail) counter = RpcCounter::kProcUnavail;
  if (stat == AcceptStat::kGarbageArgs) counter = RpcCounter::kGarbageArgs;
  Refuse(datagram, headers, message, bytes, counter);
}

void RpcNic::EndWith(CallId call, AcceptStat stat) {
  const CallSlot& slot = slots_[call];
  RefuseAccepted(slot.datagram, slot.headers.data(), slot.trace.xid, stat);
  slots_.Release(call);
}

}  // namespace sluice::device::rpc
