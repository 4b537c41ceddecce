// SPDX-License-Identifier: BSD-3-Clause
//
// Metrics of VIPs and backends for --metrics: sluice_maglev_….
#pragma once

#include "control.h"
#include "fleet.h"
#include "runtime/metric_values.h"

namespace sluice::maglev {

/// May be called by any thread while workers run.
void AddMetrics(const Control& control, const Fleet& fleet, runtime::MetricFamilies& families);

}  // namespace sluice::maglev
