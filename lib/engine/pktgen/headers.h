// SPDX-License-Identifier: BSD-3-Clause
//
// Writes the headers of a stream's frame. The checksums are computed for a tag of zeros and stay
// valid for any tag (tag.h).
#pragma once

#include <cstdint>

#include "engine/pktgen/stream.h"

namespace sluice::engine::pktgen {

/// Size of the VXLAN header alone.
inline constexpr uint32_t kVxlanBytes = 8;

/// Writes the headers of frame number `n`, which has `length` bytes without FCS. The payload must
/// already be written, and the bytes of the headers must be 0.
void WriteHeaders(const StreamSpec& spec, uint64_t n, uint8_t* frame, uint32_t length);

}  // namespace sluice::engine::pktgen
