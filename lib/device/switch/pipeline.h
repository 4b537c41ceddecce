// SPDX-License-Identifier: BSD-3-Clause
//
// The match-action pipeline: stages in a fixed order, each a table. Three of them see a message
// once; then it is copied for each of its targets, and three more see every copy.
//
//   window   {window}                  exact    who writes there, and is it allowed to
//   select   {stream, node}            exact    what the policy looks at: a key, a hash, a counter
//   policy   {stream, node, selected}  masked   which nodes get the message
//   health   {stream, target}          exact    another node, or none, for one that is dead
//   route    {stream, target}          exact    the port of the node
//   access   {port}                    exact    a mask of the ports that may write to it
//
// Every stage takes the same number of cycles, whatever it does, so a pipeline delays each TLP by
// stages x cycles and never by anything else. Stages beyond these six have nothing to do.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "device/switch/table.h"

namespace sluice::device::pcie_switch {

enum class Stage : uint8_t { kWindow, kSelect, kPolicy, kHealth, kRoute, kAccess };
inline constexpr uint32_t kStageCount = 6;

/// What a pipeline is built with.
struct PipelineShape {
  uint32_t stages = 10;  ///< At least kStageCount; 10 x 10 cycles at 3 GHz are 33.3 ns.
  uint32_t cycles_per_stage = 10;
  uint64_t hertz = 3'000'000'000;
  /// Entries of each table.
  std::array<uint32_t, kStageCount> capacity{256, 256, 1024, 256, 256, kMaxAccess};

  static constexpr uint32_t kMaxAccess = 16;  ///< A port each.

  uint64_t cycles() const { return uint64_t{stages} * cycles_per_stage; }
  /// What a TLP is delayed by, rounded to the nearest picosecond.
  uint64_t latency_ps() const { return (cycles() * 1'000'000'000'000 + hertz / 2) / hertz; }
};

/// One thread.
class Pipeline {
 public:
  /// `registers`: how many counters instructions may name.
  Pipeline(const PipelineShape& shape, uint32_t registers);

  /// Matches a stage and runs what matched. False: nothing did.
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
