// SPDX-License-Identifier: BSD-3-Clause
//
// Presents the NIC's fallback pipes as ethdev RSS. The NIC's hash selects one of 2^n pipes, and
// each pipe reports to one queue. The hash has no key and no choice of fields. The queue of a pipe
// can be chosen until the pipe is opened.
#include <algorithm>
#include <bit>
#include <cerrno>

#include "net_enso/enso_port.h"

namespace sluice::net_enso {

uint32_t FallbackPipes(const Port& port) {
  return std::bit_ceil(uint32_t{port.data->nb_rx_queues} * port.pipes_per_queue);
}

void ResetReta(Port& port) {
  const uint16_t queues = port.data->nb_rx_queues;
  port.reta.resize(queues == 0 ? 0 : FallbackPipes(port));
  for (size_t i = 0; i < port.reta.size(); ++i) port.reta[i] = static_cast<uint16_t>(i % queues);
}

int UpdateReta(rte_eth_dev* dev, rte_eth_rss_reta_entry64* entries, uint16_t size) {
  Port& port = Port::Of(dev);
  const std::scoped_lock lock(port.device->mutex());
  if (size != port.reta.size()) return -EINVAL;
  if (dev->data->dev_started != 0) {
    ENSO_LOG(ERR,
             "%s: the indirection table can change only while the port is stopped: stop it first",
             dev->data->name);
    return -EBUSY;
  }
  std::vector<uint16_t> reta = port.reta;
  for (uint32_t i = 0; i < size; ++i) {
    const rte_eth_rss_reta_entry64& group = entries[i / RTE_ETH_RETA_GROUP_SIZE];
    const uint32_t entry = i % RTE_ETH_RETA_GROUP_SIZE;
    if (group.mask & RTE_BIT64(entry)) reta[i] = group.reta[entry];
  }
  for (uint16_t queue = 0; queue < dev->data->nb_rx_queues; ++queue) {
    if (std::find(reta.begin(), reta.end(), queue) != reta.end()) continue;
    ENSO_LOG(ERR,
             "%s: no entry of the indirection table refers to queue %u: give each queue at least "
             "one entry",
             dev->data->name, queue);
    return -ENOTSUP;
  }
  port.reta = std::move(reta);
  return 0;
}

int QueryReta(rte_eth_dev* dev, rte_eth_rss_reta_entry64* entries, uint16_t size) {
  const Port& port = Port::Of(dev);
  if (size != port.reta.size()) return -EINVAL;
  for (uint32_t i = 0; i < size; ++i) {
    rte_eth_rss_reta_entry64& group = entries[i / RTE_ETH_RETA_GROUP_SIZE];
    const uint32_t entry = i % RTE_ETH_RETA_GROUP_SIZE;
    if (group.mask & RTE_BIT64(entry)) group.reta[entry] = port.reta[i];
  }
  return 0;
}

/// ethdev has checked that kRssTypes contains the types. A subset is accepted, although the NIC
/// always uses all types.
int UpdateRssHash(rte_eth_dev* dev, rte_eth_rss_conf* conf) {
  const char* missing = conf->rss_key != nullptr ? "the NIC's hash has no key: omit the key"
                        : conf->rss_hf == 0 ? "RSS cannot be disabled on this NIC: give a hash type"
                                            : nullptr;
  if (missing == nullptr) return 0;
  ENSO_LOG(ERR, "%s: %s", dev->data->name, missing);
  return -ENOTSUP;
}

int GetRssHash(rte_eth_dev*, rte_eth_rss_conf* conf) {
  conf->rss_key_len = 0;
  conf->rss_hf = kRssTypes;
  return 0;
}

}  // namespace sluice::net_enso
