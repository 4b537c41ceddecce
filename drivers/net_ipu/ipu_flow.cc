// SPDX-License-Identifier: BSD-3-Clause
//
// rte_flow on the device's exact-match table. Rules are written to the device's registers and
// stored for the next start. ipu_flow_parse.h describes the supported rules.
#include <ethdev_driver.h>
#include <rte_flow.h>
#include <rte_flow_driver.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "flow_items.h"
#include "net_ipu/ipu_adapter.h"
#include "net_ipu/ipu_flow_parse.h"

namespace sluice::net_ipu {

using namespace regs::ipu;  // NOLINT: this file speaks that register map

namespace {

template <size_t kBytes>
void WriteOctets(bar::Bar& registers, uint32_t offset, const std::array<uint8_t, kBytes>& octets) {
  for (uint32_t at = 0; at < kBytes; at += 4) {
    uint32_t word;
    std::memcpy(&word, octets.data() + at, 4);
    registers.Write32(offset + at, word);
  }
}

void Post(bar::Bar& registers, const rte_flow& flow, FlowCommand command) {
  registers.Write32(kFlowFields, flow.fields);
  registers.Write32(kFlowProtocol, flow.protocol);
  registers.Write32(kFlowPorts, flow.ports);
  WriteOctets(registers, kFlowSource, flow.source);
  WriteOctets(registers, kFlowDestination, flow.destination);
  registers.Write32(kFlowShape, flow.shape);
  WriteOctets(registers, kFlowEtherSource, flow.ether_source);
  WriteOctets(registers, kFlowEtherDestination, flow.ether_destination);
  registers.Write32(kFlowAction, flow.action);
  registers.Write32(kFlowMark, flow.mark);
  registers.Write32(kFlowAge, flow.age_s);
  if (flow.age_s != 0) registers.Write64(kFlowCookie, reinterpret_cast<uint64_t>(&flow));
  registers.Write32(kFlowCommand, static_cast<uint32_t>(command));
}

/// Executes a command for a rule. Returns the device's status. The caller must hold
/// `configuration`.
FlowStatus Command(Adapter& adapter, const rte_flow& flow, FlowCommand command) {
  Post(adapter.registers, flow, command);
  return static_cast<FlowStatus>(adapter.registers.Read32(kFlowStatus));
}

int Validate(rte_eth_dev* dev, const rte_flow_attr* attributes, const rte_flow_item items[],
             const rte_flow_action actions[], rte_flow_error* error) {
  rte_flow flow;
  return Translate(dev, attributes, items, actions, &flow, error);
}

rte_flow* Create(rte_eth_dev* dev, const rte_flow_attr* attributes, const rte_flow_item items[],
                 const rte_flow_action actions[], rte_flow_error* error) {
  rte_flow flow;
  if (Translate(dev, attributes, items, actions, &flow, error) != 0) return nullptr;
  const auto refuse = [&](int code, const char* why) {
    rte_flow_error_set(error, code, RTE_FLOW_ERROR_TYPE_HANDLE, nullptr, why);
    return nullptr;
  };
  Adapter& adapter = AdapterOf(dev);
  const std::scoped_lock lock(adapter.configuration);
  // Stores the rule first, because the device identifies an aged rule by the address of the stored
  // rule.
  const auto place = adapter.flows.insert(adapter.flows.end(), flow);
  const FlowStatus status = Command(adapter, *place, FlowCommand::kAdd);
  if (status != FlowStatus::kOk) adapter.flows.erase(place);
  switch (status) {
    case FlowStatus::kOk:
      break;
    case FlowStatus::kExists:
      return refuse(EEXIST, "another rule has the same match");
    case FlowStatus::kFull:
      return refuse(ENOSPC, "the device's flow table is full");
    default:
      return refuse(EIO, "the device refused the rule");
  }
  adapter.flow_places.emplace(&*place, place);
  if (flow.counter != nullptr) ++flow.counter->rules;
  return &*place;
}

/// Adds the device's counts for the rule to `count`. Returns false if the device does not respond.
/// The caller must hold `configuration`.
bool AddCount(Adapter& adapter, const rte_flow& flow, bool reset, rte_flow_query_count* count) {
  const auto command = reset ? FlowCommand::kQueryAndClear : FlowCommand::kQuery;
  if (Command(adapter, flow, command) != FlowStatus::kOk) return false;
  count->hits += adapter.registers.Read64(kFlowHits);
  count->bytes += adapter.registers.Read64(kFlowHitBytes);
  return true;
}

/// Removes the rule from the device. A shared counter keeps the rule's final counts. The caller
/// must hold `configuration`.
FlowStatus RemoveRule(Adapter& adapter, rte_flow& flow) {
  ForgetAge(adapter, flow);
  const FlowStatus status = Command(adapter, flow, FlowCommand::kRemove);
  if (flow.counter == nullptr) return status;
  if (status == FlowStatus::kOk) {
    flow.counter->hits += adapter.registers.Read64(kFlowHits);
    flow.counter->bytes += adapter.registers.Read64(kFlowHitBytes);
  }
  --flow.counter->rules;
  return status;
}

int UnknownRule(rte_flow* flow, rte_flow_error* error) {
  return rte_flow_error_set(error, ENOENT, RTE_FLOW_ERROR_TYPE_HANDLE, flow,
                            "the port has no such rule");
}

int Destroy(rte_eth_dev* dev, rte_flow* flow, rte_flow_error* error) {
  Adapter& adapter = AdapterOf(dev);
  const std::scoped_lock lock(adapter.configuration);
  const auto known = adapter.flow_places.find(flow);
  if (known == adapter.flow_places.end()) return UnknownRule(flow, error);
  const FlowStatus status = RemoveRule(adapter, *flow);
  adapter.flows.erase(known->second);
  adapter.flow_places.erase(known);
  if (status == FlowStatus::kOk) return 0;
  return rte_flow_error_set(error, EIO, RTE_FLOW_ERROR_TYPE_HANDLE, nullptr,
                            "the device does not know this rule");
}

int Flush(rte_eth_dev* dev, rte_flow_error*) {
  FlowClear(dev);
  return 0;
}

int Query(rte_eth_dev* dev, rte_flow* flow, const rte_flow_action* action, void* data,
          rte_flow_error* error) {
  Adapter& adapter = AdapterOf(dev);
  const std::scoped_lock lock(adapter.configuration);
  if (!adapter.flow_places.contains(flow)) return UnknownRule(flow, error);
  if (action->type == RTE_FLOW_ACTION_TYPE_AGE && flow->age_s != 0) {
    *static_cast<rte_flow_query_age*>(data) = {
        .reserved = 0, .aged = flow->aged, .sec_since_last_hit_valid = 0, .sec_since_last_hit = 0};
    return 0;
  }
  if (action->type != RTE_FLOW_ACTION_TYPE_COUNT || !flow->count) {
    return rte_flow_error_set(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION, action,
                              "only the count and age actions can be queried");
  }
  auto* const count = static_cast<rte_flow_query_count*>(data);
  count->hits = count->bytes = 0;
  if (!AddCount(adapter, *flow, count->reset != 0, count)) {
    return rte_flow_error_set(error, EIO, RTE_FLOW_ERROR_TYPE_HANDLE, nullptr,
                              "the device does not answer the query");
  }
  if (count->reset != 0 &&
      flow->counter != nullptr) {  // The shared counter keeps the counts reset here.
    flow->counter->hits += count->hits;
    flow->counter->bytes += count->bytes;
  }
  count->hits_set = count->bytes_set = 1;
  return 0;
}

rte_flow_action_handle* CreateCounter(rte_eth_dev* dev, const rte_flow_indir_action_conf*,
                                      const rte_flow_action* action, rte_flow_error* error) {
  if (action->type != RTE_FLOW_ACTION_TYPE_COUNT) {
    rte_flow_error_set(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION, action,
                       "only the count action can be shared by rules");
    return nullptr;
  }
  Adapter& adapter = AdapterOf(dev);
  const std::scoped_lock lock(adapter.configuration);
  return &adapter.counters.emplace_back();
}

int UnknownCounter(const rte_flow_action_handle* counter, rte_flow_error* error) {
  return rte_flow_error_set(error, ENOENT, RTE_FLOW_ERROR_TYPE_HANDLE, counter,
                            "the port has no such indirect counter");
}

bool Knows(const Adapter& adapter, const rte_flow_action_handle* counter) {
  return std::any_of(adapter.counters.begin(), adapter.counters.end(),
                     [=](const auto& known) { return &known == counter; });
}

int DestroyCounter(rte_eth_dev* dev, rte_flow_action_handle* counter, rte_flow_error* error) {
  Adapter& adapter = AdapterOf(dev);
  const std::scoped_lock lock(adapter.configuration);
  if (!Knows(adapter, counter)) return UnknownCounter(counter, error);
  if (counter->rules != 0) {
    return rte_flow_error_set(error, EBUSY, RTE_FLOW_ERROR_TYPE_HANDLE, counter,
                              "rules still use this counter: destroy them first");
  }
  adapter.counters.remove_if([&](const auto& known) { return &known == counter; });
  return 0;
}

int QueryCounter(rte_eth_dev* dev, const rte_flow_action_handle* handle, void* data,
                 rte_flow_error* error) {
  auto* const counter = const_cast<rte_flow_action_handle*>(handle);
  auto* const count = static_cast<rte_flow_query_count*>(data);
  Adapter& adapter = AdapterOf(dev);
  const std::scoped_lock lock(adapter.configuration);
  if (!Knows(adapter, counter)) return UnknownCounter(counter, error);
  count->hits = counter->hits, count->bytes = counter->bytes;
  for (const rte_flow& flow : adapter.flows) {
    if (flow.counter != counter || AddCount(adapter, flow, count->reset != 0, count)) continue;
    // Keeps the counts that have already been cleared in the device.
    if (count->reset != 0) counter->hits = count->hits, counter->bytes = count->bytes;
    return rte_flow_error_set(error, EIO, RTE_FLOW_ERROR_TYPE_HANDLE, counter,
                              "the device does not answer the query");
  }
  if (count->reset != 0) counter->hits = counter->bytes = 0;
  count->hits_set = count->bytes_set = 1;
  return 0;
}

int Dump(rte_eth_dev* dev, rte_flow* flow, FILE* file, rte_flow_error* error) {
  Adapter& adapter = AdapterOf(dev);
  const std::scoped_lock lock(adapter.configuration);
  bool found = flow == nullptr;
  for (const rte_flow& rule : adapter.flows) {
    if (flow != nullptr && &rule != flow) continue;
    found = true;
    std::fprintf(file, "%p:", static_cast<const void*>(&rule));
    DumpFlow(rule, file);
  }
  return found ? 0 : UnknownRule(flow, error);
}

int Isolate(rte_eth_dev* dev, int set, rte_flow_error*) {
  Adapter& adapter = AdapterOf(dev);
  const std::scoped_lock lock(adapter.configuration);
  adapter.isolated = set != 0;
  WritePortControl(adapter);
  return 0;
}

constinit const rte_flow_ops kFlowOps = [] {
  rte_flow_ops ops = drivers::FlowOps(Validate, Create, Destroy, Flush, Query);
  ops.dev_dump = Dump;
  ops.isolate = Isolate;
  ops.get_aged_flows = GetAgedFlows;
  ops.action_handle_create = CreateCounter;
  ops.action_handle_destroy = DestroyCounter;
  ops.action_handle_query = QueryCounter;
  return ops;
}();

}  // namespace

void FlowClear(rte_eth_dev* dev) {
  Adapter& adapter = AdapterOf(dev);
  const std::scoped_lock lock(adapter.configuration);
  // Removes the rules with a shared counter one by one, the newest first, so that the counter does
  // not miss any hits. Then removes all others at once.
  for (auto flow = adapter.flows.rbegin(); flow != adapter.flows.rend(); ++flow) {
    if (flow->counter != nullptr) RemoveRule(adapter, *flow);
  }
  adapter.registers.Write32(kFlowCommand, static_cast<uint32_t>(FlowCommand::kFlush));
  adapter.aged.clear();
  adapter.flow_places.clear();
  adapter.flows.clear();
}

void FlowReplay(Adapter& adapter) {
  for (const rte_flow& flow : adapter.flows) Post(adapter.registers, flow, FlowCommand::kAdd);
}

int FlowOpsGet(rte_eth_dev*, const rte_flow_ops** ops) {
  *ops = &kFlowOps;
  return 0;
}

// Aging of flow rules. A rule ages if it has no hits for the time in its age action. The device
// detects this, raises an interrupt, and identifies the rule by its address in the driver. The
// driver looks up this address among the known rules.

void CollectAged(rte_eth_dev* dev) {
  Adapter& adapter = AdapterOf(dev);
  bool tell = false;
  {
    const std::scoped_lock lock(adapter.configuration);
    // Limits the iterations to the number of rules, in case the device returns more.
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
