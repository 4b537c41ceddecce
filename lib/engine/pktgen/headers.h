// SPDX-License-Identifier: BSD-3-Clause
//
// Writes the headers of a stream's frame. Checksums hold for a tag of any content (tag.h) that
// takes the place of zeros.
#pragma once

#include <cstdint>

#include "engine/pktgen/stream.h"

namespace sluice::engine::pktgen {

/// Of the VXLAN header alone.
inline constexpr uint32_t kVxlanBytes = 8;

/// Frame number `n`: `length` bytes without FCS, whose payload is in place and whose headers are 0.
void WriteHeaders(const StreamSpec& spec, uint64_t n, uint8_t* frame, uint32_t length);

}  // namespace sluice::engine::pktgen
