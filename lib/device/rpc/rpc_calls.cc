// SPDX-License-Identifier: BSD-3-Clause
//
// Path from frame to line: decoding, unmarshalling, and execution of the dispatcher's actions.
#include <algorithm>
#include <cstring>
#include <optional>

#include "device/rpc/rpc_nic.h"
#include "rpc/reply.h"

namespace sluice::device::rpc {

using coherent::Content;
using coherent::Pair;
using wire::AcceptStat;
using wire::FrameError;
using wire::UnmarshalError;

bool RpcNic::Drop(const wire::CallFrame& read, FrameError error) {
  std::optional<RpcCounter> drop = DropOf(error, read.error);
  if (!drop && !services_.HasPort(read.datagram.port)) drop = RpcCounter::kNotOurPort;
  if (drop) Count(*drop);
  return drop.has_value();
}

void RpcNic::AcceptFrame(const WireFrame& frame) {
  wire::CallFrame read;
  const FrameError error = wire::ReadCallFrame(frame.data, frame.length, &read);
  if (Drop(read, error)) return;
  uint8_t message[wire::kMaxReplyBytes];
  if (error == FrameError::kCall) {
    const uint32_t bytes = wire::WriteRefusal(message, read.call.xid, read.error);
    return Refuse(read.datagram, frame.data, message, bytes, CounterOf(read.error));
  }
  const Services::Found found = services_.Find(read.datagram.port, read.call);
  if (found.lookup.stat == AcceptStat::kSuccess) return Arrive(frame, read, found);
  const uint32_t bytes = wire::WriteNotFound(message, read.call.xid, found.lookup);
  Refuse(read.datagram, frame.data, message, bytes, CounterOf(found.lookup.stat));
}

void RpcNic::Arrive(const WireFrame& frame, const wire::CallFrame& read,
                    const Services::Found& found) {
  if (slots_.empty()) return Count(RpcCounter::kNoSlot);
  const ProcessId process = found.process;
  const std::span<const uint8_t> xdr(read.call.arguments, read.call.argument_bytes);
  // Unmarshals directly into the line if a core waits at it.
  const std::optional<CoreId> core = dispatcher_.WaitingCore(process);
  End* end = core ? &User(process, *core) : nullptr;
  if (end != nullptr && !end->nic->Waits(Pair::kReceive)) end = nullptr;
  if (end == nullptr && WaitsAlready(frame, read, found)) return Count(RpcCounter::kDuplicate);
  const Prepared prepared =
      xdr.size() > CallSlots::kArgumentBytes
          ? Prepared{UnmarshalError::kNoRoom, {}}
          : PrepareCall(*services_.Of(process), found.lookup.procedure, xdr, end);
  if (prepared.error != UnmarshalError::kNone) {
    return RefuseAccepted(read.datagram, frame.data, read.call.xid, wire::StatOf(prepared.error));
  }
  const CallId call = slots_.Allocate();
  CallSlot& slot = slots_[call];
  slot.datagram = read.datagram;
  slot.procedure = found.lookup.procedure;
  slot.wire_bytes = 0;
  slot.nested = slot.continues = false;
  slot.depth = 0;
  slot.parent = slot.child = CallSlot::kNone;
  slots_.xid(call) = read.call.xid;
  slot.trace = {.xid = read.call.xid, .process = process, .arrived_ns = now_ns_};
  std::memcpy(slot.headers.data(), frame.data, read.reply_at());
  if (end != nullptr) {
    prepared_ = call;
    prepared_content_ = prepared.content;
  } else {
    slots_.Keep(call, xdr);
    slot.trace.path = Path::kQueued;
  }
  Follow(dispatcher_.Arrive(process, call, now_ns_));
  prepared_.reset();
}

bool RpcNic::WaitsAlready(const WireFrame& frame, const wire::CallFrame& read,
                          const Services::Found& found) const {
  const packet::Datagram& datagram = read.datagram;
  // Compares the bytes from the IP addresses to the UDP ports.
  const uint32_t path = datagram.l3 + (datagram.ipv6 ? 8u : 12u);
  const std::span<const uint8_t> xdr(read.call.arguments, read.call.argument_bytes);
  return dispatcher_.queue(found.process).HasAny([&](CallId id) {
    if (slots_.xid(id) != read.call.xid || slots_[id].nested) return false;
    const CallSlot& slot = slots_[id];
    return slot.procedure == found.lookup.procedure && slot.datagram.l3 == datagram.l3 &&
           slot.datagram.payload == datagram.payload &&
           std::equal(frame.data + path, frame.data + datagram.l4() + 4,
                      slot.headers.data() + path) &&
           std::ranges::equal(slots_.Kept(id), xdr);
  });
}

RpcNic::Prepared RpcNic::Prepare(const wire::Table& table, uint32_t type,
                                 std::span<const uint8_t> xdr, const End* end, uint32_t head) {
  const coherent::Geometry& geometry = config_.users;
  const uint32_t line_bytes = std::min(geometry.LineCapacity(), config_.dma_bytes);
  for (const bool in_buffer : {false, true}) {
    std::span<uint8_t> room(scratch_);
    uint64_t base = 0;
    if (end != nullptr) {
      room = end->nic->Room(Pair::kReceive, in_buffer);
      base = end->base + static_cast<uint64_t>(room.data() - end->memory);
    }
    room =
        room.first(std::min<size_t>(room.size(), in_buffer ? geometry.buffer_bytes : line_bytes));
    if (room.size() < head) continue;
    room = room.subspan(head);
    const wire::Unmarshalled made =
        wire::Unmarshal(table, type, xdr.data(), static_cast<uint32_t>(xdr.size()),
                        {room.data(), static_cast<uint32_t>(room.size()), base + head});
    if (made.error == UnmarshalError::kNoRoom && !in_buffer) continue;
    return {
        made.error,
        {.kind = coherent::Kind::kRequest, .length = head + made.bytes, .in_buffer = in_buffer}};
  }
  return {UnmarshalError::kNoRoom, {}};
}

RpcNic::Prepared RpcNic::PrepareCall(const Service& service, uint32_t procedure,
                                     std::span<const uint8_t> xdr, const End* end) {
  Prepared prepared =
      Prepare(service.table, service.table.procedures[procedure].arguments, xdr, end);
  if (procedure < service.entries.size()) {
    prepared.content.code = service.entries[procedure].code;
    prepared.content.data = service.entries[procedure].data;
  }
  return prepared;
}

void RpcNic::Follow(Dispatcher::Actions actions) {
  for (const Action& action : actions) Do(action);
  for (size_t i = 0; i < later_.size(); ++i) {
    const Later next = later_[i];
    for (const Action& action : next.arrives
                                    ? dispatcher_.Arrive(next.process, next.call, now_ns_)
                                    : dispatcher_.Resume(next.process, next.call, now_ns_)) {
      Do(action);
    }
  }
  later_.clear();
}

void RpcNic::Do(const Action& action) {
  using Kind = Action::Kind;
  switch (action.kind) {
    case Kind::kRequest:
      return Give(User(action.process, action.core), action);
    case Kind::kSwitch:
      return Switch(action);
    case Kind::kYieldNow: {
      End& end = User(action.process, action.core);
      // A core that was already asked to leave does not need another answer.
      const bool asked = end.nic->state(Pair::kReceive) != coherent::State::kAway;
      if (!end.nic->YieldNow() && !asked) end.pending = Pending::kYieldNow;
      return;
    }
    case Kind::kRetire:
      if (!kernels_[action.core].nic->Retire()) kernels_[action.core].pending = Pending::kRetire;
      return;
    case Kind::kInterrupt:
      return Interrupt(action);
    case Kind::kKill:
      return host_.Kill(action.process);
    case Kind::kWake:
      return Wake(action.core);
    case Kind::kSuspended:
    case Kind::kTooMany:
      return Suspend(User(action.process, action.core), action);
    case Kind::kTimedOut:
      Orphan(action.call);
      slots_[action.call].continuation.status = NestedStatus::kTimedOut;
      return;
    case Kind::kAnswered:
      return Reply(User(action.process, action.core), action.call);
    case Kind::kQueueFull:
      return Discard(action.call, NestedStatus::kBusy);
    case Kind::kNoProcess:
      return Discard(action.call, NestedStatus::kProgUnavail);
    case Kind::kRemoved:
      return EndWith(action.call, AcceptStat::kProgUnavail);
    case Kind::kLost:
      return EndWith(action.call, AcceptStat::kSystemErr);
  }
}

void RpcNic::Give(End& end, const Action& action) {
  CallSlot& slot = slots_[action.call];
  Content content = prepared_content_;
  if (prepared_ != action.call) {
    if (!end.nic->Waits(Pair::kReceive)) {
      end.pending = Pending::kRequest;
      end.call = action.call;
      return;
    }
    // Cannot fail: the arguments fitted into memory of the same size when they arrived.
    content = slot.continues ? PrepareContinuation(action.call, end)
                             : PrepareCall(*services_.Of(action.process), slot.procedure,
                                           slots_.Kept(action.call), &end)
                                   .content;
  }
  slot.trace.core = action.core;
  slot.trace.buffer = content.in_buffer;
  slot.trace.code = content.code;
  slot.trace.argument_bytes = content.length;
  slot.trace.delivered_ns = now_ns_;
  if (slot.trace.path == Path::kQueued && end.switched) slot.trace.path = Path::kSwitched;
  end.switched = false;
  if (!slot.nested && !slot.continues) Count(RpcCounter::kReceived);
  end.nic->Deliver(Pair::kReceive, content, action.process, action.call);
}

void RpcNic::Switch(const Action& action) {
  End& kernel = kernels_[action.core];
  if (!kernel.nic->Waits(Pair::kReceive)) {
    kernel.pending = Pending::kSwitch;
    kernel.process = action.process;
    return;
  }
  End& user = User(action.process, action.core);
  user.pending = Pending::kNone;
  user.switched = true;
  // The core left the user endpoint before the kernel got it back.
  while (user.nic->Look(Pair::kReceive, now_ns_) == coherent::Seen::kLeft) {
  }
  user.nic->Resume();
  kernel.nic->Deliver(Pair::kReceive,
                      {.kind = coherent::Kind::kRequest,
                       .code = action.process,
                       .data = services_.Of(action.process)->incarnation},
                      action.core, 0);
}

void RpcNic::Wake(CoreId core) {
  // A core that was answered TRYAGAIN loads again itself; only a core that was answered RETIRE
  // sleeps.
  if (kernels_[core].pending == Pending::kRetire) {
    kernels_[core].pending = Pending::kNone;
  } else {
    host_.Wake(core);
  }
}

void RpcNic::Interrupt(const Action& action) {
  End& end = User(action.process, action.core);
  if (end.pending == Pending::kRequest) {
    end.interrupt = true;
  } else {
    end.nic->Preempt(now_ns_);
  }
  host_.Interrupt(action.core, action.process);
}

}  // namespace sluice::device::rpc
