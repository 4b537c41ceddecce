// SPDX-License-Identifier: BSD-3-Clause
#include "net_ipu/ipu_adapter.h"
#include "net_ipu/rte_pmd_ipu.h"

using sluice::net_ipu::kEthdevOps;

__attribute__((visibility("default"))) bool rte_pmd_ipu_supported(uint16_t port_id) {
  return rte_eth_dev_is_valid_port(port_id) != 0 && rte_eth_devices[port_id].dev_ops == &kEthdevOps;
}
