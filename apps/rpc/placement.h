// SPDX-License-Identifier: BSD-3-Clause
//
// Adapts the policies of lib/engine/sched to the device's interface (device/rpc/placement.h). A
// task is a core that a service requests or owns; fair policies treat each service as a group.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "device/rpc/placement.h"

namespace sluice::rpc_app {

/// Returns the policy with this name (engine/sched/policies/all.h) for cores 0 to `cores` - 1.
/// `slice_ns`: slice of policies that have one; 0: the policy's default. Returns null if the name
/// is unknown.
std::unique_ptr<device::rpc::Placement> MakePlacement(std::string_view policy, uint32_t cores,
                                                      uint64_t slice_ns);

}  // namespace sluice::rpc_app
