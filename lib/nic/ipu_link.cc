// SPDX-License-Identifier: BSD-3-Clause
#include "nic/ipu_link.h"

#include <rte_errno.h>
#include <rte_ethdev.h>

#include "nic/eth_port.h"

namespace sluice::nic {

int IpuLink::Open(const InterfaceOptions& options, std::vector<IpuLink>* links,
                  std::string* error) {
  const uint16_t port = options.port, count = options.workers;
  // The port's ordinary queue pairs are not used, but RSS spreads frames over as many links as
  // there are queue pairs.
  int rc = ConfigureSpread(port, count, count, options.packet_bytes);
  if (rc != 0) {
    *error = "cannot have " + std::to_string(count) + " links: " + rte_strerror(-rc);
    return rc;
  }
  SetPromiscuous(port, options.promiscuous);
  rte_pmd_ipu_link_conf conf{};
  conf.regions = options.regions;
  conf.region_bytes = options.region_bytes;
  conf.max_frames = options.region_frames;
  conf.headroom_bytes = options.headroom_bytes;
  for (uint16_t i = 0; i < count; ++i) {
    rte_pmd_ipu_link* link = nullptr;
    rc = rte_pmd_ipu_link_open(port, i, &conf, &link);
    if (rc != 0) {
      *error = "cannot open link " + std::to_string(i) + ": " + rte_strerror(-rc);
      return rc;
    }
    links->push_back(IpuLink(link, options.headroom_bytes));
  }
  return 0;
}

rte_pmd_ipu_link_stats IpuLink::Stats() const {
  rte_pmd_ipu_link_stats stats{};
  rte_pmd_ipu_link_stats_get(link_.get(), &stats);
  return stats;
}

}  // namespace sluice::nic
