// SPDX-License-Identifier: BSD-3-Clause
//
// What a NIC model is to whoever runs it: a step function without threads and
// without a clock of its own. lib/emulator steps it in real time; a test gives it any
// time it likes. Calls are per burst, never per packet.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sluice::device {

/// A frame as it passes the MAC: Ethernet header to payload, no FCS.
struct WireFrame {
  const uint8_t* data;
  uint32_t length;
};

/// Where a device's transmitted frames go. The bytes are valid during the call.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  virtual void Deliver(std::span<const WireFrame> frames) = 0;
};

/// Where a device's interrupts go, by number (regs/vectors.h). Called by the stepping thread; never
/// waits.
class InterruptSink {
 public:
  virtual ~InterruptSink() = default;
  virtual void Raise(uint32_t vector) = 0;
};

/// One named counter of a device: every frame that it does not pass on is in one.
struct Counter {
  std::string_view name;  ///< Static storage; snake_case, used as an xstats suffix.
  uint64_t value;
};

/// The counter of frames that reached the host's memory: what of them neither comes back nor ends
/// under a name in the host is lost. A device without it is taken to let every frame reach the
/// host.
inline constexpr std::string_view kReceivedCounter = "rx_frames";

/// A NIC model. Used by one thread at a time.
class Device {
 public:
  virtual ~Device() = default;

  /// Register accesses as they arrive at the BAR; `bytes` is 1, 2, 4 or 8.
  /// Reads beyond the decoded region yield all ones; what stores there do is the
  /// device's own affair.
  virtual void WriteRegister(uint32_t offset, uint32_t bytes, uint64_t value) = 0;
  virtual uint64_t ReadRegister(uint32_t offset, uint32_t bytes) = 0;

  /// Sets the model's clock; never goes back. Drives timestamps, rate limits and
  /// whatever the hardware derives from time.
  virtual void SetTime(uint64_t now_ns) = 0;

  /// Where interrupts go from now on; null: nowhere. `sink` outlives its use. A device without
  /// interrupts has none to send.
  virtual void SetInterrupts(InterruptSink* sink) { static_cast<void>(sink); }

  /// The address that its maker gave it, first octet first, and whether the wire has a carrier, for
  /// registers that tell them.
  virtual void SetPermanentAddress(std::span<const uint8_t, 6> address) {
    static_cast<void>(address);
  }
  virtual void SetCarrier(bool up) { static_cast<void>(up); }

  /// Whether the device may reach the host's memory, as a PCI function its bus's master; it may at
  /// first. While it may not, Receive and Transmit are not called, and a store of a register writes
  /// no memory: what it would write is lost.
  virtual void SetMastering(bool on) { static_cast<void>(on); }

  /// Memory was taken away from the host memory that the device may reach: it asks again for what
  /// it found there before, and counts what it misses. What is left lies where it did.
  virtual void MemoryTaken() {}

  /// Frames from the wire, in order. Each is delivered to the host or counted as
  /// dropped. With `pause` (loss-free flow control) the device stops before the
  /// first frame that has no room, or while it does not receive at all, instead of
  /// dropping it. Returns frames taken.
  virtual uint32_t Receive(std::span<const WireFrame> frames, bool pause) = 0;

  /// Does pending work towards the wire: descriptor fetch, payload reads,
  /// completions; hands at most about `budget` frames to `sink` in bursts.
  /// Returns frames handed over; 0 when there is nothing to do.
  virtual uint32_t Transmit(FrameSink& sink, uint32_t budget) = 0;

  /// The host's process is gone: what it held is counted, and none of its memory is touched. Only
  /// Counters follows.
  virtual void HostDied() {}

  /// All counters, always in the same order. Values may be read only by the
  /// stepping thread.
  virtual std::span<const Counter> Counters() = 0;
};

}  // namespace sluice::device
