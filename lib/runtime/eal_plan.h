// SPDX-License-Identifier: BSD-3-Clause
//
// How EAL is started: which CPUs, which memory, which device, given what the
// user said and what the machine has. Pure, so that it can be tested; Session
// carries it out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/command_line.h"

namespace sluice::runtime {

/// What the machine offers this process.
struct HostResources {
  std::vector<uint32_t> cpus;  ///< That it may run on, ascending; at least one.
  bool root = false;
  uint64_t free_hugepage_bytes = 0;

  static HostResources Read();
};

struct EalPlan {
  std::vector<std::string> arguments;  ///< For rte_eal_init, without the program's name.
  std::string memory;                  ///< What will be used, in words; empty: EAL decides.
  std::string embedded;                ///< Name of the model NIC's vdev; empty if there is none.
  std::string file_prefix;             ///< Of this process; empty if the user chose.
  std::string warning;                 ///< One line, or empty.
};

/// Memory that an embedded run needs at least to be given hugepages, in bytes.
inline constexpr uint64_t kWantedHugepageBytes = 256ull << 20;

/// Adds to the user's EAL arguments what they leave open. A file prefix of
/// this process, unless they name one or want no files. If they name no device: the embedded NIC
/// with its traffic, main on the first CPU and workers on the following ones, the NIC's own thread
/// on a CPU without a worker (main sleeps, so its CPU will do). If they name no physical device:
/// hugepages if enough are free and we may use them, else none.
EalPlan PlanEal(const CommandLine& line, const HostResources& host, int pid);

}  // namespace sluice::runtime
