// SPDX-License-Identifier: BSD-3-Clause
//
// Tests arbitrary messages, commands, states and buffer sizes from a hostile peer: every message
// has an outcome, and nothing is written outside its output buffer.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "all.h"
#include "encrypted_images.h"
#include "engine/workload/random.h"
#include "stage.h"

namespace sluice::chain_app {
namespace {

using engine::workload::Random;

/// Returns a random message, or one of the `honest` messages, truncated and with some bytes
/// changed.
Stage::Message Hostile(Random& random, const std::vector<Bytes>& honest) {
  Stage::Message message;
  if (!honest.empty() && random.Below(2) == 0) {
    message.input = honest[random.Below(honest.size())];
    for (uint64_t changes = random.Below(3); changes > 0 && !message.input.empty(); --changes)
      message.input[random.Below(message.input.size())] = static_cast<uint8_t>(random.Next());
    if (random.Below(3) == 0) message.input.resize(random.Below(message.input.size() + 1));
  } else {
    message.input.resize(random.Below(random.Below(2) == 0 ? 40 : 900));
    for (uint8_t& byte : message.input) byte = static_cast<uint8_t>(random.Next());
  }
  message.command = static_cast<uint32_t>(random.Below(8) == 0 ? random.Next() : random.Below(4));
  for (uint8_t& byte : message.state) byte = static_cast<uint8_t>(random.Next());
  message.room = random.Below(random.Below(2) == 0 ? 64 : Stage::kMaxMessage);
  return message;
}

TEST(Hostile, EveryMessageHasAnOutcomeInItsRoom) {
  const std::string patterns = testing::TempDir() + "hostile-patterns-" + std::to_string(getpid());
  std::ofstream(patterns) << "a\n%^[0-9]+$%\n";
  const std::pair<const char*, std::string> options[] = {
      {"aes_gcm", std::string("key0=") + kExampleKey}, {"regex", "file=" + patterns}};
  Random random(19);
  for (const StageKind* kind : BuiltInStages()) {
    SCOPED_TRACE(kind->name);
    const auto own = std::ranges::find(options, std::string_view(kind->name),
                                       [](const auto& one) { return std::string_view(one.first); });
    Stage stage(*kind, own == std::end(options) ? "" : own->second);
    if (!stage.made()) {
      EXPECT_NE(stage.error().find("is not in this build"), std::string::npos) << stage.error();
      continue;
    }
    std::vector<Bytes> honest(1, Bytes(784, 9));
    for (uint64_t count = 0; count < 40; ++count) {
      Stage::Message message{.input = Bytes(count * 7, 'a'),
                             .command = 1 + static_cast<uint32_t>(count % 2)};
      message.state[0] = static_cast<uint8_t>(count);
      const Ended ended = stage.Run(message);
      if (ended.how == "done") honest.push_back(ended.result);
    }
    for (int round = 0; round < 200; ++round) {
      std::vector<Stage::Message> batch(1 + random.Below(kMaxBatch));
      for (Stage::Message& message : batch) message = Hostile(random, honest);
      for (const Ended& ended : stage.Run(batch)) {
        EXPECT_NE(ended.how, "without a name");
        EXPECT_NE(ended.how, "failed");
      }
    }
  }
  unlink(patterns.c_str());
}

}  // namespace
}  // namespace sluice::chain_app
