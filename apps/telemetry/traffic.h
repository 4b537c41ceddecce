// SPDX-License-Identifier: BSD-3-Clause
//
// Traffic for the embedded NIC: few flows with most of the packets and many with few, by Zipf's
// law, as a capture that the NIC's wire replays again and again. The generator of the NIC knows
// flows of one size only.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/options.h"

namespace sluice::telemetry {

/// Frames of the capture. What is counted of many rounds has these proportions.
inline constexpr uint32_t kSampleFrames = 1 << 16;

struct TrafficOptions {
  uint32_t flows = 1000;
  double zipf = 1;          ///< Exponent of the flows' popularity.
  std::string size = "64";  ///< With FCS: a number, "imix" or "random", as --frame_size.
  bool ipv4_only = false;   ///< Else every fourth flow is of IPv6.
  uint64_t seed = 1;
};

/// Writes the capture to `path`. False, with one line in `error`, if it cannot.
bool WriteTraffic(const TrafficOptions& options, const std::string& path, std::string* error);

}  // namespace sluice::telemetry
