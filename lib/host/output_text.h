// SPDX-License-Identifier: BSD-3-Clause
//
// Writes a program's reports to a file or to standard output. Used on the control path only.
#pragma once

#include <cstdio>
#include <string>

namespace sluice::host {

/// Replaces the file's contents with `text`; "-" is standard output. Returns false unless all of it
/// was written.
bool WriteText(const std::string& path, const std::string& text);

/// Returns whether a line can be written without blocking. A pipe that is not read or a stopped
/// terminal blocks the writer, which then cannot react to signals.
bool TakesText(std::FILE* file);

}  // namespace sluice::host
