// SPDX-License-Identifier: BSD-3-Clause
//
// Finds and counts line ends: LF, CR LF or CR.
#pragma once

#include <cstdint>

namespace sluice::engine::logmon {

/// Returns the first CR or LF in [at, end), or `end` if there is none.
const char* FindLineEnd(const char* at, const char* end);

/// Returns the address after the last CR or LF in [begin, end), or `begin` if there is none.
const char* AfterLastLineEnd(const char* begin, const char* end);

/// Returns the number of line ends in [begin, end). A CR as the last byte counts.
uint64_t CountLineEnds(const char* begin, const char* end);

/// Returns the address after the line end at `line_end`, which is before `end`.
inline const char* AfterLineEnd(const char* line_end, const char* end) {
  const bool two = *line_end == '\r' && end - line_end > 1 && line_end[1] == '\n';
  return line_end + (two ? 2 : 1);
}

}  // namespace sluice::engine::logmon
