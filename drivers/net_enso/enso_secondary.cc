// SPDX-License-Identifier: BSD-3-Clause
//
// The port in a secondary process. It reports link, statistics and capabilities, which it requests
// from the primary process. It cannot transfer packets, because only the primary process has
// the pipes and their read positions.
#include "net_enso/enso_port.h"
#include "secondary.h"

namespace sluice::net_enso {

int AttachSecondaryPort(rte_device* device, const char* name) {
  static const eth_dev_ops ops = [] {
    eth_dev_ops secondary = drivers::SecondaryOps();
    secondary.dev_supported_ptypes_get = kEthdevOps.dev_supported_ptypes_get;
    return secondary;
  }();
  rte_eth_dev* const dev = drivers::AttachSecondary(
      kSecondaryChannel, name, device, &ops,
      "only the primary process reads and writes pipes: poll this port there");
  if (dev == nullptr) return -ENODEV;
  drivers::FinishSecondary(dev);
  return 0;
}

}  // namespace sluice::net_enso
