// SPDX-License-Identifier: BSD-3-Clause
//
// Life cycle of a port around another port: ownership, events, closing.
#include "net_ipu/ipu_wrap.h"

#include <ethdev_vdev.h>
#include <rte_malloc.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <mutex>
#include <new>

#include "secondary.h"

namespace sluice::net_ipu {

namespace {

/// Handles an event of the wrapped port; `argument` is the wrapping port. ethdev keeps callbacks
/// registered for a port number, so the function ignores events of a later port with that number.
int OnEvent(uint16_t port, rte_eth_event_type event, void* argument, void* result) {
  auto* const dev = static_cast<rte_eth_dev*>(argument);
  if (!IsWrapper(dev) || InnerOf(dev) != port) return 0;
  if (event == RTE_ETH_EVENT_DESTROY) {
    WrapperOf(dev).inner = RTE_MAX_ETHPORTS;
  } else {
    // If events are enabled, ethdev relies on the last reported link state.
    if (event == RTE_ETH_EVENT_INTR_LSC) dev->dev_ops->link_update(dev, 0);
    rte_eth_dev_callback_process(dev, event, result);
  }
  return 0;
}
constexpr rte_eth_event_type kEvents[] = {RTE_ETH_EVENT_INTR_LSC, RTE_ETH_EVENT_INTR_RESET,
                                          RTE_ETH_EVENT_INTR_RMV, RTE_ETH_EVENT_FLOW_AGED,
                                          RTE_ETH_EVENT_DESTROY};

/// Operations table of a closed port. The previous table was in dev_private, which no longer
/// exists.
constinit const eth_dev_ops kClosedOps{};

/// Closes the wrapping port. Stops the wrapped port and releases it, so that another owner can use
/// it.
int Close(rte_eth_dev* dev) {
  const Wrapper& wrapper = WrapperOf(dev);
  for (const rte_eth_event_type event : kEvents) {
    // For a released port, ethdev unregisters callbacks only through RTE_ETH_ALL.
    rte_eth_dev_callback_unregister(RTE_ETH_ALL, event, OnEvent, dev);
  }
  if (rte_eth_dev_is_valid_port(wrapper.inner) != 0) {
    if (dev->data->dev_started) rte_eth_dev_stop(wrapper.inner);
    rte_eth_dev_owner_unset(wrapper.inner, wrapper.owner);
  }
  dev->intr_handle = nullptr;
  const std::scoped_lock lock(drivers::AnswerMutex());
  dev->dev_ops = &kClosedOps;
  rte_free(dev->data->dev_private);
  dev->data->dev_private = nullptr;
  return 0;
}

/// Makes `owner` the owner of port `inner`.
int Own(uint16_t inner, const char* name, uint64_t* owner, std::string* error) {
  rte_eth_dev_owner mine{};
  std::snprintf(mine.name, sizeof(mine.name), "%s", name);
  if (rte_eth_dev_owner_new(&mine.id) != 0) {
    *error = "no ethdev owner id is left";
    return -ENOMEM;
  }
  *owner = mine.id;
  if (rte_eth_dev_owner_set(inner, &mine) == 0) return 0;
  rte_eth_dev_owner other{};
  rte_eth_dev_owner_get(inner, &other);
  *error = std::string("is owned by '") + other.name + "': wrap a port without an owner";
  return -EBUSY;
}

int CopyAddresses(rte_eth_dev* dev, const rte_eth_dev& inner) {
  rte_eth_dev_info info;
  if (const int error = rte_eth_dev_info_get(inner.data->port_id, &info); error != 0) return error;
  const uint32_t count = std::max<uint32_t>(info.max_mac_addrs, 1);
  dev->data->mac_addrs = static_cast<rte_ether_addr*>(
      rte_calloc_socket("net_ipu", count, sizeof(rte_ether_addr), 0, dev->data->numa_node));
  if (dev->data->mac_addrs == nullptr) return -ENOMEM;
  if (inner.data->mac_addrs != nullptr) {
    std::copy_n(inner.data->mac_addrs, count, dev->data->mac_addrs);
  }
  return 0;
}

int Wrap(rte_eth_dev* dev, uint16_t inner_port) {
  const rte_eth_dev& inner = rte_eth_devices[inner_port];
  dev->data->numa_node = inner.data->numa_node;
  dev->data->mtu = inner.data->mtu;
  dev->data->promiscuous = inner.data->promiscuous;
  dev->data->all_multicast = inner.data->all_multicast;
  dev->data->dev_flags |=
      inner.data->dev_flags &
      (RTE_ETH_DEV_INTR_LSC | RTE_ETH_DEV_INTR_RMV | RTE_ETH_DEV_AUTOFILL_QUEUE_XSTATS |
       RTE_ETH_DEV_NOLIVE_MAC_ADDR | RTE_ETH_DEV_FLOW_OPS_THREAD_SAFE);
  Wrapper& wrapper = WrapperOf(dev);
  wrapper.ops = MakeWrapperOps(*inner.dev_ops);
  wrapper.ops.dev_close = Close;
  wrapper.flow_ops = MakeWrapperFlowOps();
  dev->dev_ops = &wrapper.ops;
  if (const int error = CopyAddresses(dev, inner); error != 0) return error;
  for (const rte_eth_event_type event : kEvents) {
    rte_eth_dev_callback_register(inner_port, event, OnEvent, dev);
  }
  return 0;
}

}  // namespace

int ProbeWrapper(rte_vdev_device* vdev, const std::string& name, std::string* error) {
  uint16_t inner;
  if (rte_eth_dev_get_port_by_name(name.c_str(), &inner) != 0) {
    *error = "port=" + name + ": no such port; give an ethdev that EAL probes before this one";
    return -ENODEV;
  }
  uint64_t owner = 0;
  if (const int failure = Own(inner, rte_vdev_device_name(vdev), &owner, error); failure != 0) {
    *error = "port=" + name + ": " + *error;
    return failure;
  }
  rte_eth_dev* const dev = rte_eth_vdev_allocate(vdev, sizeof(Wrapper));
  int failure = dev == nullptr ? -ENOMEM : 0;
  if (dev != nullptr) {
    new (dev->data->dev_private) Wrapper{inner, owner, {}, {}};
    failure = Wrap(dev, inner);
  }
  if (failure != 0) {
    if (dev != nullptr) rte_eth_dev_release_port(dev);
    rte_eth_dev_owner_unset(inner, owner);
    *error = "port=" + name +
             ": no ethdev port is free, memory is missing, or the wrapped port does not answer";
    return failure;
  }
  rte_eth_dev_probing_finish(dev);
  return 0;
}

bool IsWrapper(const rte_eth_dev* dev) {
  return dev->dev_ops != nullptr && dev->dev_ops->dev_close == Close;
}

}  // namespace sluice::net_ipu
