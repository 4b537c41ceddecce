// SPDX-License-Identifier: BSD-3-Clause
//
// Aging of flow rules. A rule ages if it has no hits for the time in its age action. The device
// detects this and raises an interrupt. It identifies the rule by the rule's address in the driver,
// which the driver looks up among the known rules.
#include <ethdev_driver.h>
#include <rte_flow_driver.h>

#include <algorithm>
#include <mutex>

#include "net_ipu/ipu_adapter.h"

namespace sluice::net_ipu {

using namespace regs::ipu;  // NOLINT: this file speaks that register map

void CollectAged(rte_eth_dev* dev) {
  Adapter& adapter = AdapterOf(dev);
  bool tell = false;
  {
    const std::scoped_lock lock(adapter.configuration);
    // Limits the iterations to the number of rules, even if the device returns more.
    for (size_t left = adapter.flows.size(); left != 0; --left) {
      adapter.registers.Write32(kFlowCommand, static_cast<uint32_t>(FlowCommand::kPopAged));
      if (adapter.registers.Read32(kFlowStatus) != static_cast<uint32_t>(FlowStatus::kOk)) break;
      const uint64_t cookie = adapter.registers.Read64(kFlowHits);
      const auto known = adapter.flow_places.find(reinterpret_cast<const rte_flow*>(cookie));
      if (known == adapter.flow_places.end() || known->second->aged) continue;
      known->second->aged = true;
      adapter.aged.push_back(&*known->second);
      tell = adapter.notify_aged;
    }
    if (tell) adapter.notify_aged = false;
  }
  // Called without the lock, because the callback may destroy rules.
  if (tell) rte_eth_dev_callback_process(dev, RTE_ETH_EVENT_FLOW_AGED, nullptr);
}

int GetAgedFlows(rte_eth_dev* dev, void** contexts, uint32_t count, rte_flow_error* error) {
  if (contexts == nullptr && count != 0) {
    return rte_flow_error_set(error, EINVAL, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, nullptr,
                              "the array is too small for all aged rules");
  }
  Adapter& adapter = AdapterOf(dev);
  const std::scoped_lock lock(adapter.configuration);
  adapter.notify_aged = true;
  if (count == 0) return static_cast<int>(adapter.aged.size());
  const size_t copied = std::min<size_t>(count, adapter.aged.size());
  for (size_t i = 0; i < copied; ++i) {
    rte_flow* const flow = adapter.aged[i];
    contexts[i] = flow->context != nullptr ? flow->context : flow;
  }
  return static_cast<int>(copied);
}

void ForgetAge(Adapter& adapter, rte_flow& flow) {
  if (flow.aged) std::erase(adapter.aged, &flow);
}

}  // namespace sluice::net_ipu
