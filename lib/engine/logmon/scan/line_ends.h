// SPDX-License-Identifier: BSD-3-Clause
//
// Where lines end: with LF, CR LF or CR.
#pragma once

#include <cstdint>

namespace sluice::engine::logmon {

/// The first CR or LF in [at, end); `end` if there is none.
const char* FindLineEnd(const char* at, const char* end);

/// Behind the last CR or LF in [begin, end); `begin` if there is none.
const char* BehindLastLineEnd(const char* begin, const char* end);

/// Behind the line end that begins at `line_end`, which lies before `end`.
inline const char* BehindLineEnd(const char* line_end, const char* end) {
  const bool two = *line_end == '\r' && end - line_end > 1 && line_end[1] == '\n';
  return line_end + (two ? 2 : 1);
}

}  // namespace sluice::engine::logmon
