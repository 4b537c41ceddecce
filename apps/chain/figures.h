// SPDX-License-Identifier: BSD-3-Clause
//
// What is known of a run at one moment.
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
  engine::workload::Histogram latency;  ///< ns, from the NIC to the NIC.
  std::vector<StageFigures> stages;
  device::pcie_switch::Drops drops{};
  Operations root;     ///< At the CPU's port.
  Operations devices;  ///< At all others.
  // The host's part in messages; setting chains up is not in it.
  MediatorCounters cpu;                  ///< Polls of chains that end at the host, too.
  uint64_t busy_cycles = 0;              ///< TSC cycles of its steps that found something.
  uint64_t cpu_ns = 0;                   ///< Of the thread that does it.
  std::optional<uint64_t> instructions;  ///< Of the same, in user mode.
  /// Answers that came by a chain which had not been given the message: nobody's.
  uint64_t foreign = 0;
  uint64_t restarts = 0;
  std::vector<std::string> down;  ///< Stages that could not be started again, and why.
  uint64_t reloads = 0;

  /// Messages that have no ending yet.
  uint64_t missing() const { return endings.sent - endings.ended(); }
  double PerMessage(uint64_t count) const {
    return endings.sent == 0 ? 0 : static_cast<double>(count) / static_cast<double>(endings.sent);
  }
};

}  // namespace sluice::chain_app
