// SPDX-License-Identifier: BSD-3-Clause
#include "nic_thread.h"

#include <signal.h>
#include <unistd.h>

#include <utility>

#include "base/monotonic_clock.h"

namespace sluice::rpc_app {
namespace {

device::rpc::RpcNicConfig WithTraces(device::rpc::RpcNicConfig config, uint32_t traces) {
  config.traces = traces != 0;
  return config;
}

}  // namespace

NicThread::NicThread(const device::rpc::RpcNicConfig& config, device::rpc::Placement& placement,
                     emulator::Wire& wire, ProcessTable& processes,
                     std::span<const std::unique_ptr<KernelCore>> cores, uint32_t traces)
    : nic_(WithTraces(config, traces), placement, *this),
      wire_(wire),
      processes_(processes),
      cores_(cores),
      max_traces_(traces) {
  nic_.SetTime(base::MonotonicNs());
  wire_.Start(base::MonotonicNs());
  thread_.emplace([this] { return Step(); });
}

void NicThread::EnableWire(bool enabled) { wire_enabled_ = enabled; }

std::vector<device::rpc::CallTrace> NicThread::Traces() {
  const std::scoped_lock lock(mutex_);
  return traces_;
}

void NicThread::Interrupt(device::rpc::CoreId core, device::rpc::ProcessId process) {
  if (const auto incarnation = processes_.Get(process)) incarnation->Interrupt(core);
}

void NicThread::Kill(device::rpc::ProcessId process) {
  if (const auto incarnation = processes_.Get(process)) incarnation->Signal(SIGKILL);
}

void NicThread::Wake(device::rpc::CoreId core) { cores_[core]->Wake(); }

// A process makes progress only if its thread, the core's KernelCore thread and this thread all get
// a CPU.
std::optional<uint64_t> NicThread::Starved(device::rpc::CoreId core,
                                           device::rpc::ProcessId process) {
  Watches& watches = watches_[core];
  watches.starved_ns += watches.nic.Since(getpid(), gettid(), now_ns_) +
                        watches.kernel.Since(getpid(), cores_[core]->thread_id(), now_ns_);
  if (const auto incarnation = processes_.Get(process))
    watches.starved_ns += incarnation->Starved(core, watches.service, now_ns_);
  return watches.starved_ns;
}

void NicThread::Answered(const device::rpc::CallTrace& trace) {
  if (traces_.size() == max_traces_) return;
  const std::scoped_lock lock(mutex_);
  traces_.push_back(trace);
}

void NicThread::Deliver(std::span<const device::WireFrame> frames) {
  wire_.Deliver(now_ns_, frames);
}

bool NicThread::Step() {
  now_ns_ = base::MonotonicNs();
  nic_.SetTime(now_ns_);
  uint32_t taken = 0;
  if (wire_enabled_.load(std::memory_order_relaxed)) {
    taken = nic_.Receive(wire_.Pull(now_ns_, kBurst), true);
    wire_.Consumed(taken);
  }
  return nic_.Transmit(*this, kBurst) + taken != 0;
}

}  // namespace sluice::rpc_app
