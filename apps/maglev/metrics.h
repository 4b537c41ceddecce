// SPDX-License-Identifier: BSD-3-Clause
//
// What --metrics serves of VIPs and backends: sluice_maglev_….
#pragma once

#include "control.h"
#include "fleet.h"
#include "runtime/metric_values.h"

namespace sluice::maglev {

/// Any thread, while workers work.
void AddMetrics(const Control& control, const Fleet& fleet, runtime::MetricFamilies& families);

}  // namespace sluice::maglev
