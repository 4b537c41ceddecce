// SPDX-License-Identifier: BSD-3-Clause
//
// Matches the lines of messages against regular expressions and the other patterns of CloudWatch
// Logs, using the log monitor's engine.
#pragma once

#include <cstdint>

#include "../executor.h"

namespace sluice::chain_app {

/// A message is text: lines that end with LF, CR LF or CR; the last line may be unterminated. The
/// stage sets the first word of the message's key to the number of matching lines. It sets bit i of
/// the second word if pattern i matches a line, for i from 0 to 31.
extern const StageKind kRegexStage;

/// Values of a command.
inline constexpr uint32_t kRegexSelect = 1;  ///< The result: the matching lines, each with LF.
inline constexpr uint32_t kRegexMark = 2;    ///< The result is the unchanged message.

/// Indices into StageKind::refusals.
enum class RegexRefusal : uint8_t {
  kTooLong,  ///< Longer than the output buffer.
  kBadCommand,
};

}  // namespace sluice::chain_app
