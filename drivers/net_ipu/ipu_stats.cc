// SPDX-License-Identifier: BSD-3-Clause
//
// Statistics: the queues' counts of frames that the application received and sent, the sums over
// links, and the device's counters. The device's counters are read from the attachment, together
// with the wire's, so that they continue to count after a power-on of the device.
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

#include "net_ipu/ipu_adapter.h"

namespace sluice::net_ipu {

using namespace regs::ipu;  // NOLINT: this file speaks that register map

namespace {

uint64_t Relaxed(const uint64_t& counter) { return __atomic_load_n(&counter, __ATOMIC_RELAXED); }

template <typename Function>
void ForEachRx(const rte_eth_dev* dev, Function&& function) {
  for (uint32_t i = 0; i < dev->data->nb_rx_queues; ++i) {
    if (auto* const queue = static_cast<RxQueue*>(dev->data->rx_queues[i])) function(i, *queue);
  }
}
template <typename Function>
void ForEachTx(const rte_eth_dev* dev, Function&& function) {
  for (uint32_t i = 0; i < dev->data->nb_tx_queues; ++i) {
    if (auto* const queue = static_cast<TxQueue*>(dev->data->tx_queues[i])) function(i, *queue);
  }
}

/// Values in the order of the registers.
using DeviceStats = std::array<uint64_t, kStatisticCount>;

DeviceStats ReadDevice(Adapter& adapter) {
  constexpr std::string_view kPrefix = "model_";
  DeviceStats values{};
  for (const emulator::Statistic& statistic : adapter.attachment->Statistics()) {
    const std::string_view name = statistic.name;
    if (!name.starts_with(kPrefix)) continue;
    const auto at = std::find(std::begin(kStatisticNames), std::end(kStatisticNames),
                              name.substr(kPrefix.size()));
    if (at != std::end(kStatisticNames)) values[at - std::begin(kStatisticNames)] = statistic.value;
  }
  return values;
}

/// Returns the values since the last reset.
DeviceStats DeviceSinceReset(Adapter& adapter) {
  DeviceStats values = ReadDevice(adapter);
  for (uint32_t i = 0; i < kStatisticCount; ++i) values[i] -= adapter.device_base[i];
  return values;
}

std::array<uint64_t, kDriverStats> DriverStats(const rte_eth_dev* dev) {
  std::array<uint64_t, kDriverStats> values{};
  ForEachRx(dev, [&](uint32_t, const RxQueue& queue) {
    values[kRxBadWriteback] += Relaxed(queue.bad_writeback);
    values[kRxStopDiscards] += Relaxed(queue.stop_discards);
    values[kRxNoMbuf] += Relaxed(queue.no_mbuf);
  });
  ForEachTx(dev, [&](uint32_t, const TxQueue& queue) {
    values[kTxBadPacket] += Relaxed(queue.bad_packet);
    values[kTxStopDiscards] += Relaxed(queue.stop_discards);
  });
  return values;
}

/// Calls `function` with the name and value of each extended statistic, in order.
template <typename Function>
void ForEachXstat(rte_eth_dev* dev, Function&& function) {
  Adapter& adapter = AdapterOf(dev);
  const auto driver = DriverStats(dev);
  for (uint32_t i = 0; i < kDriverStats; ++i) function(kDriverRows[i].name, driver[i]);
  const LinkTotals links = SumLinks(adapter);
  for (size_t i = 0; i < links.size(); ++i) {
    function(kLinkCounters[i].name, links[i] - adapter.link_base[i]);
  }
  const LineTotals lines = SumLines(adapter);
  for (size_t i = 0; i < lines.size(); ++i) {
    function(kLineCounters[i].name, lines[i] - adapter.line_base[i]);
  }
  const auto statistics = adapter.attachment->Statistics();
  for (size_t i = 0; i < statistics.size(); ++i) {
    function(statistics[i].name.c_str(), statistics[i].value - adapter.attachment_base[i]);
  }
}

uint32_t XstatsCount(Adapter& adapter) {
  return static_cast<uint32_t>(kDriverStats + kLinkCounters.size() + kLineCounters.size() +
                               adapter.attachment->Statistics().size());
}

}  // namespace

int StatsGet(rte_eth_dev* dev, rte_eth_stats* stats, dpdk::QueueStats* queues) {
  Adapter& adapter = AdapterOf(dev);
  ForEachRx(dev, [&](uint32_t i, const RxQueue& queue) {
    const uint64_t packets = Relaxed(queue.packets);
    const uint64_t bytes = Relaxed(queue.bytes);
    stats->ipackets += packets;
    stats->ibytes += bytes;
    stats->ierrors += Relaxed(queue.bad_writeback);
    stats->imissed += Relaxed(queue.stop_discards);
    stats->rx_nombuf += Relaxed(queue.no_mbuf);
    if (queues == nullptr || i >= RTE_ETHDEV_QUEUE_STAT_CNTRS) return;
    queues->q_ipackets[i] = packets;
    queues->q_ibytes[i] = bytes;
    queues->q_errors[i] = Relaxed(queue.bad_writeback);
  });
  ForEachTx(dev, [&](uint32_t i, const TxQueue& queue) {
    const uint64_t packets = Relaxed(queue.packets);  // Includes the packets that a stop discarded.
    const uint64_t bytes = Relaxed(queue.bytes);
    stats->opackets += packets;
    stats->obytes += bytes;
    stats->oerrors += Relaxed(queue.bad_packet) + Relaxed(queue.stop_discards);
    if (queues == nullptr || i >= RTE_ETHDEV_QUEUE_STAT_CNTRS) return;
    queues->q_opackets[i] = packets;
    queues->q_obytes[i] = bytes;
  });
  const DeviceStats device = DeviceSinceReset(adapter);
  if (dev->data->nb_rx_queues == 0) {
    // If the port has only links, the application counts the frames in its regions, so the device's
    // counters are used here.
    stats->ipackets = device[kStatRxFrames];
    stats->ibytes = device[kStatRxBytes];
    stats->opackets = device[kStatTxFrames];
    stats->obytes = device[kStatTxBytes];
  }
  stats->imissed += device[kStatRxNoDescriptor] + device[kStatRxNoRegion] + device[kStatRxNoLine] +
                    device[kStatRxDisabled];
  stats->ierrors += device[kStatRxOversize] + device[kStatRxUndersize] + device[kStatRxDmaFault];
  stats->oerrors += device[kStatTxBadDescriptor] + device[kStatTxDmaFault] +
                    device[kStatLinkBadEntry] + device[kStatLineBadRecord] +
                    device[kStatLineOrphans];
  return 0;
}

int StatsReset(rte_eth_dev* dev) {
  Adapter& adapter = AdapterOf(dev);
  ForEachRx(dev, [](uint32_t, RxQueue& queue) {
    queue.packets = queue.bytes = 0;
    queue.no_mbuf = queue.bad_writeback = queue.stop_discards = 0;
  });
  ForEachTx(dev, [](uint32_t, TxQueue& queue) {
    queue.packets = queue.bytes = 0;
    queue.bad_packet = queue.stop_discards = 0;
  });
  adapter.link_base = SumLinks(adapter);
  adapter.line_base = SumLines(adapter);
  adapter.device_base = ReadDevice(adapter);
  return 0;
}

int XstatsGet(rte_eth_dev* dev, rte_eth_xstat* stats, unsigned int count) {
  const uint32_t total = XstatsCount(AdapterOf(dev));
  if (stats == nullptr || count < total) return static_cast<int>(total);
  uint32_t i = 0;
  ForEachXstat(dev, [&](const char*, uint64_t value) {
    stats[i] = {.id = i, .value = value};
    ++i;
  });
  return static_cast<int>(i);
}

int XstatsGetNames(rte_eth_dev* dev, rte_eth_xstat_name* names, unsigned int size) {
  const uint32_t total = XstatsCount(AdapterOf(dev));
  if (names == nullptr || size < total) return static_cast<int>(total);
  uint32_t i = 0;
  ForEachXstat(dev, [&](const char* name, uint64_t) {
    std::snprintf(names[i++].name, RTE_ETH_XSTATS_NAME_SIZE, "%s", name);
  });
  return static_cast<int>(i);
}

int XstatsReset(rte_eth_dev* dev) {
  Adapter& adapter = AdapterOf(dev);
  const auto statistics = adapter.attachment->Statistics();
  for (size_t i = 0; i < statistics.size(); ++i) adapter.attachment_base[i] = statistics[i].value;
  return StatsReset(dev);
}

}  // namespace sluice::net_ipu
