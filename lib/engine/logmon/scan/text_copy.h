// SPDX-License-Identifier: BSD-3-Clause
//
// What must be done with every byte of text before Hyperscan sees it, in one pass: counting and
// adding up cost little while the bytes come from far.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::engine::logmon {

struct CopiedText {
  uint64_t line_ends = 0;  ///< LF, CR LF and CR.
  uint64_t sum = 0;        ///< Of 16-bit words, as packet::SumBytes; equal to it modulo 0xffff, and
                           ///< 0 only where that is 0.
};

/// Copies `text` to `to`, which does not overlap it.
CopiedText CopyText(std::string_view text, char* to);

}  // namespace sluice::engine::logmon
