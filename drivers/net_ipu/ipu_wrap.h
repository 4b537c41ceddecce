// SPDX-License-Identifier: BSD-3-Clause
//
// A net_ipu port around another ethdev (port=): on an IPU, whose own driver (idpf, cpfl)
// serves its queues, this adds the window and passes everything else through.
//
// The wrapped port's owner is this one, so that nobody else uses it, and it is driven
// through ethdev's public functions, so that ethdev's own checks and state hold for it.
#pragma once

#include <bus_vdev_driver.h>
#include <ethdev_driver.h>
#include <rte_flow_driver.h>

#include <cstdint>
#include <string>

namespace sluice::net_ipu {

/// Probes `vdev` around the ethdev called `inner`, which must exist and have no owner. On
/// failure a negative errno, with one line in `error`.
int ProbeWrapper(rte_vdev_device* vdev, const std::string& inner, std::string* error);
/// Whether this is such a port.
bool IsWrapper(const rte_eth_dev* dev);

/// In dev_private.
struct Wrapper {
  uint16_t inner;  ///< RTE_MAX_ETHPORTS once it is gone: ethdev knows no such port.
  uint64_t owner;
  eth_dev_ops ops;  ///< What the wrapped driver can do, and nothing else.
  rte_flow_ops flow_ops;
};

inline Wrapper& WrapperOf(const rte_eth_dev* dev) {
  return *static_cast<Wrapper*>(dev->data->dev_private);
}
inline uint16_t InnerOf(const rte_eth_dev* dev) { return WrapperOf(dev).inner; }

// ipu_wrap_ops.cc
/// The operations of a port around one that has `inner`; dev_close is left out.
eth_dev_ops MakeWrapperOps(const eth_dev_ops& inner);
rte_flow_ops MakeWrapperFlowOps();

}  // namespace sluice::net_ipu
