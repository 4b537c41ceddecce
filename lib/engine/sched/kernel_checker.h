// SPDX-License-Identifier: BSD-3-Clause
//
// The invariants of the host's mechanism, for tests and simulations.
#pragma once

#include "engine/sched/kernel.h"

namespace sluice::engine::sched {

/// The first of these that does not hold, or null (looks at everything): a task is on at most one
/// CPU, and both say so; a latched task waits, on one CPU's latch alone; nobody dead or departed is
/// on a CPU, latched or waiting; a CPU that agents may not use, or that a task's affinity excludes,
/// has no such task; every waiting task is in the order of waiting exactly once, by time;
/// live_tasks() counts right.
const char* Violation(const Kernel& kernel);

}  // namespace sluice::engine::sched
