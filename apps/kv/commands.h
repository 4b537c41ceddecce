// SPDX-License-Identifier: BSD-3-Clause
//
// Telemetry commands of a running server: /sluice/kv/….
#pragma once

#include <vector>

#include "engine/kv/access.h"
#include "live_snapshots.h"
#include "runtime/hooks.h"
#include "workers.h"

namespace sluice::kv {

/// Returns commands that keep references to all arguments except `sizes`, which is copied. `sizes`
/// applies to each partition.
std::vector<runtime::TelemetryCommand> Commands(const Workers& workers,
                                                const engine::kv::Store& store,
                                                const engine::kv::PartitionOptions& sizes,
                                                LiveSnapshots& snapshots);

}  // namespace sluice::kv
