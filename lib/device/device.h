// SPDX-License-Identifier: BSD-3-Clause
//
// Interface of a NIC model. A model has neither threads nor a clock: lib/emulator steps it in real
// time; tests can set any time. The data path is called per burst, never per packet.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/counter_rows.h"

namespace sluice::device {

/// A frame without FCS: from the Ethernet header to the end of the payload.
struct WireFrame {
  const uint8_t* data;
  uint32_t length;
};

/// Receives the frames that a device transmits. The bytes are valid only during the call.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  virtual void Deliver(std::span<const WireFrame> frames) = 0;
};

/// Receives a device's interrupts by number (regs/vectors.h). The stepping thread calls Raise,
/// which must not block.
class InterruptSink {
 public:
  virtual ~InterruptSink() = default;
  virtual void Raise(uint32_t vector) = 0;
};

/// A named counter of a device. Each frame that the device does not forward is counted in one of
/// its counters.
struct Counter {
  std::string_view name;  ///< Static storage; snake_case, used as an xstats suffix.
  uint64_t value;
};

/// Returns the counters of a table, each with value 0.
template <typename Id, size_t kCount>
constexpr std::array<Counter, kCount> ZeroCounters(
    const std::array<base::CounterRow<Id>, kCount>& rows) {
  std::array<Counter, kCount> counters{};
  for (size_t i = 0; i < kCount; ++i) counters[i].name = rows[i].name;
  return counters;
}

/// Name of the counter for frames that reached host memory. If the host neither returns a frame
/// counted here nor counts it as dropped, the frame is lost. If a device lacks the counter, all
/// frames that it accepted are assumed to have reached the host.
inline constexpr std::string_view kReceivedCounter = "rx_frames";

/// A NIC model. Only one thread uses it at a time.
class Device {
 public:
  virtual ~Device() = default;

  /// Handle register accesses as they arrive at the BAR; `bytes` is 1, 2, 4 or 8. Reads beyond the
  /// decoded region return all ones; each device defines the effect of stores beyond it.
  virtual void WriteRegister(uint32_t offset, uint32_t bytes, uint64_t value) = 0;
  virtual uint64_t ReadRegister(uint32_t offset, uint32_t bytes) = 0;

  /// Sets the model's clock, which never decreases. It drives timestamps, rate limits and
  /// everything else that the hardware bases on time.
  virtual void SetTime(uint64_t now_ns) = 0;

  /// Sets the receiver of interrupts; null discards them. `sink` must remain valid while it is set.
  /// Devices without interrupts ignore the call.
  virtual void SetInterrupts(InterruptSink* sink) { static_cast<void>(sink); }

  /// Set the permanent MAC address (first octet first) and the wire's carrier state, for devices
  /// whose registers report these.
  virtual void SetPermanentAddress(std::span<const uint8_t, 6> address) {
    static_cast<void>(address);
  }
  virtual void SetCarrier(bool up) { static_cast<void>(up); }

  /// Sets whether the device may access host memory (bus mastering of a PCI function); initially
  /// enabled. While it is disabled, Receive and Transmit are not called, and writes to host memory
  /// caused by register stores are discarded.
  virtual void SetMastering(bool on) { static_cast<void>(on); }

  /// Called after the host has removed part of its DMA memory; the rest keeps its addresses. The
  /// device must translate all its bus addresses again. Accesses to removed memory count as faults.
  virtual void MemoryTaken() {}

  /// Receives frames from the wire, in order. Each accepted frame is delivered to the host or
  /// counted as dropped. If `pause` is set (loss-free flow control), the device does not drop a
  /// frame because there is no room or receiving is off; it stops before that frame. Returns the
  /// number of frames accepted.
  virtual uint32_t Receive(std::span<const WireFrame> frames, bool pause) = 0;

  /// Does pending transmit work: descriptor fetches, payload reads, completions. Delivers about
  /// `budget` frames at most to `sink`, in bursts. Returns the number of frames delivered; some
  /// devices also include the frames that they dropped. Returns 0 if there is nothing to do.
  virtual uint32_t Transmit(FrameSink& sink, uint32_t budget) = 0;

  /// Called when the host's process has died. Counts the frames that the device still holds for the
  /// host, without accessing the host's memory, and delivers the last frames that the device sends
  /// to `sink`. Afterwards only Counters may be called.
  virtual void HostDied(FrameSink& sink) { static_cast<void>(sink); }

  /// Returns all counters, always in the same order. Only the stepping thread may read the values.
  virtual std::span<const Counter> Counters() = 0;
};

}  // namespace sluice::device
