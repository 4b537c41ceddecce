// SPDX-License-Identifier: BSD-3-Clause
//
// Traffic for the embedded NIC: packets of many clients to the configured VIPs, as a capture
// that the NIC's wire replays. The generator of the NIC knows nothing of VIPs.
#pragma once

#include <cstdint>
#include <string>

#include "engine/maglev/setup.h"

namespace sluice::maglev {

struct TrafficOptions {
  uint32_t flows = 1000;    ///< Clients; to the VIPs in turn.
  std::string size = "64";  ///< With FCS: a number, "imix" or "random", as --frame_size.
  bool ipv4_only = false;   ///< Of VIPs and of their backends: the NIC can send no other.
  uint64_t seed = 1;        ///< Of "random".
};

/// Writes the capture to `path`. False, with one line in `error`, if it cannot, or no VIP is
/// left to send to.
bool WriteTraffic(const engine::maglev::Setup& setup, const TrafficOptions& options,
                  const std::string& path, std::string* error);

}  // namespace sluice::maglev
