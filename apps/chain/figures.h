// SPDX-License-Identifier: BSD-3-Clause
//
// Statistics of a run at one moment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/switch/spec.h"
#include "engine/workload/histogram.h"
#include "ledger.h"
#include "mediator.h"
#include "stage_host.h"
#include "switch_runner.h"

namespace sluice::chain_app {

struct Figures {
  double seconds = 0;
  Endings endings;
  /// Time in ns from a message's start at the NIC to its right answer at the NIC.
  engine::workload::Histogram latency;
  std::vector<StageFigures> stages;
  device::pcie_switch::Drops drops{};
  Operations root;     ///< TLPs at the CPU's port.
  Operations devices;  ///< TLPs at all other ports.
  // The host's work on messages, excluding the setup of chains.
  MediatorCounters cpu;                  ///< Includes the polls for chains that end at the host.
  uint64_t busy_cycles = 0;              ///< TSC cycles spent in the steps that found work.
  uint64_t cpu_ns = 0;                   ///< CPU time of the thread that does this work.
  std::optional<uint64_t> instructions;  ///< User-mode instructions of this thread.
  /// Answers that arrived through a chain that their message had not entered; no flow counts them.
  uint64_t foreign = 0;
  uint64_t restarts = 0;
  std::vector<std::string> down;  ///< Stages that could not be restarted, and why.
  uint64_t reloads = 0;

  /// Returns the number of messages that have not ended yet (ledger.h).
  uint64_t missing() const { return endings.sent - endings.ended(); }
  double PerMessage(uint64_t count) const {
    return endings.sent == 0 ? 0 : static_cast<double>(count) / static_cast<double>(endings.sent);
  }
};

}  // namespace sluice::chain_app
