// SPDX-License-Identifier: BSD-3-Clause
//
// The built-in stages and traffic of sluice-chain. To add one, add its file and a line in all.cc.
#pragma once

#include <span>

#include "../executor.h"
#include "../traffic.h"

namespace sluice::chain_app {

std::span<const StageKind* const> BuiltInStages();
std::span<const TrafficKind* const> BuiltInTraffic();

}  // namespace sluice::chain_app
