// SPDX-License-Identifier: BSD-3-Clause
//
// A wire, a fake device and the stepper between them, in test time.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "bar/posted_queue.h"
#include "emulator/stepper.h"
#include "emulator/wire.h"
#include "fake_device.h"

namespace sluice::emulator {

class Rig {
 public:
  explicit Rig(std::unique_ptr<Wire> wire, bool pause = true)
      : wire_(std::move(wire)), stepper_(queue_.get(), device, *wire_, pause) {}

  /// Steps `steps` times, `step_ns` apart.
  void Run(uint32_t steps, uint64_t step_ns = 1000) {
    for (uint32_t i = 0; i < steps; ++i) stepper_.Step(now_ns += step_ns);
  }
  /// Disables the source and waits for all frames to return.
  void StopAndDrain() {
    stepper_.EnableWire(false, now_ns);
    while (!device.held.empty()) stepper_.Step(++now_ns);
  }
  void Start() { stepper_.EnableWire(true, now_ns); }

  uint64_t operator[](const std::string& name) {
    std::vector<uint64_t> values;
    stepper_.Read(values);
    const std::vector<std::string> names = stepper_.Names();
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] == name) return values[i];
    }
    ADD_FAILURE() << "no counter " << name;
    return ~uint64_t{0};
  }

  Stepper& stepper() { return stepper_; }
  Wire& wire() { return *wire_; }
  bar::PostedQueue& queue() { return *queue_; }

  FakeDevice device;
  uint64_t now_ns = 0;

 private:
  std::unique_ptr<bar::PostedQueue> queue_ = std::make_unique<bar::PostedQueue>();
  std::unique_ptr<Wire> wire_;
  Stepper stepper_;
};

}  // namespace sluice::emulator
