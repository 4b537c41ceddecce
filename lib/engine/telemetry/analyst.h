// SPDX-License-Identifier: BSD-3-Clause
//
// Computes the report of an epoch that all workers have closed: merges the workers' counters,
// estimates flows, and compares them with the previous epoch. Used by the reader's thread only; may
// allocate.
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
  /// `setup` is the setup of the meters, and `cycles_per_second` is the frequency of their clock.
  /// Throws std::bad_alloc.
  Analyst(const Setup& setup, uint64_t cycles_per_second);
  Analyst(const Analyst&) = delete;
  ~Analyst();

  /// Returns the report of one epoch. `epochs` contains the pointer that Meter::Closed returned for
  /// each worker; none may be null. The epochs may be released after the call. Returns nullopt if
  /// `epochs` is empty, or if the setup of any epoch differs from the analyst's.
  std::optional<EpochReport> Report(std::span<const Epoch* const> epochs);
  /// Returns the merged epochs of the last report.
  const Epoch& merged() const { return *previous_; }

 private:
  const uint64_t cycles_per_second_;
  std::unique_ptr<Epoch> current_;
  /// The epoch reported last; `workers` is 0 before the first report.
  std::unique_ptr<Epoch> previous_;
};

}  // namespace sluice::engine::telemetry
