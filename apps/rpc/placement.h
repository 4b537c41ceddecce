// SPDX-License-Identifier: BSD-3-Clause
//
// Policies of lib/engine/sched as the device asks them (device/rpc/placement.h): a task is a core
// that a service wants or has, and services are the groups that fair policies tell apart.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "device/rpc/placement.h"

namespace sluice::rpc_app {

/// The policy of that name (engine/sched/policies/all.h) for cores 0 … `cores` - 1. `slice_ns`: of
/// policies that have one; 0: the policy's own. Null: there is none of that name.
std::unique_ptr<device::rpc::Placement> MakePlacement(std::string_view policy, uint32_t cores,
                                                      uint64_t slice_ns);

}  // namespace sluice::rpc_app
