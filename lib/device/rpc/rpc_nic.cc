// SPDX-License-Identifier: BSD-3-Clause
//
// The device's control path and its step: receives frames, polls loads and sends frames.
#include "device/rpc/rpc_nic.h"

#include <algorithm>
#include <utility>

namespace sluice::device::rpc {

using coherent::EndpointMemory;
using coherent::NicEnd;
using coherent::Pair;
using coherent::Seen;

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

}  // namespace sluice::device::rpc
