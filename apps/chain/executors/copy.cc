// SPDX-License-Identifier: BSD-3-Clause
//
// The smallest stage: it copies the message to the result.
#include "copy.h"

#include <algorithm>

namespace sluice::chain_app {
namespace {

class Copy final : public Executor {
  void Run(std::span<Work> batch) override {
    for (Work& work : batch) {
      if (work.input.size() > work.output.size()) {
        work.outcome = Outcome::kRefused;
        continue;
      }
      std::ranges::copy(work.input, work.output.begin());
      work.length = static_cast<uint32_t>(work.input.size());
      work.outcome = Outcome::kDone;
    }
  }
};

}  // namespace

const StageKind kCopyStage = {
    .name = "copy",
    .what = "returns every message as it is",
    .make = [](const StageOptions&, std::string*) -> std::unique_ptr<Executor> {
      return std::make_unique<Copy>();
    },
    .refusals = {"too_long"}};

}  // namespace sluice::chain_app
