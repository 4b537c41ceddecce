// SPDX-License-Identifier: BSD-3-Clause
//
// The embedded NIC: a thread that steps the device and its wire, and performs operations for the
// device that require an operating system.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "cpu/starved_time.h"
#include "device/rpc/rpc_nic.h"
#include "emulator/wire.h"
#include "host/step_thread.h"
#include "kernel_core.h"
#include "process_table.h"

namespace sluice::rpc_app {

class NicThread final : public device::rpc::HostPort, private device::FrameSink {
 public:
  /// All references must outlive the object. `cores` contains the device's cores, indexed by
  /// number. The first `traces` calls are recorded.
  NicThread(const device::rpc::RpcNicConfig& config, device::rpc::Placement& placement,
            emulator::Wire& wire, ProcessTable& processes,
            std::span<const std::unique_ptr<KernelCore>> cores, uint32_t traces);

  /// Runs `command` on the NIC's thread, between two steps, and returns when it is done. Only one
  /// thread at a time may call it, and never the NIC's thread.
  void Do(const std::function<void(device::rpc::RpcNic&)>& command) {
    thread_->Do([&] { command(nic_); });
  }
  /// Call it only within Do.
  std::span<const device::Counter> WireCounters() { return wire_.Counters(); }
  /// Enables or disables pulling frames from the wire.
  void EnableWire(bool enabled);
  /// Returns the recorded calls in order; complete only after the NIC has stopped.
  std::vector<device::rpc::CallTrace> Traces();

  void Interrupt(device::rpc::CoreId core, device::rpc::ProcessId process) override;
  void Kill(device::rpc::ProcessId process) override;
  void Wake(device::rpc::CoreId core) override;
  std::optional<uint64_t> Starved(device::rpc::CoreId core,
                                  device::rpc::ProcessId process) override;
  void Answered(const device::rpc::CallTrace& trace) override;

 private:
  static constexpr uint32_t kBurst = 32;

  bool Step();
  void Deliver(std::span<const device::WireFrame> frames) override;

  device::rpc::RpcNic nic_;
  emulator::Wire& wire_;
  ProcessTable& processes_;
  std::span<const std::unique_ptr<KernelCore>> cores_;
  uint64_t now_ns_ = 0;

  /// For each core, the threads that must run before its process can make progress.
  struct Watches {
    cpu::StarvedTime nic, kernel, service;
    uint64_t starved_ns = 0;  ///< Sum over all three threads.
  };
  std::array<Watches, device::rpc::kMaxCores> watches_;

  std::mutex mutex_;  ///< Protects traces_.
  std::vector<device::rpc::CallTrace> traces_;
  const uint32_t max_traces_;
  std::atomic<bool> wire_enabled_{false};
  /// Declared last, because the thread uses the other members.
  std::optional<host::StepThread<host::YieldingIdle>> thread_;
};

}  // namespace sluice::rpc_app
