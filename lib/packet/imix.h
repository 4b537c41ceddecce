// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>

namespace sluice::packet {

/// The "simple IMIX": of every 12 frames, 7 are small, 4 are medium and 1 is large. Sizes include
/// the FCS, as is usual for traffic generators.
inline constexpr std::array<uint32_t, 12> kImixSizes{64,   594, 64,  64, 594, 64,
                                                     1518, 64,  594, 64, 64,  594};

}  // namespace sluice::packet
