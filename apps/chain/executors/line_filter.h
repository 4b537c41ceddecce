// SPDX-License-Identifier: BSD-3-Clause
//
// Regular expressions and the other patterns of CloudWatch Logs on the lines of messages, by the
// log monitor's engine.
#pragma once

#include <cstdint>

#include "../executor.h"

namespace sluice::chain_app {

/// A message is text: lines that end with LF, CR LF or CR, the last one also without. The first
/// word of its key becomes the number of lines that match; the second has a bit for each of the
/// first 32 patterns that one matches.
extern const StageKind kRegexStage;

/// Commands.
inline constexpr uint32_t kRegexSelect = 1;  ///< The result is the lines that match, with LF.
inline constexpr uint32_t kRegexMark = 2;    ///< The result is the message.

/// StageKind::refusals, by number.
enum class RegexRefusal : uint8_t {
  kTooLong,  ///< For the room of the result.
  kBadCommand,
};

}  // namespace sluice::chain_app
