// SPDX-License-Identifier: BSD-3-Clause
//
// Wire traffic that is known before the run. A model on a card (grid/) sends it from card memory,
// and this process checks a sample of the frames that return.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"
#include "emulator/verify.h"
#include "emulator/wire.h"

namespace sluice::emulator {

/// Used by one thread at a time.
class Recording {
 public:
  virtual ~Recording() = default;

  /// Builds the frames. Called once, before the other methods. On failure, returns false and sets
  /// `error` to a one-line message.
  virtual bool Record(std::string* error) = 0;
  /// Returns the frames, in the order in which they are sent. The frames from number repeat_from()
  /// on are repeated.
  virtual std::span<const device::WireFrame> frames() const = 0;
  virtual uint32_t repeat_from() const { return 0; }
  /// Returns the rate in packets per second; 0 means as fast as the device accepts frames.
  virtual double rate_pps() const = 0;
  /// Returns the number of frames to send; 0 means unlimited.
  virtual uint64_t limit() const = 0;

  /// Returns the fraction of the returned frames that are passed to Check, provided that the
  /// process keeps up.
  virtual VerifyMode share() const = 0;
  /// Checks a returned frame.
  virtual void Check(const device::WireFrame& frame) = 0;
  /// Returns the results of the checks (verified, corrupted) and the number of skipped records. The
  /// other members are 0.
  virtual const WireTotals& totals() const = 0;
  /// Returns the statistics of a run in which `offered` frames were sent and `returned` frames came
  /// back. The names and their order are constant.
  virtual std::vector<device::Counter> Statistics(uint64_t offered, uint64_t returned) const = 0;
};

}  // namespace sluice::emulator
