// SPDX-License-Identifier: BSD-3-Clause
//
// The match-action pipeline: a fixed sequence of stages, each of which is a table. The first three
// stages process a message once; then the message is copied for each target, and the last three
// stages process every copy.
//
//   window   {window}                  exact    the sender, and whether it may write there
//   select   {stream, node}            exact    the policy's input: a key, a hash, a counter
//   policy   {stream, node, selected}  masked   the nodes that get the message
//   health   {stream, target}          exact    another node, or none, if the target is dead
//   route    {stream, target}          exact    the port of the node
//   access   {port}                    exact    a mask of the ports that may write to it
//
// All stages have the same latency, so a pipeline delays each TLP by exactly stages x cycles.
// Stages after these six do nothing.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "device/switch/table.h"

namespace sluice::device::pcie_switch {

enum class Stage : uint8_t { kWindow, kSelect, kPolicy, kHealth, kRoute, kAccess };
inline constexpr uint32_t kStageCount = 6;

/// Parameters of a pipeline.
struct PipelineShape {
  uint32_t stages = 10;  ///< At least kStageCount. 10 x 10 cycles at 3 GHz are 33.3 ns.
  uint32_t cycles_per_stage = 10;
  uint64_t hertz = 3'000'000'000;
  /// Number of entries in each table.
  std::array<uint32_t, kStageCount> capacity{256, 256, 1024, 256, 256, kMaxAccess};

  static constexpr uint32_t kMaxAccess = 16;  ///< One entry per port.

  uint64_t cycles() const { return uint64_t{stages} * cycles_per_stage; }
  /// Returns the delay of a TLP, rounded to the nearest picosecond.
  uint64_t latency_ps() const { return (cycles() * 1'000'000'000'000 + hertz / 2) / hertz; }
};

/// The stages with their tables and registers. Used by one thread.
class Pipeline {
 public:
  /// `registers` is the number of counters available to instructions.
  Pipeline(const PipelineShape& shape, uint32_t registers);

  /// Runs the action of the entry that matches. Returns false if none does.
  bool Run(Stage stage, Fields& fields);

  Table& table(Stage stage) { return tables_[static_cast<uint32_t>(stage)]; }
  const Table& table(Stage stage) const { return tables_[static_cast<uint32_t>(stage)]; }
  const PipelineShape& shape() const { return shape_; }
  const std::vector<uint64_t>& registers() const { return registers_; }

 private:
  PipelineShape shape_;
  std::vector<Table> tables_;
  std::vector<uint64_t> registers_;
};

}  // namespace sluice::device::pcie_switch
