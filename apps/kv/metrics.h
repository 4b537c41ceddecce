// SPDX-License-Identifier: BSD-3-Clause
//
// What --metrics serves of the store: sluice_kv_….
#pragma once

#include "engine/kv/access.h"
#include "live_snapshots.h"
#include "runtime/metric_values.h"

namespace sluice::kv {

/// Any thread, while workers work.
void AddMetrics(const engine::kv::Store& store, const LiveSnapshots& snapshots,
                runtime::MetricFamilies& families);

}  // namespace sluice::kv
