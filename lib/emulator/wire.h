// SPDX-License-Identifier: BSD-3-Clause
//
// The wire of a model NIC: a source of frames for the device and a destination for the frames that
// the device sends. Only the stepping thread calls it, once per burst and never per frame.
#pragma once

#include <cstdint>
#include <span>

#include "device/device.h"

namespace sluice::emulator {

/// Ethernet minimum without FCS, to which a MAC pads shorter frames.
inline constexpr uint32_t kMinFrameBytes = 60;

/// Returns `from` - `amount`, or 0 if the difference is negative, which can happen because the two
/// counters are not read at the same time.
constexpr uint64_t Less(uint64_t from, uint64_t amount) {
  return from > amount ? from - amount : 0;
}

/// Counters of a wire's traffic. A wire that is not a source (loopback, port, cable) counts only
/// `offered`.
struct WireTotals {
  uint64_t offered = 0;     ///< Frames that the source put on the wire.
  uint64_t recognised = 0;  ///< Returned frames that match a sent frame; each is counted once.
  uint64_t gaps = 0;        ///< Frames still missing after a later frame of their flow returned.
  uint64_t corrupted = 0;   ///< Returned frames that were not sent in this form.
  uint64_t foreign = 0;     ///< Returned frames from a run before a restart of the device.
  uint64_t duplicated = 0;  ///< Returned frames that had returned before.
  uint64_t reordered = 0;   ///< Frames that returned after a later frame of their flow.
  uint64_t late = 0;        ///< Returned frames older than the window: reordered or duplicated.
  uint64_t verified = 0;    ///< Returned frames compared byte by byte.
  uint64_t skipped = 0;     ///< Capture records that the wire cannot carry.
};

class Recording;

/// The wire of one NIC. Frames keep their order. All times are nanoseconds of the stepping thread's
/// clock, which never decreases.
class Wire {
 public:
  virtual ~Wire() = default;

  /// Called when the source is switched on: pacing begins at `now_ns`. Frames that were pulled but
  /// not consumed are offered again.
  virtual void Start(uint64_t now_ns) { static_cast<void>(now_ns); }

  /// Returns the next frames for the device, at most `max`. The wire owns them; they are valid
  /// until the next Pull. Frames for which Consumed is not called are returned again.
  virtual std::span<const device::WireFrame> Pull(uint64_t now_ns, uint32_t max) = 0;
  /// Called when the device has accepted the first `count` frames of the last Pull.
  virtual void Consumed(uint32_t count) = 0;

  /// Accepts frames that the device sent; their bytes are valid only during the call.
  virtual void Deliver(uint64_t now_ns, std::span<const device::WireFrame> frames) = 0;

  /// Returns false while delivered frames wait for room. With loss-free flow control, the device
  /// must not send during this time.
  virtual bool Ready() { return true; }

  /// Returns whether the link has carrier at `now_ns`.
  virtual bool LinkUp(uint64_t now_ns) {
    static_cast<void>(now_ns);
    return true;
  }

  /// Returns true if the wire is a source of frames that must return.
  virtual bool IsSource() const { return false; }
  virtual const WireTotals& totals() const = 0;
  /// Returns the counters that are reported in addition to the totals. Names and order are
  /// constant.
  virtual std::span<const device::Counter> Counters() { return {}; }

  /// Returns the wire's traffic as a recording (recording.h), which the wire owns; null if the
  /// traffic depends on the answers. After Record, the wire must not be used for anything else.
  virtual Recording* recording() { return nullptr; }
};

}  // namespace sluice::emulator
