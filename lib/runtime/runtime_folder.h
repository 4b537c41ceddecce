// SPDX-License-Identifier: BSD-3-Clause
//
// What EAL leaves of a run: a folder of some megabytes below DPDK's runtime folder, named as the
// file prefix, and with some memory options files in hugetlbfs. EAL removes them at the next run
// with the same prefix; ours holds the process id, so that run never comes. Control path.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice::runtime {

/// Of this process: "sluice-<app>-<pid>".
std::string FilePrefix(std::string_view app, int pid);
/// True for what FilePrefix makes.
bool IsOurPrefix(std::string_view name);

/// To be called once EAL has started: removes what dead runs left, see SweepRuns. `own` is this
/// process's file prefix, which may be one that is not ours.
void SweepDeadRuns(const std::string& own);
/// To be called last, after rte_eal_cleanup: removes what this run leaves, if `own` is ours.
void RemoveOwnRun(const std::string& own);

/// All folders of this machine where hugetlbfs is mounted.
std::vector<std::string> HugepageFolders();

/// Removes the folder of a run that has ended, `folder`/`prefix`, and its files
/// `prefix`map_… in `hugepages`. It must be this process's own, after rte_eal_cleanup.
void RemoveRun(const std::string& folder, const std::string& prefix,
               const std::vector<std::string>& hugepages);

/// Does the same for all runs below `folder` that have our prefix and user, but `own`, and are
/// dead: nobody has a lock on a file of theirs, as EAL has on its own for life, or answers at a
/// socket. Process ids say nothing: they are given again, and another container has its own.
/// A run younger than `fresh_s` seconds may be about to take its locks, which on a loaded machine
/// takes a while, and is left alone.
void SweepRuns(const std::string& folder, const std::string& own,
               const std::vector<std::string>& hugepages, int fresh_s = 600);

}  // namespace sluice::runtime
