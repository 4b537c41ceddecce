// SPDX-License-Identifier: BSD-3-Clause
//
// Makes reports of closed epochs: merges those of all workers, estimates, and compares with the
// epoch before. One thread's, the readers'; allocates as it likes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "engine/telemetry/epoch_report.h"
#include "engine/telemetry/setup.h"

namespace sluice::engine::telemetry {

class Epoch;

class Analyst {
 public:
  /// `setup` is that of the meters, `cycles_per_second` that of their clock. Throws
  /// std::bad_alloc.
  Analyst(const Setup& setup, uint64_t cycles_per_second);
  Analyst(const Analyst&) = delete;
  ~Analyst();

  /// The report of `epochs` (Meter::Closed, one of each worker, all of one time; none is
  /// nullptr), which can be released afterwards. Nothing if there are none, or if one was
  /// counted with another setup.
  std::optional<EpochReport> Report(std::span<const Epoch* const> epochs);
  /// What the last report is of: all workers' epochs, merged.
  const Epoch& merged() const { return *previous_; }

 private:
  const uint64_t cycles_per_second_;
  std::unique_ptr<Epoch> current_;
  std::unique_ptr<Epoch> previous_;  ///< The last that was reported; of no workers: none was.
};

}  // namespace sluice::engine::telemetry
