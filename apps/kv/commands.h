// SPDX-License-Identifier: BSD-3-Clause
//
// What can be asked of a running server: /sluice/kv/… of telemetry.
#pragma once

#include <vector>

#include "engine/kv/access.h"
#include "live_snapshots.h"
#include "runtime/hooks.h"
#include "workers.h"

namespace sluice::kv {

/// They refer to all but `sizes`, which are of each partition.
std::vector<runtime::TelemetryCommand> Commands(const Workers& workers,
                                                const engine::kv::Store& store,
                                                const engine::kv::PartitionOptions& sizes,
                                                LiveSnapshots& snapshots);

}  // namespace sluice::kv
