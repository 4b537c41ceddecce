// SPDX-License-Identifier: BSD-3-Clause
//
// Traffic for the embedded NIC that follows Zipf's law: a few flows with most of the packets, and
// many small ones. The NIC's wire replays it repeatedly from a capture, because the NIC's generator
// can only generate flows of equal size.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/options.h"

namespace sluice::telemetry {

/// Number of frames in the capture. The proportions remain the same over many rounds.
inline constexpr uint32_t kSampleFrames = 1 << 16;

struct TrafficOptions {
  uint32_t flows = 1000;
  double zipf = 1;          ///< Exponent of Zipf's law.
  std::string size = "64";  ///< Frame size with FCS: a number, "imix" or "random", as --frame_size.
  bool ipv4_only = false;   ///< If false, every fourth flow is IPv6.
  uint64_t seed = 1;
};

/// Writes the capture to `path`. Returns false and sets `error` on failure.
bool WriteTraffic(const TrafficOptions& options, const std::string& path, std::string* error);

}  // namespace sluice::telemetry
