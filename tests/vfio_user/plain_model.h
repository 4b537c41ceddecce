// SPDX-License-Identifier: BSD-3-Clause
//
// A model with a loopback wire. A thread steps the model, without EAL.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "emulator/hosted_model.h"
#include "emulator/loopback.h"
#include "emulator/model.h"
#include "emulator/runner.h"
#include "emulator/stepper.h"

namespace sluice::emulator::vfio_user::test {

class PlainModel final : public HostedModel {
 public:
  explicit PlainModel(const ModelInfo& info) : info_(info) {
    std::string error;
    idle_ = info.make({}, *no_memory_, &error);
    stepper_ = std::make_unique<Stepper>(nullptr, *idle_, wire_, true);
    RunnerOptions options;
    options.thread_name = "plain-model";
    options.tsc_hz = 1'000'000'000;
    runner_ = std::make_unique<Runner>(*stepper_, std::move(options));
  }

  bool Connect(const SettingValues& settings, const bar::DmaSpace& dma, bar::PostedQueue* queue,
               std::string* error) override {
    std::unique_ptr<device::Device> device = info_.make(settings, dma, error);
    if (device == nullptr) return false;
    const Runner::Hold hold(*runner_);
    stepper_->Connect(queue, *device);
    device_ = std::move(device);
    return true;
  }
  void SetInterrupts(device::InterruptSink* sink) override {
    const Runner::Hold hold(*runner_);
    stepper_->SetInterrupts(sink);
  }
  void SetMastering(bool on) override {
    const Runner::Hold hold(*runner_);
    stepper_->SetMastering(on);
  }
  void ChangeMemory(const std::function<void()>& change) override {
    const Runner::Hold hold(*runner_);
    change();
    if (device_ != nullptr) device_->MemoryTaken();
  }
  void Disconnect(bool died) override {
    const Runner::Hold hold(*runner_);
    stepper_->SetInterrupts(nullptr);
    if (died && device_ != nullptr) device_->HostDied(*stepper_);
    stepper_->Connect(nullptr, *idle_);
    device_.reset();
  }
  std::vector<Statistic> Statistics() override { return {}; }
  bool WireUp() const override { return true; }
  void EnableWire(bool enabled) override { runner_->EnableWire(enabled); }
  const std::array<uint8_t, 6>& mac() const override { return mac_; }

 private:
  const ModelInfo& info_;
  const std::array<uint8_t, 6> mac_ = {2, 0, 0, 0, 0, 1};
  const std::unique_ptr<bar::DmaSpace> no_memory_ = std::make_unique<bar::DmaSpace>();
  std::unique_ptr<device::Device> idle_;
  std::unique_ptr<device::Device> device_;
  LoopbackWire wire_;
  std::unique_ptr<Stepper> stepper_;
  std::unique_ptr<Runner> runner_;
};

}  // namespace sluice::emulator::vfio_user::test
