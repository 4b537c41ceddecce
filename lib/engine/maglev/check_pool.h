// SPDX-License-Identifier: BSD-3-Clause
//
// Checks the backends of VIPs and the source prefixes that refer to them; part of Check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "engine/maglev/complaints.h"
#include "engine/maglev/prefix_map.h"
#include "engine/maglev/setup.h"

namespace sluice::engine::maglev {

/// Checks the VIPs of a setup one after another and remembers the NAT backends seen so far, because
/// a NAT backend's address and port must belong to only one VIP.
class PoolChecker {
 public:
  /// All arguments must outlive the checker. `vips` contains the addresses of all VIPs.
  PoolChecker(const Setup& setup, const PrefixMap& vips, Complaints& complaints)
      : setup_(setup), vips_(vips), complaints_(complaints) {}

  /// Checks `vip`. The place of `complaints` must already be set to that of `vip`. Each line starts
  /// with the current prefix of `complaints` and the name of the backend or source.
  void Check(const VipSetup& vip);

 private:
  void CheckBackends(const VipSetup& vip);
  void CheckSources(const VipSetup& vip);
  void CheckBackend(const VipSetup& vip, const BackendSetup& backend);
  void CheckFamilies(const VipSetup& vip, const BackendSetup& backend);
  void CheckNat(const VipSetup& vip, const BackendSetup& backend);

  const Setup& setup_;
  const PrefixMap& vips_;
  Complaints& complaints_;
  /// Keyed by backend address and protocol, then by port (0: any).
  std::map<std::pair<IpAddress, uint8_t>, std::map<uint16_t, Place>> nat_sources_;
};

/// Formats an endpoint: "TCP 192.0.2.0/24:80", "UDP [2001:db8::1]:any".
std::string EndpointText(const IpPrefix& prefix, uint16_t port, uint8_t protocol);

}  // namespace sluice::engine::maglev
