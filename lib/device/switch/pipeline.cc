// SPDX-License-Identifier: BSD-3-Clause
#include "device/switch/pipeline.h"

#include <cassert>

#include "base/counter_rows.h"

namespace sluice::device::pcie_switch {
namespace {

struct StageLayout {
  Stage id;
  Match match;
  uint32_t keys;
  std::array<Field, 3> key;
};
constexpr std::array<StageLayout, kStageCount> kLayouts = {{
    {Stage::kWindow, Match::kExact, 1, {Field::kWindow}},
    {Stage::kSelect, Match::kExact, 2, {Field::kStream, Field::kNode}},
    {Stage::kPolicy, Match::kMasked, 3, {Field::kStream, Field::kNode, Field::kSelected}},
    {Stage::kHealth, Match::kExact, 2, {Field::kStream, Field::kTarget}},
    {Stage::kRoute, Match::kExact, 2, {Field::kStream, Field::kTarget}},
    {Stage::kAccess, Match::kExact, 1, {Field::kPort}},
}};
static_assert(base::InOrder(kLayouts));

}  // namespace

Pipeline::Pipeline(const PipelineShape& shape, uint32_t registers)
    : shape_(shape), registers_(registers) {
  assert(shape.stages >= kStageCount && shape.hertz != 0);
  for (uint32_t i = 0; i < kStageCount; ++i)
    tables_.emplace_back(kLayouts[i].match, shape.capacity[i]);
}

bool Pipeline::Run(Stage stage, Fields& fields) {
  const StageLayout& layout = kLayouts[static_cast<uint32_t>(stage)];
  Key key{};
  for (uint32_t i = 0; i < layout.keys; ++i) key[i] = fields[layout.key[i]];
  const Action* const action = table(stage).Find(key);
  if (action == nullptr) return false;
  Execute(*action, fields, registers_);
  return true;
}

}  // namespace sluice::device::pcie_switch
