// SPDX-License-Identifier: BSD-3-Clause
//
// Programs that come with this one, and of which it starts or becomes one. No flags have been read
// yet. Control path.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace sluice::runtime {

/// The file of this name beside this program, or else where an installation puts it.
std::filesystem::path Sibling(const std::string& name, const std::filesystem::path& libdir);

/// The value that `arguments` give a flag: --name=value or --name value, with one '-' or two; the
/// last one counts. Null: they do not.
const char* ArgumentOf(std::string_view name, std::span<char* const> arguments);

/// This process becomes `program`, with the same arguments, which end with a null. Returns an exit
/// code if it cannot, and has said so.
int Become(const std::filesystem::path& program, char** argv);

}  // namespace sluice::runtime
