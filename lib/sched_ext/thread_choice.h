// SPDX-License-Identifier: BSD-3-Clause
//
// Chooses threads and moves them into the class SCHED_EXT and out of it. New threads and processes
// inherit the class from their creator.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sched_ext/thread_kernel.h"

namespace sluice::sched_ext {

/// Threads that satisfy one of the conditions that are set. Threads of this process are never
/// chosen.
struct ThreadChoice {
  ThreadId process = 0;  ///< All threads of this process; 0: not set.
  std::string cgroup;    ///< All threads in this folder of a mounted cgroup; empty: not set.
  std::string name;      ///< All threads of this name (comm); empty: not set.
};

/// Return one line with the fix if no thread can satisfy this condition: the process or cgroup does
/// not exist, or the name is too long. Empty otherwise, and if the condition is not set.
std::string ProcessFault(ThreadId process);
std::string CgroupFault(const std::string& cgroup);
std::string NameFault(const std::string& name);

/// Returns the chosen threads.
std::vector<ThreadId> Find(const ThreadChoice& choice);

/// Moves these threads from SCHED_OTHER into SCHED_EXT. Threads of other classes and threads that
/// have ended are skipped. Returns the number of moved threads, or -1 and sets errno if the caller
/// lacks permission.
int MoveIntoClass(std::span<const ThreadId> threads);
/// Moves these threads from SCHED_EXT into SCHED_OTHER. Returns the number of moved threads.
int MoveOutOfClass(std::span<const ThreadId> threads);

}  // namespace sluice::sched_ext
