// SPDX-License-Identifier: BSD-3-Clause
//
// The embedded NIC: a thread that steps the device and the wire behind it, and does for the device
// what only an operating system can.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "cpu/starved_time.h"
#include "device/rpc/rpc_nic.h"
#include "emulator/wire.h"
#include "kernel_core.h"
#include "process_table.h"

namespace sluice::rpc_app {

class NicThread final : public device::rpc::HostPort, private device::FrameSink {
 public:
  /// All references outlive it; `cores` are the device's, by number. Keeps the first `traces`
  /// calls.
  NicThread(const device::rpc::RpcNicConfig& config, device::rpc::Placement& placement,
            emulator::Wire& wire, ProcessTable& processes,
            std::span<const std::unique_ptr<KernelCore>> cores, uint32_t traces);
  ~NicThread();

  /// Between two steps, on the NIC's thread; returns when it is done. Any other thread.
  void Do(const std::function<void(device::rpc::RpcNic&)>& command);
  /// Only within Do.
  std::span<const device::Counter> WireCounters() { return wire_.Counters(); }
  /// Frames are pulled from the wire from now on, or no longer.
  void EnableWire(bool enabled);
  /// In order; complete when the NIC no longer steps.
  std::vector<device::rpc::CallTrace> Traces();

  void Interrupt(device::rpc::CoreId core, device::rpc::ProcessId process) override;
  void Kill(device::rpc::ProcessId process) override;
  void Wake(device::rpc::CoreId core) override;
  std::optional<uint64_t> Starved(device::rpc::CoreId core,
                                  device::rpc::ProcessId process) override;
  void Answered(const device::rpc::CallTrace& trace) override;

 private:
  static constexpr uint32_t kBurst = 32;
  /// Steps without work after which the thread offers its CPU to others.
  static constexpr uint32_t kIdleSteps = 1000;

  void Run();
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
    uint64_t starved_ns = 0;  ///< In all.
  };
  std::array<Watches, device::rpc::kMaxCores> watches_;

  std::mutex mutex_;
  std::condition_variable done_;
  const std::function<void(device::rpc::RpcNic&)>* command_ = nullptr;
  std::vector<device::rpc::CallTrace> traces_;
  const uint32_t max_traces_;
  std::atomic<bool> waiting_{false};  ///< There is a command.
  std::atomic<bool> wire_enabled_{false};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace sluice::rpc_app
