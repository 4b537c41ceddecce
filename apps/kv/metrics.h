// SPDX-License-Identifier: BSD-3-Clause
//
// Metrics of the store for --metrics: sluice_kv_….
#pragma once

#include "engine/kv/access.h"
#include "live_snapshots.h"
#include "runtime/metric_values.h"

namespace sluice::kv {

/// May be called by any thread while workers run.
void AddMetrics(const engine::kv::Store& store, const LiveSnapshots& snapshots,
                runtime::MetricFamilies& families);

}  // namespace sluice::kv
