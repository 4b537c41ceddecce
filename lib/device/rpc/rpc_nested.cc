// SPDX-License-Identifier: BSD-3-Clause
//
// Handles nested calls: passes them from the line of one process to the queue of another, and the
// results back to the continuation. They are treated like calls from the wire, including XDR, so
// that neither process can distinguish them or harm the other process.
#include <cstring>

#include "device/rpc/rpc_nic.h"

namespace sluice::device::rpc {

using coherent::Content;
using coherent::Pair;
using wire::AcceptStat;

static_assert(static_cast<uint32_t>(NestedStatus::kProgUnavail) ==
                  static_cast<uint32_t>(AcceptStat::kProgUnavail) &&
              static_cast<uint32_t>(NestedStatus::kProgMismatch) ==
                  static_cast<uint32_t>(AcceptStat::kProgMismatch) &&
              static_cast<uint32_t>(NestedStatus::kProcUnavail) ==
                  static_cast<uint32_t>(AcceptStat::kProcUnavail) &&
              static_cast<uint32_t>(NestedStatus::kSystemErr) ==
                  static_cast<uint32_t>(AcceptStat::kSystemErr));

Done RpcNic::DoneOf(const End& end) const {
  const coherent::Returned& returned = end.nic->returned(Pair::kReceive);
  const bool calls =
      returned.kind == coherent::Kind::kCall && returned.payload.size() >= sizeof(CallHead);
  return calls ? Done::kCall : Done::kReply;
}

void RpcNic::Suspend(const End& end, const Action& action) {
  CallSlot& slot = slots_[action.call];
  // Checks apply to a copy, because the process may still write to its line.
  const std::span<const uint8_t> payload = end.nic->returned(Pair::kReceive).payload;
  std::memcpy(scratch_.data(), payload.data(), payload.size());
  Continuation& continuation = slot.continuation;
  std::memcpy(&continuation.head, scratch_.data(), sizeof(CallHead));
  slot.continues = true;
  slot.wire_bytes = 0;
  if (action.kind == Action::Kind::kTooMany) {
    continuation.status = NestedStatus::kTooMany;
    return;
  }
  const uint64_t base = end.base + static_cast<uint64_t>(payload.data() - end.memory);
  continuation.status = Call(
      action.call, wire::Source::Prepared(scratch_.data() + sizeof(CallHead),
                                          static_cast<uint32_t>(payload.size() - sizeof(CallHead)),
                                          base + sizeof(CallHead)));
  if (continuation.status == NestedStatus::kSuccess) return;
  Count(RpcCounter::kNestedRefused);
  later_.push_back({false, action.process, action.call});
}

NestedStatus RpcNic::Call(CallId parent, wire::Source arguments) {
  CallSlot& slot = slots_[parent];
  const CallHead& head = slot.continuation.head;
  if (slot.depth >= config_.nested_depth) return NestedStatus::kTooDeep;
  const Services::Found found = services_.Find(head.program, head.version, head.procedure);
  if (found.lookup.stat != AcceptStat::kSuccess) {
    return static_cast<NestedStatus>(found.lookup.stat);
  }
  if (slots_.empty()) return NestedStatus::kBusy;
  const CallId call = slots_.Allocate();
  const uint32_t procedure = found.lookup.procedure;
  const Service& service = *services_.Of(found.process);
  const std::span<uint8_t> room = slots_.Room(call);
  const wire::Marshalled made =
      wire::Marshal(service.table, service.table.procedures[procedure].arguments, arguments,
                    room.data(), static_cast<uint32_t>(room.size()));
  NestedStatus status = NestedStatus::kSuccess;
  if (made.error != wire::MarshalError::kNone) {
    status = NestedStatus::kGarbageArgs;
  } else if (PrepareCall(service, procedure, room.first(made.bytes), nullptr).error !=
             wire::UnmarshalError::kNone) {
    status = NestedStatus::kSystemErr;
  }
  if (status != NestedStatus::kSuccess) {
    slots_.Release(call);
    return status;
  }
  CallSlot& child = slots_[call];
  child.procedure = procedure;
  child.wire_bytes = made.bytes;
  child.nested = true;
  child.continues = false;
  child.depth = slot.depth + 1;
  child.parent = parent;
  child.child = CallSlot::kNone;
  child.trace = {.xid = slot.trace.xid,
                 .process = found.process,
                 .path = Path::kQueued,
                 .arrived_ns = now_ns_};
  slot.child = call;
  slot.continuation.callee = found.process;
  slot.continuation.procedure = procedure;
  later_.push_back({true, found.process, call});
  return NestedStatus::kSuccess;
}

void RpcNic::ReplyToParent(const End& end, CallId call) {
  CallSlot& slot = slots_[call];
  if (config_.traces) host_.Answered(slot.trace);
  if (slot.parent == CallSlot::kNone) return EndNested(call, NestedStatus::kSuccess);
  const std::span<uint8_t> room = slots_.Room(slot.parent);
  const std::optional<uint32_t> results =
      MarshalResults(end, slot, room.data(), static_cast<uint32_t>(room.size()));
  slots_[slot.parent].wire_bytes = results.value_or(0);
  EndNested(call, results ? NestedStatus::kSuccess : NestedStatus::kSystemErr);
}

void RpcNic::EndNested(CallId call, NestedStatus status) {
  const CallId parent = slots_[call].parent;
  slots_.Release(call);
  if (parent == CallSlot::kNone) return Count(RpcCounter::kNestedOrphans);
  CallSlot& slot = slots_[parent];
  slot.child = CallSlot::kNone;
  slot.continuation.status = status;
  later_.push_back({false, slot.trace.process, parent});
}

void RpcNic::Orphan(CallId call) {
  const CallId child = slots_[call].child;
  if (child == CallSlot::kNone) return;
  slots_[child].parent = CallSlot::kNone;
  slots_[call].child = CallSlot::kNone;
}

Content RpcNic::PrepareContinuation(CallId call, const End& end) {
  const Continuation& next = slots_[call].continuation;
  ReplyHead head = {next.status, 0, next.head.context};
  Content content = {.kind = coherent::Kind::kRequest, .length = sizeof(head)};
  if (head.status == NestedStatus::kSuccess) {
    const wire::Table& table = services_.Of(next.callee)->table;
    const Prepared prepared = Prepare(table, table.procedures[next.procedure].result,
                                      slots_.Kept(call), &end, sizeof(head));
    if (prepared.error == wire::UnmarshalError::kNone) {
      content = prepared.content;
      head.result_bytes = content.length - static_cast<uint32_t>(sizeof(head));
    } else {
      head.status = NestedStatus::kSystemErr;  // The results do not fit into the process's line.
    }
  }
  content.code = next.head.code;
  content.data = next.head.data;
  std::memcpy(end.nic->Room(Pair::kReceive, content.in_buffer).data(), &head, sizeof(head));
  return content;
}

void RpcNic::ForgetResults(ProcessId callee) {
  for (CallId call = 0; call < slots_.size(); ++call) {
    Continuation& next = slots_[call].continuation;
    if (next.callee == callee && next.status == NestedStatus::kSuccess) {
      next.status = NestedStatus::kProgUnavail;
    }
  }
}

}  // namespace sluice::device::rpc
