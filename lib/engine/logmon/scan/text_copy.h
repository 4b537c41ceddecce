// SPDX-License-Identifier: BSD-3-Clause
//
// Makes one pass over all text before Hyperscan scans it: copies the text, counts its line ends and
// computes its sum. Counting and summing cost little while the bytes are loaded from memory.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::engine::logmon {

struct CopiedText {
  uint64_t line_ends = 0;  ///< LF, CR LF and CR.
  /// Sum of the 16-bit words, congruent to packet::SumBytes modulo 0xffff; 0 only if SumBytes
  /// returns 0.
  uint64_t sum = 0;
};

/// Copies `text` to `to`, which must not overlap it.
CopiedText CopyText(std::string_view text, char* to);

}  // namespace sluice::engine::logmon
