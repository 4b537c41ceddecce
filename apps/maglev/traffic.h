// SPDX-License-Identifier: BSD-3-Clause
//
// Traffic for the embedded NIC: packets from many clients to the configured VIPs, in a capture that
// the NIC's wire replays. The NIC's generator does not know about VIPs.
#pragma once

#include <cstdint>
#include <string>

#include "engine/maglev/setup.h"

namespace sluice::maglev {

struct TrafficOptions {
  uint32_t flows = 1000;    ///< Number of clients; they use the VIPs in turn.
  std::string size = "64";  ///< Frame size with FCS, as in --frame_size.
  bool ipv4_only =
      false;  ///< Only IPv4 VIPs with IPv4 backends are used, because the NIC cannot send IPv6.
  uint64_t seed = 1;  ///< Seed for "random".
};

/// Writes the capture to `path`. Returns false and sets `error` if this fails or no VIP is
/// suitable.
bool WriteTraffic(const engine::maglev::Setup& setup, const TrafficOptions& options,
                  const std::string& path, std::string* error);

}  // namespace sluice::maglev
