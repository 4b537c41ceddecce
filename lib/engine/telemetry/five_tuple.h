// SPDX-License-Identifier: BSD-3-Clause
//
// The 5-tuple of a frame.
#pragma once

#include <cstdint>
#include <optional>

#include "packet/flow_key.h"

namespace sluice::engine::telemetry {

/// Returns the 5-tuple of a frame, as packet::FlowKey::Of does for packet::Parse, or nullopt if the
/// frame is not IP or its headers are inconsistent. The ports of a fragment are 0. A fast path,
/// which does not parse, handles unfragmented UDP and TCP over IPv4 without tags and options.
std::optional<packet::FlowKey> FiveTupleOf(const uint8_t* frame, uint32_t length);

}  // namespace sluice::engine::telemetry
