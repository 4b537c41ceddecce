// SPDX-License-Identifier: BSD-3-Clause
//
// The ethdev port: creates, removes, configures, starts and stops it, reports its link, and defines
// the table of operations.
#include <ethdev_driver.h>
#include <rte_dev_info.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "net_enso/enso_checksum.h"
#include "net_enso/enso_port.h"
#include "secondary.h"

namespace sluice::net_enso {

namespace {

using namespace regs::enso;  // NOLINT: this file speaks that register map

/// Starts or stops a model's wire. On hardware, only records the state.
void EnableWire(Port& port, bool enabled) {
  if (emulator::Attachment* model = port.device->backend().model()) model->EnableWire(enabled);
  port.up = enabled;
}

int Configure(rte_eth_dev* dev) {
  Port& port = Port::Of(dev);
  const uint64_t pipes = std::bit_ceil(uint64_t{dev->data->nb_rx_queues} * port.pipes_per_queue);
  if (dev->data->nb_rx_queues != 0 && pipes > regs::enso::kMaxPipes) {
    ENSO_LOG(ERR,
             "%u receive queues with pipes=%u need more than the %u pipes of the NIC: reduce the "
             "queues or pipes=",
             dev->data->nb_rx_queues, port.pipes_per_queue, regs::enso::kMaxPipes);
    return -EINVAL;
  }
  ResetReta(port);
  return 0;
}

/// Returns whether the device, which is in another process, has restarted without its pipes. If the
/// port is started, logs each loss and its remedy once.
bool IsLost(Port& port) {
  const bool lost = port.device->Lost();
  if (!port.loss_reported.exchange(lost) && lost && port.data->dev_started != 0) {
    ENSO_LOG(ERR, "%s: the device lost its pipes in a power cycle: stop and start the port",
             port.data->name);
  }
  return lost;
}

int UpdateLink(rte_eth_dev* dev, int) {
  Port& port = Port::Of(dev);
  emulator::Attachment* model = port.device->backend().model();
  const bool carrier = port.device->backend().Answers() && (model == nullptr || model->WireUp());
  rte_eth_link link{};
  const bool up = port.up && carrier && !IsLost(port);
  link.link_speed = up ? RTE_ETH_SPEED_NUM_100G : RTE_ETH_SPEED_NUM_NONE;
  link.link_duplex = RTE_ETH_LINK_FULL_DUPLEX;
  link.link_autoneg = RTE_ETH_LINK_FIXED;
  link.link_status = up ? RTE_ETH_LINK_UP : RTE_ETH_LINK_DOWN;
  return rte_eth_linkstatus_set(dev, &link);
}

/// Sets the queue states that rte_eth_rx_queue_info_get and rte_eth_tx_queue_info_get return.
void SetQueueStates(Port& port, bool started) {
  const auto state = [started](const auto& queue) -> uint8_t {
    return started && !queue->deferred_start ? RTE_ETH_QUEUE_STATE_STARTED
                                             : RTE_ETH_QUEUE_STATE_STOPPED;
  };
  for (size_t i = 0; i < port.rx.size(); ++i) port.data->rx_queue_state[i] = state(port.rx[i]);
  for (size_t i = 0; i < port.tx.size(); ++i) port.data->tx_queue_state[i] = state(port.tx[i]);
}

/// Reprograms a device that lost power. The caller must hold `device`'s lock.
int Recover(Device& device, const char* name) {
  const int result = device.Recover();
  if (result == -EBUSY) {
    ENSO_LOG(
        ERR,
        "%s: the device lost its state in a power cycle: close the native pipes and buffers first",
        name);
  } else if (result != 0) {
    ENSO_LOG(ERR, "%s: the device does not answer: try again once it is back", name);
  }
  return result;
}

/// Acquires the exception port. Logs the reason and returns -EINVAL if that fails.
int OwnExceptionPort(Port& port) {
  std::string error;
  port.exception = ExceptionPort::Own(port.exception_name, port.data->name, &error);
  if (port.exception != nullptr) return 0;
  ENSO_LOG(ERR, "%s: %s", port.data->name, error.c_str());
  return -EINVAL;
}

int StartExceptionPort(Port& port) {
  if (port.exception_name.empty()) return 0;
  if (port.exception != nullptr && port.exception->gone()) {
    for (auto& queue : port.tx) queue->exception = nullptr;
    port.exception.reset();
  }
  int result = port.exception == nullptr ? OwnExceptionPort(port) : 0;
  if (result != 0) return result;
  rte_mempool* const pool = port.rx.empty() ? nullptr : port.rx.front()->pool;
  result = port.exception->Start(port.data->mtu, pool);
  if (result != 0) {
    ENSO_LOG(ERR, "%s: the port of exception=%s cannot be started: %s", port.data->name,
             port.exception_name.c_str(), rte_strerror(-result));
  }
  for (auto& queue : port.tx) queue->exception = port.exception.get();
  return result;
}

/// Returns whether every configured queue has been set up: `queues` has `configured` elements, none
/// of which is null.
bool AllSetUp(const auto& queues, uint16_t configured) {
  return queues.size() == configured &&
         std::find(queues.begin(), queues.end(), nullptr) == queues.end();
}

int Start(rte_eth_dev* dev) {
  Port& port = Port::Of(dev);
  const std::scoped_lock lock(port.device->mutex());
  if (!AllSetUp(port.rx, dev->data->nb_rx_queues) || !AllSetUp(port.tx, dev->data->nb_tx_queues)) {
    ENSO_LOG(ERR, "%s: cannot start before all %u receive and %u transmit queues are set up",
             dev->data->name, dev->data->nb_rx_queues, dev->data->nb_tx_queues);
    return -EINVAL;
  }
  const bool exact = port.device->geometry().notify_per_packet;
  if (const int result = Recover(*port.device, dev->data->name); result != 0) return result;
  if (const int result = StartQueues(port); result != 0) return result;
  if (const int result = StartExceptionPort(port); result != 0) {
    StopQueues(port);
    return result;
  }
  const bool described = !port.rx.empty() && port.rx.front()->wanted.Any();
  dev->rx_pkt_burst = described ? (exact ? RxBurstExactDescribed : RxBurstDescribed)
                                : (exact ? RxBurstExact : RxBurst);
  const bool checksums = (dev->data->dev_conf.txmode.offloads & kTxChecksumOffloads) != 0;
  dev->tx_pkt_burst = checksums ? TxBurstChecksums : TxBurst;
  SetQueueStates(port, true);
  EnableWire(port, port.link_allowed);
  UpdateLink(dev, 0);
  return 0;
}

int Stop(rte_eth_dev* dev) {
  Port& port = Port::Of(dev);
  const std::scoped_lock lock(port.device->mutex());
  EnableWire(port, false);
  StopQueues(port);
  if (port.exception != nullptr) port.exception->Stop();
  SetQueueStates(port, false);
  UpdateLink(dev, 0);
  return 0;
}

int SetLinkUp(rte_eth_dev* dev) {
  Port& port = Port::Of(dev);
  if (port.device->backend().model() == nullptr) return -ENOTSUP;
  const std::scoped_lock lock(port.device->mutex());
  port.link_allowed = true;
  // A port without ethdev queues serves native pipes, which may be opened before or after the
  // start.
  if (dev->data->nb_rx_queues == 0 || port.device->InUse()) EnableWire(port, true);
  UpdateLink(dev, 0);
  return 0;
}

int SetLinkDown(rte_eth_dev* dev) {
  Port& port = Port::Of(dev);
  if (port.device->backend().model() == nullptr) return -ENOTSUP;
  const std::scoped_lock lock(port.device->mutex());
  port.link_allowed = false;
  EnableWire(port, false);
  UpdateLink(dev, 0);
  return 0;
}

/// Restores the driver to its state after probing. ethdev has stopped the port. The FPGA can only
/// be reset over JTAG.
int Reset(rte_eth_dev* dev) {
  Port& port = Port::Of(dev);
  const std::scoped_lock lock(port.device->mutex());
  if (const int result = Recover(*port.device, dev->data->name); result != 0) return result;
  port.flows.clear();
  port.link_allowed = true;
  ResetReta(port);
  return 0;
}

int Close(rte_eth_dev* dev) {
  const std::scoped_lock lock(drivers::AnswerMutex());
  Port::Of(dev).~Port();
  rte_free(dev->data->dev_private);
  dev->data->dev_private = nullptr;
  dev->data->mac_addrs = nullptr;  // mac_addrs was part of dev_private.
  return 0;
}

int GetInfo(rte_eth_dev* dev, rte_eth_dev_info* info) {
  info->max_rx_queues = kMaxQueues;
  info->max_tx_queues = kMaxQueues;
  info->min_rx_bufsize = regs::enso::kFlitBytes;
  info->max_rx_pktlen = kMaxFrameBytes;
  info->min_mtu = RTE_ETHER_MIN_MTU;
  info->max_mtu = kMaxMtu;
  info->max_mac_addrs = 1;
  info->speed_capa = RTE_ETH_LINK_SPEED_10G | RTE_ETH_LINK_SPEED_40G | RTE_ETH_LINK_SPEED_100G;
  // The driver implements these offloads in software. Scattering and gathering need no work beyond
  // the copy that every frame needs.
  info->rx_offload_capa =
      RTE_ETH_RX_OFFLOAD_SCATTER | RTE_ETH_RX_OFFLOAD_CHECKSUM | RTE_ETH_RX_OFFLOAD_RSS_HASH;
  info->tx_offload_capa =
      RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE | kTxChecksumOffloads;
  info->reta_size = static_cast<uint16_t>(Port::Of(dev).reta.size());
  info->flow_type_rss_offloads = kRssTypes;
  info->dev_capa = RTE_ETH_DEV_CAPA_FLOW_RULE_KEEP;
  // The rings are the pipes, whose size does not depend on the descriptor count.
  info->rx_desc_lim = {
      .nb_max = 32768, .nb_min = 1, .nb_align = 1, .nb_seg_max = 0, .nb_mtu_seg_max = 0};
  info->tx_desc_lim = info->rx_desc_lim;
  info->default_rxportconf = {.burst_size = 64, .ring_size = 1024, .nb_queues = 1};
  info->default_txportconf = info->default_rxportconf;
  return 0;
}

const uint32_t* GetSupportedPtypes(rte_eth_dev*) { return kPacketTypes; }

/// Selects the packet types that are reported in received mbufs, from the next start on.
int SetPtypes(rte_eth_dev* dev, uint32_t mask) {
  Port::Of(dev).packet_types = mask & kPacketTypeMask;
  return 0;
}

/// The FPGA does not filter by destination address: every receive mode is promiscuous.
int AcceptReceiveMode(rte_eth_dev*) { return 0; }
int RefuseReceiveMode(rte_eth_dev*) { return -ENOTSUP; }
int SetMacAddress(rte_eth_dev*, rte_ether_addr*) { return 0; }

/// The receive burst drops and counts frames that exceed the MTU. The limit is set when the port is
/// started.
int SetMtu(rte_eth_dev* dev, uint16_t mtu) {
  if (dev->data->dev_started == 0) return 0;
  ENSO_LOG(ERR, "%s: MTU %u can be set only while the port is stopped: stop the port first",
           dev->data->name, mtu);
  return -EBUSY;
}

int GetFlowOps(rte_eth_dev*, const rte_flow_ops** ops) {
  *ops = &kFlowOps;
  return 0;
}

void InitPort(rte_eth_dev* dev, std::unique_ptr<Backend> backend, const Geometry& geometry,
              uint32_t pipes_per_queue) {
  Port* port = new (dev->data->dev_private) Port;
  port->data = dev->data;
  port->pipes_per_queue = pipes_per_queue;
  port->device = std::make_unique<Device>(std::move(backend), geometry);
  rte_ether_addr* mac = &port->mac;
  if (emulator::Attachment* model = port->device->backend().model()) {
    model->MacAddress(mac->addr_bytes);
  } else {
    rte_eth_random_addr(mac->addr_bytes);
  }
  NameModelStatistics(*port);
  dev->data->mac_addrs = mac;
  dev->data->dev_flags |= RTE_ETH_DEV_FLOW_OPS_THREAD_SAFE | RTE_ETH_DEV_AUTOFILL_QUEUE_XSTATS;
  dev->data->promiscuous = 1;
  dev->data->all_multicast = 1;
  dev->dev_ops = &kEthdevOps;
  dev->rx_queue_count = CountRxQueue;
  dev->rx_descriptor_status = GetRxStatus;
  dev->tx_descriptor_status = GetTxStatus;
  UpdateLink(dev, 0);
}

/// Returns the register pages of a dump in order, kWords words each: for every receive queue, its
/// notification buffer and its pipes; for every transmit queue, its buffer. Empty while the port is
/// stopped.
std::vector<uint32_t> Pages(const Port& port) {
  std::vector<uint32_t> pages;
  for (const auto& queue : port.rx) {
    if (queue == nullptr || queue->nb == nullptr) continue;
    pages.push_back(NbPage(queue->nb->id()));
    for (const Pipe* const pipe : queue->nb->pipes()) pages.push_back(PipePage(pipe->id));
  }
  for (const auto& queue : port.tx) {
    if (queue != nullptr && queue->nb != nullptr) pages.push_back(NbPage(queue->nb->id()));
  }
  return pages;
}

constexpr uint32_t kWords = kTxMemHi / 4 + 1;

}  // namespace

int CreatePort(rte_device* device, const char* name, std::unique_ptr<Backend> backend,
               const Geometry& geometry, uint32_t pipes_per_queue, const std::string& exception) {
  rte_eth_dev* dev = rte_eth_dev_allocate(name);
  if (dev == nullptr) {
    ENSO_LOG(ERR, "%s: no ethdev port is free", name);
    return -ENOMEM;
  }
  dev->data->dev_private = rte_zmalloc_socket(name, sizeof(Port), alignof(Port), device->numa_node);
  if (dev->data->dev_private == nullptr) {
    ENSO_LOG(ERR, "%s: no memory for the port", name);
    rte_eth_dev_release_port(dev);
    return -ENOMEM;
  }
  dev->device = device;
  dev->data->numa_node = device->numa_node;
  InitPort(dev, std::move(backend), geometry, pipes_per_queue);
  Port& port = Port::Of(dev);
  port.exception_name = exception;
  // EAL probes vdevs after PCI devices. If the exception port does not exist yet, it is therefore
  // acquired when this port is started.
  uint16_t exception_port;
  if (rte_eth_dev_get_port_by_name(exception.c_str(), &exception_port) == 0 &&
      OwnExceptionPort(port) != 0) {
    Close(dev);
    rte_eth_dev_release_port(dev);
    return -EINVAL;
  }
  drivers::AnswerSecondaries(kSecondaryChannel);
  rte_eth_dev_probing_finish(dev);
  return 0;
}

int RemovePort(const char* name) {
  if (rte_eal_process_type() != RTE_PROC_PRIMARY) return drivers::RemoveSecondary(name);
  rte_eth_dev* dev = rte_eth_dev_allocated(name);
  if (dev == nullptr) return 0;
  // ethdev does not close a started port.
  if (dev->data->dev_started != 0) rte_eth_dev_stop(dev->data->port_id);
  return rte_eth_dev_close(dev->data->port_id);
}

constinit const eth_dev_ops kEthdevOps = [] {
  eth_dev_ops ops{};
  ops.dev_configure = Configure;
  ops.dev_start = Start;
  ops.dev_stop = Stop;
  ops.dev_close = Close;
  ops.dev_reset = Reset;
  ops.dev_set_link_up = SetLinkUp;
  ops.dev_set_link_down = SetLinkDown;
  ops.link_update = UpdateLink;
  ops.dev_infos_get = GetInfo;
  ops.dev_supported_ptypes_get = dpdk::kSupportedPtypesGet<GetSupportedPtypes>;
  ops.dev_ptypes_set = SetPtypes;
  ops.promiscuous_enable = AcceptReceiveMode;
  ops.promiscuous_disable = RefuseReceiveMode;
  ops.allmulticast_enable = AcceptReceiveMode;
  ops.allmulticast_disable = RefuseReceiveMode;
  ops.mac_addr_set = SetMacAddress;
  ops.mtu_set = SetMtu;
  ops.rx_queue_setup = SetupRxQueue;
  ops.rx_queue_release = ReleaseRxQueue;
  ops.tx_queue_setup = SetupTxQueue;
  ops.tx_queue_release = ReleaseTxQueue;
  ops.rxq_info_get = GetRxQueueInfo;
  ops.txq_info_get = GetTxQueueInfo;
  ops.tx_done_cleanup = CleanTxQueue;
  ops.rx_queue_start = StartRxQueue;
  ops.rx_queue_stop = StopRxQueue;
  ops.tx_queue_start = StartTxQueue;
  ops.tx_queue_stop = StopTxQueue;
  ops.rx_burst_mode_get = GetRxBurstMode;
  ops.tx_burst_mode_get = GetTxBurstMode;
  ops.reta_update = UpdateReta;
  ops.reta_query = QueryReta;
  ops.rss_hash_update = UpdateRssHash;
  ops.rss_hash_conf_get = GetRssHash;
  ops.stats_get = dpdk::kStatsGet<GetStats>;
  ops.stats_reset = ResetStats;
  ops.xstats_get = GetXstats;
  ops.xstats_get_names = GetXstatNames;
  ops.xstats_reset = ResetStats;
  ops.flow_ops_get = GetFlowOps;
  ops.get_reg = DumpRegisters;
  return ops;
}();

// A dump of the registers that the port uses. It does not include the NIC's version, which can be
// read only with the NIC's JTAG tool.

int DumpRegisters(rte_eth_dev* dev, rte_dev_reg_info* info) {
  Port& port = Port::Of(dev);
  const std::scoped_lock lock(port.device->mutex());
  const std::vector<uint32_t> pages = Pages(port);
  const auto words = static_cast<uint32_t>(pages.size()) * kWords;
  info->width = sizeof(uint32_t);
  info->version = uint32_t{kPciVendor} << 16 | kPciDevice;
  if (info->data != nullptr) {
    // Only a complete dump is supported.
    if (info->offset != 0 || (info->length != 0 && info->length != words)) return -ENOTSUP;
    auto* word = static_cast<uint32_t*>(info->data);
    for (const uint32_t page : pages) {
      for (uint32_t i = 0; i < kWords; ++i) *word++ = port.device->bar().Read32(page + 4 * i);
    }
  }
  info->length = words;
  return 0;
}

// The port in a secondary process. It requests link, statistics and capabilities from the primary
// process and reports them. It cannot transfer packets, because only the primary process has the
// pipes and their read positions.

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
