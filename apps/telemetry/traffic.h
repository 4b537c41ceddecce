// SPDX-License-Identifier: BSD-3-Clause
//
// Traffic for the embedded NIC by Zipf's law: few flows with most of the packets and many small
// ones, as a capture that the NIC's wire replays repeatedly. The NIC's generator has only flows of
// equal size.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/options.h"

namespace sluice::telemetry {

/// Number of frames in the capture. Counts over many rounds have the same proportions.
inline constexpr uint32_t kSampleFrames = 1 << 16;

struct TrafficOptions {
  uint32_t flows = 1000;
  double zipf = 1;          ///< Exponent of the popularity.
  std::string size = "64";  ///< Frame size with FCS: a number, "imix" or "random", as --frame_size.
  bool ipv4_only = false;   ///< If false, every fourth flow is IPv6.
  uint64_t seed = 1;
};

/// Writes the capture to `path`. Returns false, with one line in `error`, on failure.
bool WriteTraffic(const TrafficOptions& options, const std::string& path, std::string* error);

}  // namespace sluice::telemetry
