// SPDX-License-Identifier: BSD-3-Clause
#include "host/run_flags.h"

#include <gflags/gflags.h>

#include "host/argument_faults.h"
#include "host/flag_text.h"

DECLARE_double(duration_s);
DECLARE_double(stats_period_s);
DECLARE_string(json);

namespace sluice::host {

std::string RunFlagsComplaint() {
  constexpr double kLongestS = 1e7;
  const auto within = [](double value) { return value >= 0 && value <= kLongestS; };
  if (!within(FLAGS_duration_s))
    return FlagComplaint("duration_s", "give seconds, or 0 for an endless run");
  const std::string period = PeriodFault(FLAGS_stats_period_s);
  if (!period.empty() || !within(FLAGS_stats_period_s))
    return FlagComplaint("stats_period_s", period.empty() ? "give seconds, or 0 for none" : period);
  const std::string fault = OutputFault(FLAGS_json);
  return fault.empty() ? "" : FlagComplaint("json", fault);
}

RunSettings ReadRunFlags() { return {FLAGS_duration_s, FLAGS_stats_period_s, FLAGS_json}; }

}  // namespace sluice::host
