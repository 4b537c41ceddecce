// SPDX-License-Identifier: BSD-3-Clause
//
// The stages and the traffic that come with sluice-chain. Adding one: its file, and a line here in
// all.cc.
#pragma once

#include <span>

#include "../executor.h"
#include "../traffic.h"

namespace sluice::chain_app {

std::span<const StageKind* const> BuiltInStages();
std::span<const TrafficKind* const> BuiltInTraffic();

}  // namespace sluice::chain_app
