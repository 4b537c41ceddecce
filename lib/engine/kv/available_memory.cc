// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/available_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace sluice::engine::kv {
namespace {

constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

// Returns the number after `name` in a file of names and numbers. If `name` is empty, the file
// contains only the number.
std::optional<uint64_t> NumberIn(const std::filesystem::path& file, const std::string& name) {
  std::ifstream lines(file);
  std::string word;
  uint64_t number;
  if (name.empty()) return lines >> number ? std::optional(number) : std::nullopt;
  while (lines >> word) {
    if (word == name && lines >> number) return number;
  }
  return std::nullopt;
}

// Returns the number of bytes that one control group may still allocate; memory that the kernel can
// reclaim counts as free. Returns kUnlimited if the group has no limit or its files cannot be read.
uint64_t AvailableIn(const std::filesystem::path& group) {
  const auto limit = NumberIn(group / "memory.max", "");  // nullopt if the file contains "max".
  const auto used = NumberIn(group / "memory.current", "");
  if (!limit || !used) return kUnlimited;
  const uint64_t cached = NumberIn(group / "memory.stat", "inactive_file").value_or(0);
  const uint64_t held = *used - std::min(cached, *used);
  return *limit - std::min(held, *limit);
}

// Returns the path of the process's control group, relative to the root group; empty for the root
// group.
std::filesystem::path OwnGroup(const std::filesystem::path& root) {
  std::ifstream lines(root / "proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view kVersion2 = "0::/";
    if (line.starts_with(kVersion2)) return line.substr(kVersion2.size());
  }
  return {};
}

}  // namespace

uint64_t AvailableBytes(const std::filesystem::path& root) {
  const auto kib = NumberIn(root / "proc/meminfo", "MemAvailable:");
  uint64_t available = kib ? *kib << 10 : kUnlimited;
  const std::filesystem::path groups = root / "sys/fs/cgroup";
  for (std::filesystem::path own = OwnGroup(root);; own = own.parent_path()) {
    available = std::min(available, AvailableIn(groups / own));
    if (own.empty()) return available;
  }
}

}  // namespace sluice::engine::kv
