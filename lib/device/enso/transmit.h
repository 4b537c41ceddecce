// SPDX-License-Identifier: BSD-3-Clause
//
// The transmit path (docs/enso-hardware.md, "Transmitting"): the contents of data slots are read
// into the framer, and all slots, whether data or configuration, are completed in order.
#pragma once

#include <cstdint>

#include "device/device.h"
#include "device/enso/clocked.h"
#include "device/enso/counters.h"
#include "device/enso/descriptor_fetch.h"
#include "device/enso/framer.h"
#include "device/enso/register_file.h"
#include "device/enso/write_port.h"

namespace sluice::device::enso {

/// The parts of the NIC that the Transmitter uses. All must outlive it.
struct TransmitParts {
  RegisterFile& registers;
  DescriptorFetcher& fetcher;
  Framer& framer;
  RateLimiter& limiter;
  const Clock& clock;
  WritePort& port;
  Tally& tally;
};

class Transmitter {
 public:
  explicit Transmitter(const TransmitParts& parts) : parts_(parts) {}

  /// See EnsoNic::Transmit.
  uint32_t Transmit(FrameSink& sink, uint32_t budget);

 private:
  static constexpr uint32_t kNoNb = regs::enso::kMaxNotificationBuffers;
  /// Distance in lines from the line that is read to the line that is prefetched. It must hide the
  /// latency of the first lines of a large frame, which are slow to fetch because software has just
  /// written them.
  static constexpr uint32_t kFlitsAhead = 128;

  enum class Progress : uint8_t { kSlotDone, kMoreToRead, kHeld };

  Progress Advance(const Descriptor& slot, uint64_t until, FrameSink& sink);
  void Complete(const Descriptor& slot);

  TransmitParts parts_;
  uint32_t offset_ = 0;  ///< Bytes of the front slot's data that have been read.
  uint32_t last_nb_ = kNoNb;
  uint32_t last_slot_ = 0;  ///< Slot of the last completion.
  bool halted_ = false;     ///< A zero length or an oversize frame has stopped transmission
                            ///< permanently.
};

}  // namespace sluice::device::enso
