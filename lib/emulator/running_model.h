// SPDX-License-Identifier: BSD-3-Clause
//
// A device model with its wire, stepped in real time. Its host is in this process (attach.cc) or in
// another one (server.h).
#pragma once

#include <sched.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bar/dma.h"
#include "bar/posted_queue.h"
#include "device/device.h"
#include "emulator/arguments.h"
#include "emulator/attach.h"
#include "emulator/hosted_model.h"
#include "emulator/runner.h"
#include "emulator/service.h"
#include "emulator/stepper.h"
#include "emulator/wire.h"

namespace sluice::emulator {

/// Runs from Create to destruction. One thread at a time, which may be any thread, controls the
/// model. Const methods, Statistics and EnableWire may be called by any thread.
class RunningModel final : public HostedModel {
 public:
  /// Starts without a host and with the wire's source off. `name` must be unique in the process. If
  /// `arguments` cannot be satisfied, returns null and sets `error` to one line that names the
  /// argument and the fix.
  static std::unique_ptr<RunningModel> Create(std::string_view name, const ModelInfo& model,
                                              Arguments arguments, const MacAddress& mac,
                                              std::string* error);
  ~RunningModel() override;

  bool Connect(const SettingValues& settings, const bar::DmaSpace& dma, bar::PostedQueue* queue,
               std::string* error) override;
  void SetInterrupts(device::InterruptSink* sink) override;
  void SetMastering(bool on) override;
  void ChangeMemory(const std::function<void()>& change) override;
  void Disconnect(bool died) override;
  /// Runs a step if workers step the model.
  void AwaitedByHost() override;
  std::vector<Statistic> Statistics() override;
  bool WireUp() const override { return runner_->LinkUp(); }
  void EnableWire(bool enabled) override { runner_->EnableWire(enabled); }
  const emulator::MacAddress& mac() const override { return mac_; }

 private:
  RunningModel(std::string_view name, const ModelInfo& model, const MacAddress& mac);
  bool CreateWire(Arguments& arguments, std::string* error);

  const std::string name_;
  const ModelInfo& model_;
  emulator::MacAddress mac_;
  bool on_workers_ = false;
  const std::unique_ptr<bar::DmaSpace> no_memory_ = std::make_unique<bar::DmaSpace>();
  std::unique_ptr<device::Device> idle_;    ///< Stepped without a host; in its power-on state.
  std::unique_ptr<device::Device> device_;  ///< The host's device; null without a host.
  std::unique_ptr<Wire> wire_;
  std::unique_ptr<Stepper> stepper_;
  std::unique_ptr<Runner> runner_;
  std::unique_ptr<Service> service_;
};

/// Returns the CPUs of EAL's control threads: those without an lcore, else the main lcore's.
cpu_set_t ControlCpus();

/// Returns one line for an exception of a model's constructor (memory or threads are exhausted) or
/// of a wire's library. Must be called in a handler of std::exception.
std::string WhyNotStarted();

}  // namespace sluice::emulator
