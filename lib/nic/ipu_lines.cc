// SPDX-License-Identifier: BSD-3-Clause
#include "nic/ipu_lines.h"

#include <rte_errno.h>
#include <rte_ethdev.h>

#include "nic/eth_port.h"

namespace sluice::nic {

int IpuLines::Open(const InterfaceOptions& options, std::vector<IpuLines>* lines,
                   std::string* error) {
  const uint16_t port = options.port, count = options.workers;
  // The port's ordinary queue pairs are not used, but RSS spreads frames over as many endpoints as
  // there are queue pairs.
  int rc = ConfigureSpread(port, count, count, options.packet_bytes);
  if (rc != 0) {
    *error = "cannot have " + std::to_string(count) + " endpoints: " + rte_strerror(-rc);
    return rc;
  }
  SetPromiscuous(port, options.promiscuous);
  rte_pmd_ipu_endpoint_conf conf{};
  conf.headroom_bytes = options.headroom_bytes;
  for (uint16_t i = 0; i < count; ++i) {
    rte_pmd_ipu_endpoint* opened = nullptr;
    rc = rte_pmd_ipu_endpoint_open(port, i, &conf, &opened);
    if (rc != 0) {
      *error = "cannot open the endpoint of queue " + std::to_string(i) + ": " + rte_strerror(-rc);
      return rc;
    }
    lines->push_back(IpuLines(opened));
  }
  return 0;
}

}  // namespace sluice::nic
