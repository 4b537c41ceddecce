// SPDX-License-Identifier: BSD-3-Clause
//
// The twelve steps from a packet to a function (Xu and Roscoe, "The NIC should be part of the OS",
// HOTOS '25, section 2), and the component that performed each of these steps for one call.
#pragma once

#include <array>
#include <string>

#include "device/rpc/host_port.h"

namespace sluice::rpc_app {

/// Component that performed a step.
enum class Doer { kNic, kKernel, kHost, kNobody };

struct TraceStep {
  const char* step;
  Doer doer;
  std::string how;
};

std::array<TraceStep, 12> StepsOf(const device::rpc::CallTrace& trace);

/// Returns a line with the call's times, followed by one line per step.
std::string TraceText(const device::rpc::CallTrace& trace, const std::string& service);

}  // namespace sluice::rpc_app
