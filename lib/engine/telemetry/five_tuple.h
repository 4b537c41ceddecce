// SPDX-License-Identifier: BSD-3-Clause
//
// The 5-tuple of a frame.
#pragma once

#include <cstdint>
#include <optional>

#include "packet/flow_key.h"

namespace sluice::engine::telemetry {

/// As packet::FlowKey::Of says it of packet::Parse: nothing if the frame is not IP or its headers
/// do not hold together; fragments share the key with ports 0. Whole UDP and TCP over IPv4 without
/// tags and options are read without a parse.
std::optional<packet::FlowKey> FiveTupleOf(const uint8_t* frame, uint32_t length);

}  // namespace sluice::engine::telemetry
