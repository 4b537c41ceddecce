// SPDX-License-Identifier: BSD-3-Clause
//
// One device model and its wire, one step at a time, without thread or clock: the
// runner calls it in real time, tests call it with times of their own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bar/posted_queue.h"
#include "device/device.h"
#include "emulator/wire.h"

namespace sluice::emulator {

/// Used by one thread at a time. Queue, device and wire outlive it, or Connect.
class Stepper final : public device::FrameSink {
 public:
  /// `pause`: the device takes what it has room for and the rest waits on the
  /// wire, and what the wire has no room for waits in the device; without it both drop and count
  /// what they have no room for.
  Stepper(bar::PostedQueue* queue, device::Device& device, Wire& wire, bool pause);

  /// Goes on with another host (null: none) and a device of the same model in its
  /// power-on state. Counters of the old device stay in what is read; frames that it
  /// had taken for the old host will not return and count as abandoned.
  void Connect(bar::PostedQueue* queue, device::Device& device);

  /// Where the device's interrupts go, and kPortVector from CarrierChanged; null: nowhere, as after
  /// Connect.
  void SetInterrupts(device::InterruptSink* sink);
  /// Tells the device and its host of the wire's carrier.
  void CarrierChanged(bool up);
  /// Whether the device does more than answer registers; it does after Connect.
  void SetMastering(bool on);
  /// Nobody uses the device: no host is there, or none that lets it move anything. Registers may
  /// be asked for.
  bool AtRest() const { return queue_ == nullptr || !mastering_; }

  /// Register accesses, then a burst from the wire, then whatever is to be sent.
  /// `now_ns` never goes back. Returns false if there was nothing to do.
  bool Step(uint64_t now_ns);

  /// Switches the wire's source, from the next step on. Off at first.
  void EnableWire(bool enabled, uint64_t now_ns);
  bool LinkUp(uint64_t now_ns) { return wire_.LinkUp(now_ns); }

  /// Names and values of all counters, in the same constant order.
  std::vector<std::string> Names();
  void Read(std::vector<uint64_t>& values);

  /// Called by the device within Step.
  void Deliver(std::span<const device::WireFrame> frames) override;

 private:
  /// Frames offered at once: a burst that lets the host's core see full batches.
  static constexpr uint32_t kBurst = 256;
  /// Register accesses of each host thread handled in a step.
  static constexpr uint32_t kRegisterBudget = 256;

  template <typename Emit>
  void Visit(Emit&& emit);
  /// See wire_lost in Visit.
  uint64_t Lost() const;
  uint64_t Outstanding() const;
  /// Frames that reached a host.
  uint64_t Accepted() const;

  bar::PostedQueue* queue_;
  device::Device* device_;
  device::InterruptSink* interrupts_ = nullptr;
  Wire& wire_;
  const bool pause_;
  bool mastering_ = true;
  bool carrier_ = true;
  bool enabled_ = false;
  uint64_t now_ns_ = 0;
  uint64_t taken_ = 0;          ///< Frames that the device took, dropped ones included.
  std::vector<uint64_t> base_;  ///< Counters of the devices before this one.
  uint64_t abandoned_ = 0;      ///< Frames that a host held when it left.
  uint64_t returned_ = 0;
  uint64_t returned_bytes_ = 0;
};

}  // namespace sluice::emulator
