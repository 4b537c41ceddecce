// SPDX-License-Identifier: BSD-3-Clause
//
// Checks the invariants of the host's mechanism, for tests and simulations.
#pragma once

#include "engine/sched/kernel.h"

namespace sluice::engine::sched {

/// Returns the first violated invariant, or null; checks all state. A task is on at most one CPU,
/// and the task and the CPU name each other. A latched task waits and is latched to only one CPU,
/// which must schedule. No dead or departed task is on a CPU, latched or waiting. No task is on or
/// latched to an unavailable CPU or a CPU outside the task's affinity. Every waiting task is in the
/// waiting list exactly once, sorted by time. live_tasks() is correct.
const char* Violation(const Kernel& kernel);

}  // namespace sluice::engine::sched
