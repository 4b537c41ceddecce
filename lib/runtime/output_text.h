// SPDX-License-Identifier: BSD-3-Clause
//
// Where a program's reports go: a file, or standard output. Control path.
#pragma once

#include <string>

namespace sluice::runtime {

/// Replaces the file of that name by `text`; "-" is standard output. False: not all of it was
/// written.
bool WriteText(const std::string& path, const std::string& text);

}  // namespace sluice::runtime
