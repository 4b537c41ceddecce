// SPDX-License-Identifier: BSD-3-Clause
//
// What an accelerator is asked to do, whichever face asks: bytes, a command and a state in, a
// result out. Who executes it is handed in, and knows neither the switch nor descriptors.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace sluice::device::stage {

/// How a message ends at a stage.
enum class Outcome : uint8_t {
  kDone,     ///< The result goes on.
  kRefused,  ///< The message is at fault: a forged tag, a malformed image. It ends here, counted.
  kFailed,   ///< The executor is at fault: no memory, a library's error. It ends here, counted.
};

/// A message for a stage, and what became of it.
struct Work {
  // Given. Valid until Run returns.
  std::span<const uint8_t> input;
  std::span<uint8_t> output;  ///< Room for the result. Never overlaps an input. May be empty.
  uint32_t command = 0;       ///< Of the policy graph's node: which function to run.
  /// Of the policy graph's node; with "state_rule": "count" its first 8 bytes, little-endian, have
  /// counted the node's messages.
  std::array<uint8_t, 32> state{};

  // Set by the executor.
  /// What policies of nodes behind may look at. Given, too: as the stage before left it by the
  /// streaming face, 0 by the legacy one, whose record takes the first word alone.
  std::array<uint32_t, 2> key{};
  uint32_t length = 0;  ///< Bytes of the result, at most output.size(); of kDone.
  Outcome outcome = Outcome::kFailed;
  uint8_t refusal = 0;  ///< Of kRefused: a reason, below kMaxRefusals.
};

/// Most messages of one call of Run.
inline constexpr uint32_t kMaxBatch = 32;
/// Reasons to refuse that one kind of stage may tell apart.
inline constexpr uint32_t kMaxRefusals = 8;

/// One for each stage; one thread at a time.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Works on 1 to kMaxBatch messages, independent of each other, and returns when each has its
  /// outcome. Throws nothing. Bytes and states are whatever a peer sent.
  virtual void Run(std::span<Work> batch) = 0;
};

}  // namespace sluice::device::stage
