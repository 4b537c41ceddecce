// SPDX-License-Identifier: BSD-3-Clause
//
// Life cycle of a port that wraps another port: ownership, events, closing.
#include "net_ipu/ipu_wrap.h"

#include <ethdev_vdev.h>
#include <rte_flow.h>
#include <rte_malloc.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <mutex>
#include <new>
#include <type_traits>

#include "dpdk/release.h"
#include "secondary.h"

namespace sluice::net_ipu {

namespace {

/// Handles an event of the wrapped port; `argument` is the wrapping port. ethdev keeps callbacks
/// registered for a port number, so this function ignores events of later ports with that number.
int OnEvent(uint16_t port, rte_eth_event_type event, void* argument, void* result) {
  auto* const dev = static_cast<rte_eth_dev*>(argument);
  if (!IsWrapper(dev) || InnerOf(dev) != port) return 0;
  if (event == RTE_ETH_EVENT_DESTROY) {
    WrapperOf(dev).inner = RTE_MAX_ETHPORTS;
  } else {
    // If events are enabled, ethdev relies on the link state that was last reported.
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
    *error = "all ethdev owner ids are in use";
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
             ": no ethdev port is free, there is too little memory, or the wrapped port does not "
             "answer";
    return failure;
  }
  rte_eth_dev_probing_finish(dev);
  return 0;
}

bool IsWrapper(const rte_eth_dev* dev) {
  return dev->dev_ops != nullptr && dev->dev_ops->dev_close == Close;
}

// Operations of a wrapping port. They call ethdev's functions for the wrapped port.
//
// Bursts have no additional cost: after the start, the two ports have the same burst functions and
// queue pointers, so that ethdev calls the wrapped driver directly. As a consequence, mbuf::port is
// the number of the wrapped port.

namespace {

/// Returns the wrapped port's device, or null if that port is gone.
rte_eth_dev* InnerDevice(const rte_eth_dev* dev) {
  const uint16_t inner = InnerOf(dev);
  return rte_eth_dev_is_valid_port(inner) != 0 ? &rte_eth_devices[inner] : nullptr;
}

/// Implements an operation: calls ethdev's function `kPublic` for the wrapped port.
template <auto kPublic, typename... Arguments>
std::invoke_result_t<decltype(kPublic), uint16_t, Arguments...> Forward(rte_eth_dev* dev,
                                                                        Arguments... arguments) {
  return kPublic(InnerOf(dev), arguments...);
}

/// Implements an operation for which ethdev keeps no state: calls the wrapped driver's operation
/// directly.
template <auto kOperation, typename... Arguments>
auto Hand(rte_eth_dev* dev, Arguments... arguments) {
  rte_eth_dev* const inner = InnerDevice(dev);
  using Result = decltype((inner->dev_ops->*kOperation)(inner, arguments...));
  if (inner != nullptr) return (inner->dev_ops->*kOperation)(inner, arguments...);
  if constexpr (std::is_pointer_v<Result>) {
    return Result{nullptr};
  } else {
    return Result{-ENODEV};
  }
}

// ------------------------------------------------------------- capabilities

int InfosGet(rte_eth_dev* dev, rte_eth_dev_info* info) {
  const int error = rte_eth_dev_info_get(InnerOf(dev), info);
  info->device = dev->device;
  return error;
}

/// Sets rx_nombuf, as rte_eth_stats_get does, then calls the wrapped driver's operation.
int StatsGet(rte_eth_dev* dev, rte_eth_stats* stats, dpdk::QueueStats* queues) {
  rte_eth_dev* const inner = InnerDevice(dev);
  if (inner == nullptr) return -ENODEV;
  stats->rx_nombuf = inner->data->rx_mbuf_alloc_failed;
  return dpdk::CallStatsGet(inner, stats, queues);
}

int FlowOpsGet(rte_eth_dev* dev, const rte_flow_ops** ops) {
  *ops = &WrapperOf(dev).flow_ops;
  return 0;
}

// ------------------------------------------------------------------- queues

int Configure(rte_eth_dev* dev) {
  const rte_eth_dev_data& data = *dev->data;
  return rte_eth_dev_configure(InnerOf(dev), data.nb_rx_queues, data.nb_tx_queues, &data.dev_conf);
}

int RxQueueSetup(rte_eth_dev* dev, uint16_t id, uint16_t entries, unsigned int socket,
                 const rte_eth_rxconf* conf, rte_mempool* pool) {
  const int error = rte_eth_rx_queue_setup(InnerOf(dev), id, entries, socket, conf, pool);
  if (error == 0) dev->data->rx_queues[id] = InnerDevice(dev)->data->rx_queues[id];
  return error;
}
int TxQueueSetup(rte_eth_dev* dev, uint16_t id, uint16_t entries, unsigned int socket,
                 const rte_eth_txconf* conf) {
  const int error = rte_eth_tx_queue_setup(InnerOf(dev), id, entries, socket, conf);
  if (error == 0) dev->data->tx_queues[id] = InnerDevice(dev)->data->tx_queues[id];
  return error;
}
/// The wrapped port owns the queues.
void RxQueueRelease(rte_eth_dev* dev, uint16_t id) { dev->data->rx_queues[id] = nullptr; }
void TxQueueRelease(rte_eth_dev* dev, uint16_t id) { dev->data->tx_queues[id] = nullptr; }

void RxQueueInfo(rte_eth_dev* dev, uint16_t id, rte_eth_rxq_info* info) {
  rte_eth_rx_queue_info_get(InnerOf(dev), id, info);
}
void TxQueueInfo(rte_eth_dev* dev, uint16_t id, rte_eth_txq_info* info) {
  rte_eth_tx_queue_info_get(InnerOf(dev), id, info);
}

void CopyQueueStates(rte_eth_dev* dev) {
  const rte_eth_dev* const inner = InnerDevice(dev);
  if (inner == nullptr) return;
  std::copy_n(inner->data->rx_queue_state, dev->data->nb_rx_queues, dev->data->rx_queue_state);
  std::copy_n(inner->data->tx_queue_state, dev->data->nb_tx_queues, dev->data->tx_queue_state);
}
template <auto kPublic>
int SwitchQueue(rte_eth_dev* dev, uint16_t id) {
  const int error = kPublic(InnerOf(dev), id);
  CopyQueueStates(dev);
  return error;
}

// ------------------------------------------------------------- start and stop

int LinkUpdate(rte_eth_dev* dev, int wait) {
  rte_eth_link link{};
  const int error = wait != 0 ? rte_eth_link_get(InnerOf(dev), &link)
                              : rte_eth_link_get_nowait(InnerOf(dev), &link);
  if (error != 0)
    link = {};  // After an error, the link is reported as down, even if the port no longer exists.
  return rte_eth_linkstatus_set(dev, &link);
}

int Start(rte_eth_dev* dev) {
  if (const int error = rte_eth_dev_start(InnerOf(dev)); error != 0) return error;
  const rte_eth_dev& inner = *InnerDevice(dev);
  dev->rx_pkt_burst = inner.rx_pkt_burst;
  dev->tx_pkt_burst = inner.tx_pkt_burst;
  dev->tx_pkt_prepare = inner.tx_pkt_prepare;
  dev->rx_queue_count = inner.rx_queue_count;
  dev->rx_descriptor_status = inner.rx_descriptor_status;
  dev->tx_descriptor_status = inner.tx_descriptor_status;
  dev->intr_handle = inner.intr_handle;
  // Copied at each start, because some drivers recreate their queues at start.
  std::copy_n(inner.data->rx_queues, dev->data->nb_rx_queues, dev->data->rx_queues);
  std::copy_n(inner.data->tx_queues, dev->data->nb_tx_queues, dev->data->tx_queues);
  dev->data->scattered_rx = inner.data->scattered_rx;
  dev->data->lro = inner.data->lro;
  CopyQueueStates(dev);
  LinkUpdate(dev, 0);
  return 0;
}

int Stop(rte_eth_dev* dev) {
  const int error = rte_eth_dev_stop(InnerOf(dev));
  CopyQueueStates(dev);
  dev->intr_handle = InnerDevice(dev) == nullptr ? nullptr : InnerDevice(dev)->intr_handle;
  return InnerDevice(dev) == nullptr ? 0 : error;
}

// ------------------------------------------------------------------ addresses

int MacAddressAdd(rte_eth_dev* dev, rte_ether_addr* address, uint32_t, uint32_t pool) {
  // ethdev restores the default address at start. For a port without an address, it is all zeros.
  if (rte_is_zero_ether_addr(address)) return 0;
  return rte_eth_dev_mac_addr_add(InnerOf(dev), address, pool);
}
void MacAddressRemove(rte_eth_dev* dev, uint32_t index) {
  rte_eth_dev_mac_addr_remove(InnerOf(dev), &dev->data->mac_addrs[index]);
}
int McAddressList(rte_eth_dev* dev, rte_ether_addr* list, uint32_t count) {
  return rte_eth_dev_set_mc_addr_list(InnerOf(dev), list, count);
}
int VlanOffloadSet(rte_eth_dev* dev, int) {
  // ethdev has already stored the new setting when it calls this function.
  const uint64_t offloads = dev->data->dev_conf.rxmode.offloads;
  int flags = 0;
  if (offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) flags |= RTE_ETH_VLAN_STRIP_OFFLOAD;
  if (offloads & RTE_ETH_RX_OFFLOAD_VLAN_FILTER) flags |= RTE_ETH_VLAN_FILTER_OFFLOAD;
  if (offloads & RTE_ETH_RX_OFFLOAD_VLAN_EXTEND) flags |= RTE_ETH_VLAN_EXTEND_OFFLOAD;
  if (offloads & RTE_ETH_RX_OFFLOAD_QINQ_STRIP) flags |= RTE_ETH_QINQ_STRIP_OFFLOAD;
  return rte_eth_dev_set_vlan_offload(InnerOf(dev), flags);
}

/// Updates the burst pointer, because the wrapped driver may choose a burst function that reads
/// timestamp flags.
int TimesyncEnable(rte_eth_dev* dev) {
  const int error = rte_eth_timesync_enable(InnerOf(dev));
  if (error == 0 && dev->data->dev_started) {
    dev->tx_pkt_burst = InnerDevice(dev)->tx_pkt_burst;
    rte_eth_fp_ops[dev->data->port_id].tx_pkt_burst = dev->tx_pkt_burst;
  }
  return error;
}

}  // namespace

/// Sets only the operations that the wrapped driver has, so that ethdev reports the others as
/// unsupported.
eth_dev_ops MakeWrapperOps(const eth_dev_ops& inner) {
  eth_dev_ops ops{};
  ops.dev_configure = Configure;
  ops.dev_start = Start;
  ops.dev_stop = Stop;
  ops.link_update = LinkUpdate;
  ops.dev_infos_get = InfosGet;
  ops.rx_queue_setup = RxQueueSetup;
  ops.rx_queue_release = RxQueueRelease;
  ops.tx_queue_setup = TxQueueSetup;
  ops.tx_queue_release = TxQueueRelease;
  // These operations access only a queue, which both ports share.
  ops.tx_done_cleanup = inner.tx_done_cleanup;
  ops.get_monitor_addr = inner.get_monitor_addr;

  const auto pass = [&]<typename F>(F eth_dev_ops::*operation, std::type_identity_t<F> function) {
    if (inner.*operation != nullptr) ops.*operation = function;
  };
  pass(&eth_dev_ops::dev_reset, Forward<rte_eth_dev_reset>);
  pass(&eth_dev_ops::dev_set_link_up, Forward<rte_eth_dev_set_link_up>);
  pass(&eth_dev_ops::dev_set_link_down, Forward<rte_eth_dev_set_link_down>);
  pass(&eth_dev_ops::promiscuous_enable, Forward<rte_eth_promiscuous_enable>);
  pass(&eth_dev_ops::promiscuous_disable, Forward<rte_eth_promiscuous_disable>);
  pass(&eth_dev_ops::allmulticast_enable, Forward<rte_eth_allmulticast_enable>);
  pass(&eth_dev_ops::allmulticast_disable, Forward<rte_eth_allmulticast_disable>);
  pass(&eth_dev_ops::mac_addr_set, Forward<rte_eth_dev_default_mac_addr_set>);
  pass(&eth_dev_ops::mac_addr_add, MacAddressAdd);
  pass(&eth_dev_ops::mac_addr_remove, MacAddressRemove);
  pass(&eth_dev_ops::set_mc_addr_list, McAddressList);
  pass(&eth_dev_ops::mtu_set, Forward<rte_eth_dev_set_mtu>);
  pass(&eth_dev_ops::vlan_filter_set, Forward<rte_eth_dev_vlan_filter>);
  pass(&eth_dev_ops::vlan_offload_set, VlanOffloadSet);
  pass(&eth_dev_ops::stats_get, dpdk::kStatsGet<StatsGet>);
  pass(&eth_dev_ops::stats_reset, Forward<rte_eth_stats_reset>);
  pass(&eth_dev_ops::xstats_get, Hand<&eth_dev_ops::xstats_get>);
  pass(&eth_dev_ops::xstats_get_names, Hand<&eth_dev_ops::xstats_get_names>);
  pass(&eth_dev_ops::xstats_reset, Hand<&eth_dev_ops::xstats_reset>);
  pass(&eth_dev_ops::fw_version_get, Forward<rte_eth_dev_fw_version_get>);
  pass(&eth_dev_ops::dev_supported_ptypes_get, Hand<&eth_dev_ops::dev_supported_ptypes_get>);
  pass(&eth_dev_ops::dev_ptypes_set, Hand<&eth_dev_ops::dev_ptypes_set>);
  pass(&eth_dev_ops::rxq_info_get, RxQueueInfo);
  pass(&eth_dev_ops::txq_info_get, TxQueueInfo);
  pass(&eth_dev_ops::rx_burst_mode_get, Forward<rte_eth_rx_burst_mode_get>);
  pass(&eth_dev_ops::tx_burst_mode_get, Forward<rte_eth_tx_burst_mode_get>);
  pass(&eth_dev_ops::rx_queue_start, SwitchQueue<rte_eth_dev_rx_queue_start>);
  pass(&eth_dev_ops::rx_queue_stop, SwitchQueue<rte_eth_dev_rx_queue_stop>);
  pass(&eth_dev_ops::tx_queue_start, SwitchQueue<rte_eth_dev_tx_queue_start>);
  pass(&eth_dev_ops::tx_queue_stop, SwitchQueue<rte_eth_dev_tx_queue_stop>);
  pass(&eth_dev_ops::rx_queue_intr_enable, Forward<rte_eth_dev_rx_intr_enable>);
  pass(&eth_dev_ops::rx_queue_intr_disable, Forward<rte_eth_dev_rx_intr_disable>);
  pass(&eth_dev_ops::flow_ctrl_get, Forward<rte_eth_dev_flow_ctrl_get>);
  pass(&eth_dev_ops::flow_ctrl_set, Forward<rte_eth_dev_flow_ctrl_set>);
  pass(&eth_dev_ops::rss_hash_update, Forward<rte_eth_dev_rss_hash_update>);
  pass(&eth_dev_ops::rss_hash_conf_get, Forward<rte_eth_dev_rss_hash_conf_get>);
  pass(&eth_dev_ops::reta_update, Forward<rte_eth_dev_rss_reta_update>);
  pass(&eth_dev_ops::reta_query, Forward<rte_eth_dev_rss_reta_query>);
  pass(&eth_dev_ops::flow_ops_get, FlowOpsGet);
  pass(&eth_dev_ops::timesync_enable, TimesyncEnable);
  pass(&eth_dev_ops::timesync_disable, Forward<rte_eth_timesync_disable>);
  pass(&eth_dev_ops::timesync_read_rx_timestamp, Forward<rte_eth_timesync_read_rx_timestamp>);
  pass(&eth_dev_ops::timesync_read_tx_timestamp, Forward<rte_eth_timesync_read_tx_timestamp>);
  pass(&eth_dev_ops::timesync_adjust_time, Forward<rte_eth_timesync_adjust_time>);
  pass(&eth_dev_ops::timesync_read_time, Forward<rte_eth_timesync_read_time>);
  pass(&eth_dev_ops::timesync_write_time, Forward<rte_eth_timesync_write_time>);
  pass(&eth_dev_ops::read_clock, Forward<rte_eth_read_clock>);
  pass(&eth_dev_ops::get_reg, Forward<rte_eth_dev_get_reg_info>);
  return ops;
}

rte_flow_ops MakeWrapperFlowOps() {
  rte_flow_ops ops{};
  ops.validate = Forward<rte_flow_validate>;
  ops.create = Forward<rte_flow_create>;
  ops.destroy = Forward<rte_flow_destroy>;
  ops.flush = Forward<rte_flow_flush>;
  ops.query = Forward<rte_flow_query>;
  ops.isolate = Forward<rte_flow_isolate>;
  ops.get_aged_flows = Forward<rte_flow_get_aged_flows>;
  return ops;
}

}  // namespace sluice::net_ipu
