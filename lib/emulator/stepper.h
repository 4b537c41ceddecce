// SPDX-License-Identifier: BSD-3-Clause
//
// Executes one device model and its wire step by step, without a thread or a clock. The runner
// calls it in real time; tests call it with simulated times.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bar/posted_queue.h"
#include "device/device.h"
#include "emulator/wire.h"

namespace sluice::emulator {

/// A device model with its wire. Used by one thread at a time. The wire must outlive the stepper;
/// the queue and the device must stay valid until the next Connect or until destruction.
class Stepper final : public device::FrameSink {
 public:
  /// If `pause` is set, frames for which the device or the wire has no room wait at their sender;
  /// otherwise the receiver drops and counts them.
  Stepper(bar::PostedQueue* queue, device::Device& device, Wire& wire, bool pause);

  /// Continues with another host (or none, if `queue` is null) and a device of the same model in
  /// its power-on state. Counters of the old device remain in the sums. Frames that the old device
  /// had accepted but its host has not returned are counted as abandoned.
  void Connect(bar::PostedQueue* queue, device::Device& device);

  /// Sets the receiver of the device's interrupts. CarrierChanged also raises kPortVector in this
  /// sink. Null discards all interrupts, and is the setting after Connect.
  void SetInterrupts(device::InterruptSink* sink);
  /// Reports the wire's carrier to the device and its host.
  void CarrierChanged(bool up);
  /// Sets whether the device may start transfers. If not, it only answers register accesses.
  /// Enabled after Connect.
  void SetMastering(bool on);
  /// Returns whether the device is unused: no host is attached, or the host does not allow
  /// transfers. The host may still read registers.
  bool AtRest() const { return queue_ == nullptr || !mastering_; }

  /// Handles register accesses, then a burst from the wire, then frames to send. `now_ns` must not
  /// decrease. Returns false if there was no work.
  bool Step(uint64_t now_ns);

  /// Switches the wire's source on or off. Takes effect in the next step. Initially off.
  void EnableWire(bool enabled, uint64_t now_ns);
  bool LinkUp(uint64_t now_ns) { return wire_.LinkUp(now_ns); }

  /// Return the names and the values of all counters, both in the same constant order.
  std::vector<std::string> Names();
  void Read(std::vector<uint64_t>& values);

  /// Passes frames from the device to the wire. Called by the device within Step.
  void Deliver(std::span<const device::WireFrame> frames) override;

 private:
  /// Maximum number of frames offered at once, enough for full batches on the host's core.
  static constexpr uint32_t kBurst = 256;
  /// Maximum number of register accesses per host thread in one step.
  static constexpr uint32_t kRegisterBudget = 256;

  template <typename Emit>
  void Visit(Emit&& emit);
  /// Returns the value of the counter wire_lost; see Visit.
  uint64_t Lost() const;
  uint64_t Outstanding() const;
  /// Returns the number of frames that reached a host.
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
  uint64_t taken_ = 0;          ///< Frames that the device accepted, including dropped ones.
  std::vector<uint64_t> base_;  ///< Sums of the previous devices' counters.
  uint64_t abandoned_ = 0;      ///< Frames that hosts had not returned when they were disconnected.
  uint64_t returned_ = 0;
  uint64_t returned_bytes_ = 0;
};

}  // namespace sluice::emulator
