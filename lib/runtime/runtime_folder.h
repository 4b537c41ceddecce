// SPDX-License-Identifier: BSD-3-Clause
//
// Removes the files that EAL does not remove at the end of a run: a folder of some megabytes in
// DPDK's runtime folder, which has the name of the file prefix, and (with some memory options)
// files in hugetlbfs. EAL removes them only in the next run with the same prefix, but Sluice's
// prefix contains the process id and therefore changes with every run. Used on the control path
// only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice::runtime {

/// Returns the file prefix of this process: "sluice-<app>-<pid>".
std::string FilePrefix(std::string_view app, int pid);
/// Returns whether FilePrefix could have returned this name.
bool IsOurPrefix(std::string_view name);

/// Removes the files of dead runs (SweepRuns). Call it after EAL has started. `own` is this
/// process's file prefix, which the user may have chosen.
void SweepDeadRuns(const std::string& own);
/// Removes the files of this run if FilePrefix created `own`. Call it last, after rte_eal_cleanup.
void RemoveOwnRun(const std::string& own);

/// Returns all folders on this machine where hugetlbfs is mounted.
std::vector<std::string> HugepageFolders();

/// Removes the folder of an ended run, `folder`/`prefix`, and its files `prefix`map_… in
/// `hugepages`. The run must belong to this process, after rte_eal_cleanup.
void RemoveRun(const std::string& folder, const std::string& prefix,
               const std::vector<std::string>& hugepages);

/// Removes all dead runs below `folder` that have Sluice's prefix and belong to this user, except
/// `own`. Removes their folders, and their files in `hugepages` unless a process has locked the
/// file. A run is dead if no process holds a lock on any of its files, as EAL does while it runs,
/// and no process answers at any of its sockets. Process ids are not used, because they are reused
/// and differ between containers. A run younger than `fresh_s` seconds is skipped, because on a
/// loaded machine it may not have acquired its locks yet.
void SweepRuns(const std::string& folder, const std::string& own,
               const std::vector<std::string>& hugepages, int fresh_s = 600);

}  // namespace sluice::runtime
