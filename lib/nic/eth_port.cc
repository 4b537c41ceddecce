// SPDX-License-Identifier: BSD-3-Clause
#include "nic/eth_port.h"

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>

#include "packet/partial_checksum.h"

namespace sluice::nic {

namespace {

constexpr uint16_t kDefaultDescriptors = 1024;
constexpr uint32_t kPoolCache = 256;
// Number of mbufs that a worker may hold, including those in its pool's cache, which grows to 1.5
// times its nominal size.
constexpr uint32_t kMbufsInFlight = 4 * 64 + kPoolCache * 3 / 2;

constexpr uint32_t kFrameOverhead = RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;
// Longest IP packet that fits into one mbuf, even if the NIC keeps two VLAN tags and the FCS.
constexpr uint32_t kMbufPacketBytes =
    RTE_MBUF_DEFAULT_DATAROOM - kFrameOverhead - 2 * RTE_VLAN_HLEN;

uint16_t RingSize(uint16_t wanted, uint16_t preferred, const rte_eth_desc_lim& limits) {
  uint32_t size = wanted != 0 ? wanted : preferred != 0 ? preferred : kDefaultDescriptors;
  if (limits.nb_max != 0) size = std::min<uint32_t>(size, limits.nb_max);
  size = std::max<uint32_t>(size, limits.nb_min);
  if (limits.nb_align > 1) size -= size % limits.nb_align;
  return static_cast<uint16_t>(size);
}

}  // namespace

uint32_t FitPacketBytes(uint16_t port, uint32_t wanted) {
  rte_eth_dev_info info{};
  if (rte_eth_dev_info_get(port, &info) != 0) return kUsualPacketBytes;
  return std::min<uint32_t>(std::max(wanted, kUsualPacketBytes), info.max_mtu);
}

int ConfigureSpread(uint16_t port, uint16_t rx_queues, uint16_t tx_queues, uint32_t packet_bytes) {
  rte_eth_dev_info info{};
  const int rc = rte_eth_dev_info_get(port, &info);
  if (rc != 0) return rc;
  rte_eth_conf conf{};
  if (rx_queues > 1) {
    conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    conf.rx_adv_conf.rss_conf.rss_hf =
        (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_TCP) & info.flow_type_rss_offloads;
    if (conf.rx_adv_conf.rss_conf.rss_hf == 0) conf.rxmode.mq_mode = RTE_ETH_MQ_RX_NONE;
  }
  // Drivers that support only standard frame lengths (net_af_packet) do not accept an MTU.
  if (packet_bytes > kUsualPacketBytes && packet_bytes + kFrameOverhead <= info.max_rx_pktlen) {
    conf.rxmode.mtu = packet_bytes;
  }
  // This offload requires that all mbufs of a transmit queue come from one pool and are neither
  // shared nor chained. All transmitting code in lib/nic ensures this.
  conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
  return rte_eth_dev_configure(port, rx_queues, tx_queues, &conf);
}

bool SetPromiscuous(uint16_t port, bool promiscuous) {
  if (promiscuous) return rte_eth_promiscuous_enable(port) == 0;
  if (rte_eth_allmulticast_enable(port) == 0) return rte_eth_promiscuous_disable(port) == 0;
  rte_eth_promiscuous_enable(port);
  return false;
}

std::string PortText(uint16_t port) {
  char name[RTE_ETH_NAME_MAX_LEN] = "?";
  rte_eth_dev_get_name_by_port(port, name);
  return std::string("port ") + name;
}

int EthPort::Configure(const Options& options, std::string* step) {
  rte_eth_dev_info info{};
  *step = "querying its capabilities";
  int rc = rte_eth_dev_info_get(port_, &info);
  if (rc != 0) return rc;

  *step = "configuring " + std::to_string(options.rx_queues) + " receive and " +
          std::to_string(options.tx_queues) + " transmit queues";
  packet_bytes_ = FitPacketBytes(port_, std::min(options.packet_bytes, kMbufPacketBytes));
  rc = ConfigureSpread(port_, options.rx_queues, options.tx_queues, packet_bytes_);
  if (rc != 0) return rc;

  const uint16_t rx_ring =
      RingSize(options.descriptors, info.default_rxportconf.ring_size, info.rx_desc_lim);
  const uint16_t tx_ring =
      RingSize(options.descriptors, info.default_txportconf.ring_size, info.tx_desc_lim);
  const int socket = rte_eth_dev_socket_id(port_);
  for (uint16_t i = 0; i < std::max(options.rx_queues, options.tx_queues); ++i) {
    *step = "allocating memory for queue " + std::to_string(i) +
            " (give EAL more memory, with -m or hugepages)";
    const std::string name = "sluice_" + std::to_string(port_) + "_" + std::to_string(i);
    rte_mempool* const pool =
        rte_pktmbuf_pool_create(name.c_str(), rx_ring + tx_ring + kMbufsInFlight, kPoolCache, 0,
                                RTE_MBUF_DEFAULT_BUF_SIZE, socket);
    if (pool == nullptr) return -rte_errno;
    pools_.push_back(pool);
  }
  for (uint16_t i = 0; i < options.rx_queues; ++i) {
    *step = "setting up receive queue " + std::to_string(i);
    rc = rte_eth_rx_queue_setup(port_, i, rx_ring, static_cast<unsigned>(socket), nullptr,
                                pools_[i]);
    if (rc != 0) return rc;
  }
  for (uint16_t i = 0; i < options.tx_queues; ++i) {
    *step = "setting up transmit queue " + std::to_string(i);
    rc = rte_eth_tx_queue_setup(port_, i, tx_ring, static_cast<unsigned>(socket), nullptr);
    if (rc != 0) return rc;
  }
  // Disables packet-type parsing, which some drivers do in software and which no interface uses.
  // Some drivers do not support this call.
  rte_eth_dev_set_ptypes(port_, RTE_PTYPE_UNKNOWN, nullptr, 0);
  if (packet::HidesPartialChecksums(info.driver_name)) CompleteChecksums(options.rx_queues);
  // Sets the mode before the start, so that even the first frames are filtered correctly. Some
  // drivers can set it only after the start, others not at all.
  const bool accepts = SetPromiscuous(port_, options.promiscuous);
  if (options.before_start) options.before_start();
  *step = "starting it";
  rc = rte_eth_dev_start(port_);
  if (rc != 0) return rc;
  started_ = true;
  if (!accepts) SetPromiscuous(port_, options.promiscuous);
  return 0;
}

void EthPort::CompleteChecksums(uint16_t rx_queues) {
  const auto complete = [](uint16_t, uint16_t, rte_mbuf** mbufs, uint16_t count, uint16_t, void*) {
    for (uint16_t i = 0; i < count; ++i) {
      packet::CompletePartialChecksum(rte_pktmbuf_mtod(mbufs[i], uint8_t*),
                                      rte_pktmbuf_data_len(mbufs[i]));
    }
    return count;
  };
  for (uint16_t i = 0; i < rx_queues; ++i) {
    callbacks_.push_back(rte_eth_add_rx_callback(port_, i, complete, nullptr));
  }
}

std::unique_ptr<EthPort> EthPort::Open(uint16_t port, const Options& options, std::string* error) {
  std::unique_ptr<EthPort> opened(new EthPort(port));
  std::string step;
  const int rc = opened->Configure(options, &step);
  if (rc == 0) return opened;
  *error = PortText(port) + ": " + step + " failed: " + rte_strerror(-rc);
  return nullptr;
}

EthPort::~EthPort() {
  if (started_) rte_eth_dev_stop(port_);
  // The callbacks must be removed, because a later port with this number would inherit them.
  for (uint16_t i = 0; i < callbacks_.size(); ++i) {
    if (callbacks_[i] != nullptr) rte_eth_remove_rx_callback(port_, i, callbacks_[i]);
  }
  rte_eth_dev_close(port_);
  for (rte_mempool* pool : pools_) rte_mempool_free(pool);
}

}  // namespace sluice::nic
