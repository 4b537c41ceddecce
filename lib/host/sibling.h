// SPDX-License-Identifier: BSD-3-Clause
//
// Programs that are installed together with this one, and that this one starts or executes in its
// place. Works before flags are read. Used on the control path only.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace sluice::host {

/// Returns the file `name` in the folder of this program, or else its path in an installation.
std::filesystem::path Sibling(const std::string& name, const std::filesystem::path& libdir);

/// Returns the value of a flag in `arguments` (--name=value or --name value, with one or two '-'),
/// or null if it is absent. The last occurrence counts.
const char* ArgumentOf(std::string_view name, std::span<char* const> arguments);

/// Replaces this process by `program` (exec), with the same arguments; `argv` is null-terminated.
/// On failure prints an error and returns an exit code.
int Become(const std::filesystem::path& program, char** argv);

}  // namespace sluice::host
