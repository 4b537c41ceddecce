// SPDX-License-Identifier: BSD-3-Clause
//
// A device model with its wire, stepped in real time. Its host is in this process (attach.cc) or in
// another process (server.h).
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
#include "emulator/stepper.h"
#include "emulator/wire.h"

namespace sluice::emulator {

/// Offers a runner as a DPDK service. If the application has given EAL service lcores (-s, -S), one
/// of them steps the model once EAL has started them. With device_cpu=worker, the application's
/// lcores step it between their polls through rte_service_run_iter_on_app_lcore.
class Service {
 public:
  /// Registers `runner`, which must outlive the service, as "model_" and the first 24 characters of
  /// `name`. `workers` means that the application's lcores will call the service. If there are no
  /// service lcores and `workers` is not set, the object has no effect, and the runner keeps its
  /// thread.
  Service(std::string_view name, Runner& runner, bool workers);
  /// Waits until no lcore steps the runner.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

 private:
  bool registered_ = false;
  uint32_t id_ = 0;
};

/// Runs from Create to destruction. Any thread may control the model, but only one at a time. Const
/// methods, Statistics and EnableWire may be called by any thread.
class RunningModel final : public HostedModel {
 public:
  /// Starts without a host and with the wire's source off. `name` must be unique within the
  /// process. If `arguments` cannot be satisfied, returns null and sets `error` to a one-line
  /// message that names the argument and the fix.
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
  std::unique_ptr<device::Device> idle_;    ///< Stepped while there is no host; in its power-on
                                            ///< state.
  std::unique_ptr<device::Device> device_;  ///< The host's device; null while there is no host.
  std::unique_ptr<Wire> wire_;
  std::unique_ptr<Stepper> stepper_;
  std::unique_ptr<Runner> runner_;
  std::unique_ptr<Service> service_;
};

/// Returns the CPUs of EAL's control threads: those without an lcore, or the main lcore's if there
/// are none.
cpu_set_t ControlCpus();

/// Returns a one-line message for an exception from a model's constructor (memory or threads are
/// exhausted) or from a wire's library. Must be called in a handler of std::exception.
std::string WhyNotStarted();

}  // namespace sluice::emulator
