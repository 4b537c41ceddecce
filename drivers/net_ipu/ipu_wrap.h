// SPDX-License-Identifier: BSD-3-Clause
//
// A net_ipu port that wraps another ethdev port (port=). On an IPU whose queues belong to another
// driver (idpf, cpfl), it adds the window and forwards all other operations.
//
// This port owns the wrapped port, so that applications do not use it directly. It calls ethdev's
// public functions, so that ethdev's checks and state apply to the wrapped port.
#pragma once

#include <bus_vdev_driver.h>
#include <ethdev_driver.h>
#include <rte_flow_driver.h>

#include <cstdint>
#include <string>

namespace sluice::net_ipu {

/// Probes `vdev` around the ethdev named `inner`, which must exist and must not have an owner. On
/// failure, returns a negative errno and sets `error` to one line.
int ProbeWrapper(rte_vdev_device* vdev, const std::string& inner, std::string* error);
/// Returns whether `dev` is a wrapping port.
bool IsWrapper(const rte_eth_dev* dev);

/// The dev_private of a wrapping port.
struct Wrapper {
  /// Number of the wrapped port; RTE_MAX_ETHPORTS (never valid) once it is released.
  uint16_t inner;
  uint64_t owner;
  eth_dev_ops ops;  ///< Only the operations that the wrapped driver supports.
  rte_flow_ops flow_ops;
};

inline Wrapper& WrapperOf(const rte_eth_dev* dev) {
  return *static_cast<Wrapper*>(dev->data->dev_private);
}
inline uint16_t InnerOf(const rte_eth_dev* dev) { return WrapperOf(dev).inner; }

/// Returns the operations for a port that wraps a port with the operations `inner`; dev_close is
/// not set.
eth_dev_ops MakeWrapperOps(const eth_dev_ops& inner);
rte_flow_ops MakeWrapperFlowOps();

}  // namespace sluice::net_ipu
