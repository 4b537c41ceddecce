// SPDX-License-Identifier: BSD-3-Clause
//
// Basic and extended statistics. Every frame that is not delivered is counted in one of them. The
// driver's counters come first, followed by the model's counters under the names that the model
// uses.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "device/enso/counters.h"
#include "net_enso/enso_counters.h"
#include "net_enso/enso_port.h"

namespace sluice::net_enso {
namespace {

struct Named {
  const char* name;
  uint64_t (*value)(const Port& port);
};

template <uint64_t RxQueue::*kField>
uint64_t SumRx(const Port& port) {
  uint64_t sum = 0;
  for (const auto& queue : port.rx) sum += queue == nullptr ? 0 : (*queue).*kField;
  return sum;
}
template <uint64_t TxQueue::*kField>
uint64_t SumTx(const Port& port) {
  uint64_t sum = 0;
  for (const auto& queue : port.tx) sum += queue == nullptr ? 0 : (*queue).*kField;
  return sum;
}
template <Event kEvent>
uint64_t Since(const Port& port) {
  return port.device->Counted(kEvent) - port.event_zero[static_cast<uint32_t>(kEvent)];
}

constexpr const char* Name(DriverDrops::Id drop) { return DriverDrops::kRows[drop].name; }

constexpr std::array kNamed{
    Named{"rx_desync", SumRx<&RxQueue::desync_flits>},
    Named{Name(DriverDrops::kRxTooLong), SumRx<&RxQueue::too_long>},
    Named{"rx_nombuf", SumRx<&RxQueue::no_mbuf>},
    Named{Name(DriverDrops::kRxStop), SumRx<&RxQueue::stop_drops>},
    Named{Name(DriverDrops::kTxUnframeable), SumTx<&TxQueue::unframeable>},
    Named{Name(DriverDrops::kTxBadPacket), SumTx<&TxQueue::bad_packet>},
    Named{"tx_exceptions", SumTx<&TxQueue::exceptions>},
    Named{"tx_full", SumTx<&TxQueue::full>},
    Named{"nb_bad_notifications", Since<Event::kBadNotification>},
    Named{"nb_bad_completions", Since<Event::kBadCompletion>},
    Named{"nb_wakeups", Since<Event::kWakeups>},
    Named{"pipe_unread_flits", Since<Event::kUnreadFlits>},
    Named{"device_stuck_rings", Since<Event::kStuckRings>},
};

/// Returns the model's totals since power-on, one per name.
std::vector<uint64_t> ModelTotals(const Port& port) {
  std::vector<uint64_t> values;
  emulator::Attachment* model = port.device->backend().model();
  if (model == nullptr) return values;
  for (const emulator::Statistic& statistic : model->Statistics())
    values.push_back(statistic.value);
  values.resize(port.model_names.size());
  return values;
}

std::vector<uint64_t> ModelValues(const Port& port) {
  std::vector<uint64_t> values = ModelTotals(port);
  for (size_t i = 0; i < values.size(); ++i) values[i] -= port.model_zero[i];
  return values;
}

/// Returns the number of received frames that the NIC dropped.
uint64_t Missed(const Port& port) {
  constexpr std::string_view kPrefix = "model_";
  const std::vector<uint64_t> values = ModelValues(port);
  uint64_t missed = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string_view name = port.model_names[i];
    for (const auto& row : device::enso::kEventRows) {
      const bool dropped = row.at == base::Dropped::kNic && name.starts_with(kPrefix) &&
                           name.substr(kPrefix.size()) == row.name;
      if (dropped) missed += values[i];
    }
  }
  return missed;
}

}  // namespace

void NameModelStatistics(Port& port) {
  emulator::Attachment* model = port.device->backend().model();
  if (model == nullptr) return;
  for (const emulator::Statistic& statistic : model->Statistics()) {
    port.model_names.push_back(statistic.name);
    port.model_zero.push_back(statistic.value);
  }
}

int GetStats(rte_eth_dev* dev, rte_eth_stats* stats, dpdk::QueueStats* queues) {
  const Port& port = Port::Of(dev);
  for (const auto& queue : port.rx) {
    if (queue == nullptr) continue;
    stats->ipackets += queue->counters.packets;
    stats->ibytes += queue->counters.bytes;
    stats->ierrors += queue->too_long;
    stats->imissed += queue->stop_drops;
    stats->rx_nombuf += queue->no_mbuf;
    if (queues == nullptr || queue->id >= RTE_ETHDEV_QUEUE_STAT_CNTRS) continue;
    queues->q_ipackets[queue->id] = queue->counters.packets;
    queues->q_ibytes[queue->id] = queue->counters.bytes;
    queues->q_errors[queue->id] = queue->too_long;
  }
  for (const auto& queue : port.tx) {
    if (queue == nullptr) continue;
    stats->opackets += queue->counters.packets;
    stats->obytes += queue->counters.bytes;
    stats->oerrors += queue->unframeable + queue->bad_packet;
    if (queues == nullptr || queue->id >= RTE_ETHDEV_QUEUE_STAT_CNTRS) continue;
    queues->q_opackets[queue->id] = queue->counters.packets;
    queues->q_obytes[queue->id] = queue->counters.bytes;
  }
  stats->imissed += Missed(port);
  return 0;
}

int ResetStats(rte_eth_dev* dev) {
  Port& port = Port::Of(dev);
  for (auto& queue : port.rx) {
    if (queue == nullptr) continue;
    queue->counters = {};
    queue->desync_flits = queue->too_long = queue->no_mbuf = queue->stop_drops = 0;
  }
  for (auto& queue : port.tx) {
    if (queue == nullptr) continue;
    queue->counters = {};
    queue->unframeable = queue->bad_packet = queue->exceptions = queue->full = 0;
  }
  for (uint32_t i = 0; i < port.event_zero.size(); ++i) {
    port.event_zero[i] = port.device->Counted(static_cast<Event>(i));
  }
  const std::vector<uint64_t> totals = ModelTotals(port);
  std::copy(totals.begin(), totals.end(), port.model_zero.begin());
  return 0;
}

int GetXstats(rte_eth_dev* dev, rte_eth_xstat* xstats, unsigned size) {
  const Port& port = Port::Of(dev);
  const auto total = static_cast<unsigned>(kNamed.size() + port.model_names.size());
  if (xstats == nullptr || size < total) return static_cast<int>(total);
  const std::vector<uint64_t> model = ModelValues(port);
  for (unsigned i = 0; i < total; ++i) {
    xstats[i].id = i;
    xstats[i].value = i < kNamed.size() ? kNamed[i].value(port) : model[i - kNamed.size()];
  }
  return static_cast<int>(total);
}

int GetXstatNames(rte_eth_dev* dev, rte_eth_xstat_name* names, unsigned size) {
  const Port& port = Port::Of(dev);
  const auto total = static_cast<unsigned>(kNamed.size() + port.model_names.size());
  if (names == nullptr || size < total) return static_cast<int>(total);
  for (unsigned i = 0; i < total; ++i) {
    const char* name =
        i < kNamed.size() ? kNamed[i].name : port.model_names[i - kNamed.size()].c_str();
    std::snprintf(names[i].name, sizeof(names[i].name), "%s", name);
  }
  return static_cast<int>(total);
}

}  // namespace sluice::net_enso
