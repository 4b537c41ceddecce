// SPDX-License-Identifier: BSD-3-Clause
//
// Where a program's reports go: a file, or standard output. Control path.
#pragma once

#include <cstdio>
#include <string>

namespace sluice::runtime {

/// Replaces the file of that name by `text`; "-" is standard output. False: not all of it was
/// written.
bool WriteText(const std::string& path, const std::string& text);

/// Whether a line can be written there without waiting: a pipe that nobody reads, or a terminal
/// that is stopped, takes none, and who waits for it hears no signal.
bool TakesText(std::FILE* file);

}  // namespace sluice::runtime
