// SPDX-License-Identifier: BSD-3-Clause
//
// Executes the configuration commands that software sends as TX slots
// (docs/enso-hardware.md, "Formats"). None reports failure.
#pragma once

#include "device/enso/clocked.h"
#include "device/enso/counters.h"
#include "device/enso/descriptor_fetch.h"
#include "device/enso/steering.h"

namespace sluice::device::enso {

class Configurator {
 public:
  Configurator(Steering& steering, Timestamper& timestamper, RateLimiter& limiter,
               const Clock& clock, Tally& tally)
      : steering_(steering), timestamper_(timestamper), limiter_(limiter), clock_(clock),
        tally_(tally) {}

  /// `slot` has signal kSignalConfig. An unknown command does nothing.
  void Apply(const Descriptor& slot);

 private:
  Steering& steering_;
  Timestamper& timestamper_;
  RateLimiter& limiter_;
  const Clock& clock_;
  Tally& tally_;
};

}  // namespace sluice::device::enso
