// SPDX-License-Identifier: BSD-3-Clause
//
// Warnings about settings that are valid but probably unintended.
#pragma once

#include <string>
#include <vector>

#include "engine/maglev/setup.h"

namespace sluice::maglev {

/// Returns one line for each VIP with more backends of nonzero weight than slots, at most
/// `kMostWarnings` lines. Backends without a slot get no new flows.
std::vector<std::string> RingWarnings(const engine::maglev::Setup& setup);
inline constexpr size_t kMostWarnings = 20;

/// Prints RingWarnings on standard error.
void PrintRingWarnings(const engine::maglev::Setup& setup);

}  // namespace sluice::maglev
