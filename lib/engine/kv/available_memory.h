// SPDX-License-Identifier: BSD-3-Clause
//
// How much memory there is for the store, on this machine and in this container.
#pragma once

#include <cstdint>
#include <filesystem>

namespace sluice::engine::kv {

/// Bytes that this process may still take without making anybody swap or die: what the machine has
/// available (proc(5), MemAvailable), or what the process's control groups have left of their
/// limits (Linux, admin-guide/cgroup-v2: memory.max, memory.current, and inactive_file of
/// memory.stat, which is given back at need), whichever is less. What cannot be read, limits
/// nothing. `root`: what "/proc" and "/sys" are in.
uint64_t AvailableBytes(const std::filesystem::path& root = "/");

}  // namespace sluice::engine::kv
