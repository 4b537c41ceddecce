// SPDX-License-Identifier: BSD-3-Clause
//
// What Check says about the backends of VIPs, and about the sources that name them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "engine/maglev/complaints.h"
#include "engine/maglev/prefix_map.h"
#include "engine/maglev/setup.h"

namespace sluice::engine::maglev {

/// Of all VIPs of a setup in turn: no two may get answers from one NAT backend.
class PoolChecker {
 public:
  /// All of them outlive it. `vips`: all VIPs' addresses.
  PoolChecker(const Setup& setup, const PrefixMap& vips, Complaints& complaints)
      : setup_(setup), vips_(vips), complaints_(complaints) {}

  /// `vip` is at the complaints' place. Lines begin with what they begin with now, and the backend
  /// or source.
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
  /// By a backend's address and protocol, then by port; 0: any.
  std::map<std::pair<IpAddress, uint8_t>, std::map<uint16_t, Place>> nat_sources_;
};

/// "TCP 192.0.2.0/24:80", "UDP [2001:db8::1]:any": where traffic goes to or comes from.
std::string EndpointText(const IpPrefix& prefix, uint16_t port, uint8_t protocol);

}  // namespace sluice::engine::maglev
