// SPDX-License-Identifier: BSD-3-Clause
//
// Chooses EAL's CPUs, memory and device from the user's arguments and the machine's resources. The
// code is pure, so that tests can run it without EAL. Session starts EAL with the plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/command_line.h"

namespace sluice::runtime {

/// Resources of the machine that this process may use.
struct HostResources {
  std::vector<uint32_t> cpus;  ///< CPUs that the process may run on, ascending; at least one.
  bool root = false;
  bool hugetlbfs = false;  ///< Whether hugetlbfs, in which EAL finds hugepages, is mounted.
  uint64_t free_hugepage_bytes = 0;

  static HostResources Read();
};

struct EalPlan {
  std::vector<std::string> arguments;  ///< Arguments for rte_eal_init, without the program name.
  std::string memory;                  ///< Description of the memory; empty if EAL decides.
  std::string embedded;                ///< Name of the model NIC's vdev; empty if the run has none.
  std::string file_prefix;  ///< File prefix of this process; empty if the user chose one.
  std::string warning;      ///< A one-line warning, or empty.
};

/// Minimum free hugepage memory in bytes for an embedded run to use hugepages.
inline constexpr uint64_t kWantedHugepageBytes = 256ull << 20;

/// Adds defaults to the user's EAL arguments:
/// - A file prefix for this process, unless the user names one or wants no files.
/// - If the user names no device: the embedded NIC with its traffic. Unless the user maps lcores,
///   main runs on the first CPU and workers on the following ones. The NIC's thread runs on a CPU
///   without a worker, if the process has more than one CPU; it may share main's CPU, because main
///   sleeps.
/// - If the user names neither a physical device nor a memory option: hugepages if enough are free
///   and the process may use them, otherwise memory without hugepages.
EalPlan PlanEal(const CommandLine& line, const HostResources& host, int pid);

}  // namespace sluice::runtime
