// SPDX-License-Identifier: BSD-3-Clause
#include "host/sibling.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

namespace sluice::host {
namespace {

/// Returns the value of flag `name`, or null if `argument` is another flag. `next` is the following
/// argument, or null.
const char* ValueOf(std::string_view name, const char* argument, const char* next) {
  if (*argument != '-') return nullptr;
  argument += argument[1] == '-' ? 2 : 1;
  if (std::strncmp(argument, name.data(), name.size()) != 0) return nullptr;
  argument += name.size();
  if (*argument == '=') return argument + 1;
  return *argument == '\0' ? next : nullptr;
}

}  // namespace

std::filesystem::path Sibling(const std::string& name, const std::filesystem::path& libdir) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path beside = self.parent_path() / name;
  return std::filesystem::exists(beside, error) ? beside : libdir / name;
}

const char* ArgumentOf(std::string_view name, std::span<char* const> arguments) {
  const char* value = nullptr;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const char* const next = i + 1 < arguments.size() ? arguments[i + 1] : nullptr;
    if (const char* const given = ValueOf(name, arguments[i], next)) value = given;
  }
  return value;
}

int Become(const std::filesystem::path& program, char** argv) {
  execv(program.c_str(), argv);
  std::fprintf(stderr, "%s: %s\n", program.c_str(), std::strerror(errno));
  return 1;
}

}  // namespace sluice::host
