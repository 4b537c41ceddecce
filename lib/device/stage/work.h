// SPDX-License-Identifier: BSD-3-Clause
//
// A task for an accelerator, independent of the interface: an input, a command and a state produce
// a result. The executor knows nothing about the switch or descriptors.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace sluice::device::stage {

/// Result of a message at a stage.
enum class Outcome : uint8_t {
  kDone,     ///< The result is sent on.
  kRefused,  ///< The message is invalid, e.g. a forged tag or a malformed image. It is counted and
             ///< dropped.
  kFailed,   ///< The executor failed: it had no memory, or a library reported an error. The message
             ///< is counted and dropped.
};

/// A message for a stage, and its result.
struct Work {
  // Input; valid until Run returns.
  std::span<const uint8_t> input;
  std::span<uint8_t> output;  ///< Room for the result. Never overlaps an input. May be empty.
  uint32_t command = 0;       ///< Function to run, from the policy graph's node.
  /// State from the policy graph's node. With "state_rule": "count", its first 8 bytes are a
  /// little-endian number that is incremented for each message to the node.
  std::array<uint8_t, 32> state{};

  // Set by the executor.
  /// Key that later nodes' policies can match. Initially the key of the previous stage (streaming
  /// interface) or 0 (legacy interface, whose record transmits only the first word).
  std::array<uint32_t, 2> key{};
  uint32_t length = 0;  ///< Length of the result in bytes if kDone; at most output.size().
  Outcome outcome = Outcome::kFailed;
  uint8_t refusal = 0;  ///< Reason if kRefused; below kMaxRefusals.
};

/// Maximum number of messages per call of Run.
inline constexpr uint32_t kMaxBatch = 32;
/// Maximum number of refusal reasons for each kind of stage.
inline constexpr uint32_t kMaxRefusals = 8;

/// Executes an accelerator's work. There is one executor per stage; used by one thread at a time.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Processes 1 to kMaxBatch independent messages, and returns once each has an outcome. Must not
  /// throw. The inputs and states come from a peer and may have any value.
  virtual void Run(std::span<Work> batch) = 0;
};

}  // namespace sluice::device::stage
