// SPDX-License-Identifier: BSD-3-Clause
#include "workload.h"

#include <cmath>

namespace sluice::sched {
namespace {

constexpr double kMaxRate = 1e8;
constexpr double kMaxServiceUs = kMaxServiceNs / 1e3;

bool IsShare(double value) { return value >= 0 && value <= 1; }
bool IsService(double value) { return value >= 0 && value <= kMaxServiceUs; }

}  // namespace

double Load(const WorkloadOptions& options) {
  return options.rate * 1e-6 *
         (options.long_share * options.long_us + (1 - options.long_share) * options.short_us);
}

std::string WhatIsWrong(const WorkloadOptions& options) {
  if (!(options.rate > 0 && options.rate <= kMaxRate))
    return "rate: give more than 0, at most 100000000";
  if (!IsService(options.short_us)) return "short_us: give 0 ... 1000000";
  if (!IsService(options.long_us)) return "long_us: give 0 ... 1000000";
  if (!IsShare(options.long_share)) return "long_share: give 0 ... 1";
  if (!IsShare(options.runaway_share)) return "runaway_share: give 0 ... 1";
  return "";
}

}  // namespace sluice::sched
