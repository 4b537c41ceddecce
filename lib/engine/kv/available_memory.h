// SPDX-License-Identifier: BSD-3-Clause
//
// Determines the memory that is available to the store on this machine and in this container.
#pragma once

#include <cstdint>
#include <filesystem>

namespace sluice::engine::kv {

/// Returns how many bytes this process may allocate without causing swapping or the OOM killer: the
/// minimum of the machine's available memory (proc(5), MemAvailable) and the unused part of the
/// limits of the process's control groups (Linux, admin-guide/cgroup-v2: memory.max,
/// memory.current, and inactive_file of memory.stat, which the kernel reclaims on demand). Values
/// that cannot be read do not limit the result. `root` is the directory that contains "proc" and
/// "sys".
uint64_t AvailableBytes(const std::filesystem::path& root = "/");

}  // namespace sluice::engine::kv
