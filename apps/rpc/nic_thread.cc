// SPDX-License-Identifier: BSD-3-Clause
#include "nic_thread.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <utility>

namespace sluice::rpc_app {
namespace {

uint64_t Now() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

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
  nic_.SetTime(Now());
  thread_ = std::thread(&NicThread::Run, this);
}

NicThread::~NicThread() {
  stop_ = true;
  thread_.join();
}

void NicThread::Do(const std::function<void(device::rpc::RpcNic&)>& command) {
  std::unique_lock lock(mutex_);
  command_ = &command;
  waiting_.store(true, std::memory_order_release);
  done_.wait(lock, [&] { return command_ == nullptr; });
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

// A process makes progress only if its thread, the kernel's half and this thread run.
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
  now_ns_ = Now();
  nic_.SetTime(now_ns_);
  uint32_t taken = 0;
  if (wire_enabled_.load(std::memory_order_relaxed)) {
    taken = nic_.Receive(wire_.Pull(now_ns_, kBurst), true);
    wire_.Consumed(taken);
  }
  return nic_.Transmit(*this, kBurst) + taken != 0;
}

void NicThread::Run() {
  wire_.Start(Now());
  for (uint32_t idle = 0; !stop_.load(std::memory_order_relaxed);) {
    idle = Step() ? 0 : idle + 1;
    if (idle % kIdleSteps == kIdleSteps - 1) std::this_thread::yield();
    if (!waiting_.load(std::memory_order_acquire)) continue;
    waiting_.store(false, std::memory_order_relaxed);
    (*command_)(nic_);  // The command's caller is waiting, so the pointer is valid.
    {
      const std::scoped_lock lock(mutex_);
      command_ = nullptr;
    }
    done_.notify_all();
  }
}

}  // namespace sluice::rpc_app
