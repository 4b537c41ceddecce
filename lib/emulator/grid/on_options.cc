// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/grid/on_options.h"

#include "device/grid/wire_state.h"
#include "emulator/options.h"

namespace sluice::emulator {

bool OnOptions::Read(std::string_view text, std::string* error) {
  constexpr uint32_t kMostBlocks = 64;
  const auto [where, options] = Cut(text, ':');
  if (where == "cpu" && options.empty()) return true;
  if (where == "gpu") {
    kind = Kind::kGpu;
    roles = {12, 16, 16};
  } else if (where == "threads") {
    kind = Kind::kThreads;
  } else {
    return Refuse("on", text, "use cpu, gpu:OPTIONS or threads:OPTIONS", error);
  }
  std::string wrong;
  const bool read = ReadOptions(
      options,
      [&](std::string_view key, std::string_view value) {
        if (key == "index") return kind == Kind::kGpu && ReadNumber(value, 0, 63, &index);
        if (key == "threads") {
          return kind == Kind::kThreads && ReadNumber(value, 1, kMostBlocks, &threads);
        }
        if (key == "receivers") return ReadNumber(value, 1, kMostBlocks, &roles.receivers);
        if (key == "senders") return ReadNumber(value, 1, kMostBlocks, &roles.senders);
        if (key == "exchangers") return ReadNumber(value, 1, kMostBlocks, &roles.exchangers);
        return key == "batch" && ReadNumber(value, 1, device::grid::kBatchFrames, &batch);
      },
      &wrong);
  return read || Refuse("on", text, wrong, error);
}

}  // namespace sluice::emulator
