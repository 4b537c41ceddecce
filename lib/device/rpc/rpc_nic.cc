// SPDX-License-Identifier: BSD-3-Clause
#include "device/rpc/rpc_nic.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "rpc/reply.h"

namespace sluice::device::rpc {

using coherent::Content;
using coherent::EndpointMemory;
using coherent::NicEnd;
using coherent::Pair;
using coherent::Seen;
using wire::AcceptStat;
using wire::FrameError;
using wire::UnmarshalError;

// The device's control path and its step function, which receives frames, polls loads and sends
// frames.

RpcNic::RpcNic(const RpcNicConfig& config, Placement& placement, HostPort& host)
    : config_(config),
      host_(host),
      dispatcher_(config.dispatcher, placement),
      slots_(config.slots != 0 ? config.slots : SlotsFor(config.dispatcher, kMaxProcesses)),
      errors_(slots_.size()),
      scratch_(coherent::Control::kMaxLength + 1) {
  later_.reserve(2 * size_t{slots_.size()});
  config_.dispatcher.cores = std::clamp(config_.dispatcher.cores, 1u, kMaxCores);
  for (const std::string_view name : Dispatcher::kCounterNames) counters_.push_back({name, 0});
  for (const std::string_view name : kRpcCounterNames) counters_.push_back({name, 0});
}

bool RpcNic::AttachKernel(CoreId core, const Endpoint& endpoint) {
  const EndpointMemory memory = EndpointMemory::Find(endpoint.memory);
  if (core >= config_.dispatcher.cores || !memory) return false;
  if (memory.geometry().mode != coherent::Mode::kKernel) return false;
  End& end = kernels_[core];
  end = {};
  end.nic.emplace(memory, coherent::NicOptions{.process = core}, now_ns_);
  return true;
}

bool RpcNic::AddService(ProcessId process, uint32_t max_cores, Service service) {
  if (!dispatcher_.AddProcess(process, max_cores)) return false;
  if (services_.Add(process, std::move(service))) return true;
  Follow(dispatcher_.RemoveProcess(process, now_ns_));
  return false;
}

bool RpcNic::Start(ProcessId process, std::vector<Entry> entries,
                   std::span<const Endpoint> endpoints, uint64_t incarnation) {
  if (process >= kMaxProcesses || services_.Of(process) == nullptr) return false;
  Service& service = *services_.Of(process);
  if (entries.size() != service.table.procedures.size() ||
      endpoints.size() != config_.dispatcher.cores) {
    return false;
  }
  auto ends = std::make_unique<Ends>();
  for (size_t core = 0; core < endpoints.size(); ++core) {
    const EndpointMemory memory = EndpointMemory::Find(endpoints[core].memory);
    if (!memory || memory.geometry() != config_.users) return false;
    End& end = (*ends)[core];
    // The dispatcher enforces the limits, because it knows which threads had no CPU.
    end.nic.emplace(memory, coherent::NicOptions{.process = process, .leave_ns = ~uint64_t{0}},
                    now_ns_);
    end.memory = endpoints[core].memory.data();
    end.base = endpoints[core].base;
  }
  users_[process] = std::move(ends);
  service.entries = std::move(entries);
  service.incarnation = incarnation;
  Follow(dispatcher_.Ready(process, now_ns_));
  return true;
}

void RpcNic::Gone(ProcessId process) {
  if (process >= kMaxProcesses || users_[process] == nullptr) return;
  for (End& end : *users_[process]) {
    if (end.nic) end.nic->Kill();
  }
  for (End& kernel : kernels_) {
    if (kernel.pending == Pending::kSwitch && kernel.process == process) {
      kernel.pending = Pending::kNone;
    }
  }
  Follow(dispatcher_.Gone(process, now_ns_));
  users_[process].reset();
}

void RpcNic::RemoveService(ProcessId process) {
  if (process >= kMaxProcesses || services_.Of(process) == nullptr) return;
  Gone(process);
  Follow(dispatcher_.RemoveProcess(process, now_ns_));
  ForgetResults(process);
  services_.Remove(process);
}

void RpcNic::Reclaim(CoreId core) { Follow(dispatcher_.Reclaim(core, now_ns_)); }

uint32_t RpcNic::Receive(std::span<const WireFrame> frames, bool pause) {
  uint32_t taken = 0;
  for (const WireFrame& frame : frames) {
    if (pause && (slots_.empty() || replies_.Begin().full())) break;
    AcceptFrame(frame);
    ++taken;
  }
  return taken;
}

uint32_t RpcNic::Transmit(FrameSink& sink, uint32_t) {
  if (now_ns_ - ticked_ns_ >= kTickNs) {
    ticked_ns_ = now_ns_;
    Follow(dispatcher_.Tick(now_ns_, starved_));
  }
  uint32_t sent = 0;
  for (uint32_t id = 0; id < config_.dispatcher.cores; ++id) {
    const auto core = static_cast<CoreId>(id);
    // Each core returns at most one reply with results per step.
    if (replies_.Begin().full()) sent += Flush(sink);
    if (dispatcher_.InUse(core)) LookAtUser(core);
    LookAtKernel(core);
  }
  return sent + Flush(sink);
}

std::span<const Counter> RpcNic::Counters() {
  for (uint32_t i = 0; i < Dispatcher::kCounters; ++i) {
    counters_[i].value = dispatcher_.counter(static_cast<DispatchCounter>(i));
  }
  for (uint32_t i = 0; i < kRpcCounters; ++i) {
    counters_[Dispatcher::kCounters + i].value = counts_[i];
  }
  return counters_;
}

void RpcNic::LookAtUser(CoreId core) {
  const ProcessId process = dispatcher_.process(core);
  End& end = User(process, core);
  const Seen seen = end.nic->Look(Pair::kReceive, now_ns_);
  switch (seen) {
    case Seen::kLoad:
    case Seen::kReturned:
      if (AnswerPending(end, core)) break;
      Follow(dispatcher_.UserLoads(core, process, now_ns_,
                                   seen == Seen::kReturned ? DoneOf(end) : Done::kReply));
      break;
    case Seen::kOverdue:
    case Seen::kFault:
      Follow(dispatcher_.Condemn(process, now_ns_));
      break;
    case Seen::kNothing:
    case Seen::kTriedAgain:
    case Seen::kLeft:
      break;
  }
}

void RpcNic::LookAtKernel(CoreId core) {
  End& end = kernels_[core];
  if (!end.nic) return;
  const Seen seen = end.nic->Look(Pair::kReceive, now_ns_);
  if (seen != Seen::kLoad && seen != Seen::kReturned) return;
  if (!AnswerPending(end, core)) Follow(dispatcher_.KernelLoads(core, now_ns_));
}

bool RpcNic::AnswerPending(End& end, CoreId core) {
  switch (std::exchange(end.pending, Pending::kNone)) {
    case Pending::kNone:
      return false;
    case Pending::kRequest:
      Give(end, {Action::Kind::kRequest, core, dispatcher_.process(core), end.call});
      if (std::exchange(end.interrupt, false)) end.nic->Preempt(now_ns_);
      return true;
    case Pending::kYieldNow:
      end.nic->YieldNow();
      return true;
    case Pending::kSwitch:
      Switch({Action::Kind::kSwitch, core, end.process});
      return true;
    case Pending::kRetire:
      end.nic->Retire();
      return true;
  }
  return false;
}

// The path from frame to line: decodes and unmarshals calls, and executes the dispatcher's actions.

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
  // Unmarshals directly to the line if a core is waiting there.
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
  // Compares the bytes from the IP addresses through the UDP ports.
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
      // A core that has already been asked to leave does not need another answer.
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
    // This cannot fail, because the arguments fitted into memory of the same size when they
    // arrived.
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
  // The core left the user endpoint before the kernel got it back. Consume that event.
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
  // A core that got the answer TRYAGAIN loads again by itself; only a core that got RETIRE sleeps.
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

// Handles nested calls: passes them from the line of one process to the queue of another, and the
// results back to the continuation. Nested calls are handled like calls from the wire, including
// XDR, so that neither process can tell the difference or harm the other.

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
  // Check a copy, because the process may still write to its line.
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

// The path from line to frame: results, and protocol errors.

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
  // Check a copy, because the process may still write to its line.
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
  // The call keeps its slot until the error is sent, because the end of a process may end all its
  // calls at once.
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
