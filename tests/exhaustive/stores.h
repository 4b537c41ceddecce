// SPDX-License-Identifier: BSD-3-Clause
//
// Determines the contents of shared memory at each instant at which a process could be killed. The
// process is single-stepped, and all distinct memory contents are recorded.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice::exhaustive {

using Snapshot = std::vector<uint8_t>;

/// Runs `work` in a child process and returns the contents of `memory` (a shared mapping) after
/// each store, in order. Returns nullopt and sets `error` if the child could not be stepped or
/// ended abnormally.
std::optional<std::vector<Snapshot>> AfterEachStore(std::span<const uint8_t> memory,
                                                    const std::function<void()>& work,
                                                    std::string* error);

}  // namespace sluice::exhaustive
