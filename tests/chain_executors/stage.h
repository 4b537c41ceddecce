// SPDX-License-Identifier: BSD-3-Clause
//
// Runs messages through a stage in a test and collects their outcomes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "executor.h"

namespace sluice::chain_app {

using Bytes = std::vector<uint8_t>;

inline Bytes FromHex(std::string_view digits) {
  Bytes bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes.push_back(static_cast<uint8_t>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16)));
  return bytes;
}
inline Bytes FromText(std::string_view text) { return {text.begin(), text.end()}; }

/// Outcome of a message.
struct Ended {
  std::string how;  ///< "done", "failed", or the name of the refusal.
  Bytes result;     ///< Output of a "done" message.
  Bytes room;       ///< The complete output buffer.
  std::array<uint32_t, 2> key{};
};

class Stage {
 public:
  static constexpr uint32_t kMaxMessage = 4096;

  Stage(const StageKind& kind, const std::string& options) : kind_(kind) {
    executor_ = kind.make({options, kMaxMessage}, &error_);
  }
  bool made() const { return executor_ != nullptr; }
  const std::string& error() const { return error_; }

  struct Message {
    Bytes input;
    uint32_t command = 0;
    std::array<uint8_t, 32> state{};
    size_t room = kMaxMessage;
  };
  /// Runs the messages as one batch. Each input and output has its exact size on the heap, so that
  /// sanitizers detect overruns.
  std::vector<Ended> Run(const std::vector<Message>& messages) {
    std::vector<std::unique_ptr<uint8_t[]>> memory;
    std::vector<Work> batch;
    for (const Message& message : messages) {
      uint8_t* const input = memory.emplace_back(new uint8_t[message.input.size()]).get();
      std::copy(message.input.begin(), message.input.end(), input);
      uint8_t* const output = memory.emplace_back(new uint8_t[message.room]).get();
      std::fill_n(output, message.room, uint8_t{0xee});
      batch.push_back({.input = {input, message.input.size()},
                       .output = {output, message.room},
                       .command = message.command,
                       .state = message.state});
    }
    executor_->Run(batch);
    std::vector<Ended> ended;
    for (const Work& work : batch) {
      Ended& one = ended.emplace_back();
      one.room.assign(work.output.begin(), work.output.end());
      one.key = work.key;
      if (work.outcome == Outcome::kDone) {
        one.how = "done";
        EXPECT_LE(work.length, work.output.size());
        one.result.assign(work.output.begin(), work.output.begin() + work.length);
      } else if (work.outcome == Outcome::kFailed) {
        one.how = "failed";
      } else {
        const char* const name = kind_.refusals[work.refusal];
        one.how = name == nullptr ? "without a name" : name;
      }
    }
    return ended;
  }
  Ended Run(const Message& message) { return Run(std::vector<Message>{message}).front(); }

 private:
  const StageKind& kind_;
  std::string error_;
  std::unique_ptr<Executor> executor_;
};

}  // namespace sluice::chain_app
