// SPDX-License-Identifier: BSD-3-Clause
//
// What stands behind a model NIC: a source of frames towards the device and a
// destination for what the device sends. Called by the stepping thread alone, per
// burst and never per frame.
#pragma once

#include <cstdint>
#include <span>

#include "device/device.h"

namespace sluice::emulator {

/// The Ethernet minimum without FCS: what a MAC pads shorter frames to.
inline constexpr uint32_t kMinFrameBytes = 60;

/// The difference of two counters that are read one after the other; 0 where it is negative.
constexpr uint64_t Less(uint64_t from, uint64_t amount) {
  return from > amount ? from - amount : 0;
}

/// What a wire knows about its own traffic. A wire that is no source (loopback,
/// port, cable) counts `offered` alone.
struct WireTotals {
  uint64_t offered = 0;     ///< Frames that the source put on the wire.
  uint64_t recognised = 0;  ///< Returned frames that were sent and had not returned before.
  uint64_t gaps = 0;        ///< Frames overtaken by later ones of their flow and still missing.
  uint64_t corrupted = 0;   ///< Returned frames that nobody sent in this form.
  uint64_t foreign = 0;     ///< Returned frames of another run, before a restart of the device.
  uint64_t duplicated = 0;  ///< Returned frames that had returned before.
  uint64_t reordered = 0;   ///< Returned behind a later frame of their flow.
  uint64_t late = 0;        ///< Older than the window: reordered or duplicated, unknown which.
  uint64_t verified = 0;    ///< Returned frames compared in full.
  uint64_t skipped = 0;     ///< Capture records that no wire can carry.
};

/// Frames travel in order. All times are nanoseconds of the stepping thread's
/// clock, which never goes back.
class Wire {
 public:
  virtual ~Wire() = default;

  /// The source was switched on: pacing begins at `now_ns`. Frames that were
  /// pulled and not consumed before are offered again.
  virtual void Start(uint64_t now_ns) { static_cast<void>(now_ns); }

  /// The next frames for the device, at most `max`. They stay the wire's and are
  /// valid until the next Pull; without Consumed the same frames come again.
  virtual std::span<const device::WireFrame> Pull(uint64_t now_ns, uint32_t max) = 0;
  /// The first `count` frames of the last Pull were taken by the device.
  virtual void Consumed(uint32_t count) = 0;

  /// Frames that the device sent; the bytes are valid during the call.
  virtual void Deliver(uint64_t now_ns, std::span<const device::WireFrame> frames) = 0;

  /// False while frames that were delivered wait for room: with loss-free flow control the device
  /// sends nothing then.
  virtual bool Ready() { return true; }

  /// Carrier at `now_ns`.
  virtual bool LinkUp(uint64_t now_ns) {
    static_cast<void>(now_ns);
    return true;
  }

  /// True if the frames come from a source whose frames are expected back.
  virtual bool IsSource() const { return false; }
  virtual const WireTotals& totals() const = 0;
  /// Counters beyond the totals; always the same names in the same order.
  virtual std::span<const device::Counter> Counters() { return {}; }
};

}  // namespace sluice::emulator
