// SPDX-License-Identifier: BSD-3-Clause
//
// What a process leaves in shared memory when it is killed, for every instant at which
// that could happen: it is run instruction by instruction, and each content that the
// memory ever had is kept.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice::exhaustive {

using Snapshot = std::vector<uint8_t>;

/// Runs `work` in a process of its own and returns the contents of `memory` (a shared
/// mapping) after each of its stores, in order. Empty, with the reason in `error`, if that
/// process could not be stepped, or did not end by itself.
std::optional<std::vector<Snapshot>> AfterEachStore(std::span<const uint8_t> memory,
                                                    const std::function<void()>& work,
                                                    std::string* error);

}  // namespace sluice::exhaustive
