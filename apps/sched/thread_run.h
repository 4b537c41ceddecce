// SPDX-License-Identifier: BSD-3-Clause
//
// A run of sluice-sched whose agent schedules threads of the kernel (--host=sched_ext).
#pragma once

#include "host/run_flags.h"
#include "sched_ext/thread_choice.h"
#include "sched_ext/thread_kernel.h"
#include "sleeping_agent.h"

namespace sluice::sched {

struct ThreadRunOptions {
  sched_ext::ThreadChoice choice;
  sched_ext::ThreadKernelOptions kernel;
  SleepingAgentOptions agent;
};

/// Runs until a signal, until the time of `run` is over, or until the kernel ends the scheduler.
/// Prints lines and totals. Returns the exit code. Throws std::system_error.
int RunThreads(const ThreadRunOptions& options, const host::RunSettings& run);

}  // namespace sluice::sched
