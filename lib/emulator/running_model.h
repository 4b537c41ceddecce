// SPDX-License-Identifier: BSD-3-Clause
//
// A device model with its wire, stepped in real time: everything but its host, which is
// in this process (attach.cc) or in another one (server.h).
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

/// Runs from Create to destruction. One controlling thread, which may be any; const
/// methods, Statistics and EnableWire: any thread.
class RunningModel final : public HostedModel {
 public:
  /// Starts without a host, the wire's source off. `name` is unique in the process.
  /// Null, with one line in `error` that names the argument and the fix, if `arguments`
  /// ask for what there is not.
  static std::unique_ptr<RunningModel> Create(std::string_view name, const ModelInfo& model,
                                              Arguments arguments, const MacAddress& mac,
                                              std::string* error);
  ~RunningModel() override;

  bool Connect(const SettingValues& settings, const bar::DmaSpace& dma, bar::PostedQueue* queue,
               std::string* error) override;
  void SetInterrupts(device::InterruptSink* sink) override;
  void SetMastering(bool on) override;
  void TakeMemory(const std::function<void()>& change) override;
  void Disconnect(bool died) override;
  /// A step, where workers step the model.
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
  std::unique_ptr<device::Device> idle_;    ///< Stepped while there is no host: as at power-on.
  std::unique_ptr<device::Device> device_;  ///< The host's; null: none.
  std::unique_ptr<Wire> wire_;
  std::unique_ptr<Stepper> stepper_;
  std::unique_ptr<Runner> runner_;
  std::unique_ptr<Service> service_;
};

/// The CPUs of EAL's control threads: those without an lcore, else the main lcore's.
cpu_set_t ControlCpus();

/// One line for what a constructor of the model throws for want of memory or threads, or a wire's
/// library for reasons of its own; to be called in a handler of std::exception.
std::string WhyNotStarted();

}  // namespace sluice::emulator
