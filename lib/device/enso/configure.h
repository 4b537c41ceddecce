// SPDX-License-Identifier: BSD-3-Clause
//
// Executes the configuration commands that software sends as TX slots (docs/enso-hardware.md,
// "Formats"). No command reports failure.
#pragma once

#include <array>
#include <cstdint>

#include "device/enso/clocked.h"
#include "device/enso/counters.h"
#include "device/enso/steering.h"

namespace sluice::device::enso {

/// The words of a configuration slot: word 0 is the signal, word 1 the command, and the fields
/// begin at word 2. No format has fields after word 4.
using ConfigWords = std::array<uint64_t, 5>;

class Configurator {
 public:
  Configurator(Steering& steering, Timestamper& timestamper, RateLimiter& limiter,
               const Clock& clock, Tally& tally)
      : steering_(steering),
        timestamper_(timestamper),
        limiter_(limiter),
        clock_(clock),
        tally_(tally) {}

  /// Executes a command; called when its slot is fetched. Ignores unknown commands.
  void Apply(const ConfigWords& slot);

 private:
  Steering& steering_;
  Timestamper& timestamper_;
  RateLimiter& limiter_;
  const Clock& clock_;
  Tally& tally_;
};

}  // namespace sluice::device::enso
