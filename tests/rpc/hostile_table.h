// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <span>

#include "packet/fixtures.h"
#include "rpc/marshal.h"
#include "rpc/table.h"
#include "rpc/unmarshal.h"

namespace sluice::test {

/// Modifies a copy of `table` according to `choices`. If the result is sound, reads the remaining
/// choices as a value of every type and writes each value again, in memory of the exact size.
/// Returns whether the table was sound.
inline bool UseTable(rpc::Table table, std::span<const uint8_t> choices) {
  const auto take = [&] {
    if (choices.empty()) return uint32_t{0};
    const uint32_t byte = choices[0];
    choices = choices.subspan(1);
    return byte;
  };
  for (uint32_t edits = 1 + take() % 3; edits != 0; --edits) {
    const uint32_t which = take() << 8 | take();
    const uint32_t field = take();
    const auto value = static_cast<uint32_t>(static_cast<int8_t>(take()));
    if (field % 4 == 0) {
      rpc::Type& type = table.types[which % table.types.size()];
      uint32_t* const fields[] = {&type.first_step, &type.bytes, &type.wire_bytes, &type.words};
      *fields[field / 4 % 4] = value;
    } else if (field % 4 == 1) {
      rpc::Arm& arm = table.arms[which % table.arms.size()];
      (field / 4 % 2 == 0 ? arm.value : arm.type) = value;
    } else {
      rpc::Step& step = table.steps[which % table.steps.size()];
      if (field % 4 == 2) step.kind = static_cast<rpc::StepKind>(value % 14);
      uint32_t* const fields[] = {&step.at, &step.count, &step.type, &step.at};
      if (field % 4 == 3) *fields[field / 4 % 4] = value;
    }
  }
  if (!table.IsSound()) return false;
  const ExactBuffer wire(choices), memory(Bytes(512)), again(Bytes(256));
  for (uint32_t type = 0; type < table.types.size(); ++type) {
    const auto read = rpc::Unmarshal(table, type, wire.data(), wire.size(),
                                     {.memory = memory.data(), .bytes = memory.size(), .base = 8});
    // Marshals the memory even if reading failed.
    static_cast<void>(read);
    static_cast<void>(rpc::Marshal(table, type,
                                   rpc::Source::Prepared(memory.data(), memory.size(), 8),
                                   again.data(), again.size()));
  }
  return true;
}

}  // namespace sluice::test
