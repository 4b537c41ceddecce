// SPDX-License-Identifier: BSD-3-Clause
//
// Finds and executes programs that are installed together with this one. Can be used before flags
// are parsed. Used on the control path only.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace sluice::host {

/// Returns the path of program `name` in this program's folder, or else its path in an
/// installation.
std::filesystem::path Sibling(const std::string& name, const std::filesystem::path& libdir);

/// Returns the value of a flag in `arguments` (--name=value or --name value, with one or two '-'),
/// or null if the flag is absent. The last occurrence counts.
const char* ArgumentOf(std::string_view name, std::span<char* const> arguments);

/// Replaces this process with `program` (exec), keeping the arguments; `argv` must be
/// null-terminated. On failure prints an error and returns an exit code.
int Become(const std::filesystem::path& program, char** argv);

}  // namespace sluice::host
