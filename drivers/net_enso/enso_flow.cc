// SPDX-License-Identifier: BSD-3-Clause
//
// rte_flow over the NIC's flow table: steers exact UDP and TCP flows to queues. Rules that the
// table cannot match or hold are rejected with a message.
#include <rte_flow_driver.h>

#include <algorithm>
#include <cerrno>

#include "flow_items.h"
#include "net_enso/enso_flow_parse.h"
#include "net_enso/enso_port.h"

namespace sluice::net_enso {
namespace {

int Fail(rte_flow_error* error, int code, const char* message) {
  return rte_flow_error_set(error, code, RTE_FLOW_ERROR_TYPE_HANDLE, nullptr, message);
}

/// Checks a well-formed rule against the table.
int CheckTable(const Port& port, const rte_flow& rule, rte_flow_error* error) {
  const bool duplicate = std::any_of(port.flows.begin(), port.flows.end(),
                                     [&](const auto& other) { return other->key == rule.key; });
  const int result = duplicate ? -EEXIST : port.device->CheckFlow(rule.key);
  if (result == -EEXIST) {
    return Fail(error, EEXIST,
                "another rule steers this flow; UDP and TCP SYN to one destination share an entry");
  }
  if (result == -ENOSPC)
    return Fail(error, ENOSPC,
                "the NIC's table is full for this flow: all four rows of its hash are in use");
  const auto counts_there = [&](const auto& other) {
    return other->counted && other->queue == rule.queue;
  };
  if (rule.counted &&
      std::ranges::count_if(port.flows, counts_there) >= static_cast<ptrdiff_t>(RxQueue::kRules))
    return Fail(error, ENOMEM, "the queue has the maximum number of rules with the count action");
  return 0;
}

int StartCounting(Port& port, rte_flow& rule) {
  RxQueue& queue = *port.rx[rule.queue];
  for (size_t i = 0; i < queue.rules.size(); ++i) {
    CountedRule& counted = queue.rules[i];
    if (counted.active.load(std::memory_order_relaxed)) continue;
    counted.key = rule.key;
    counted.tcp = rule.tcp;
    counted.active.store(true, std::memory_order_release);
    queue.counted_rules.fetch_add(1, std::memory_order_relaxed);
    rule.counter = static_cast<int>(i);
    return 0;
  }
  return -ENOSPC;
}

void StopCounting(Port& port, rte_flow& rule) {
  if (rule.counter < 0 || rule.queue >= port.rx.size()) return;
  RxQueue& queue = *port.rx[rule.queue];
  CountedRule& counted = queue.rules[static_cast<size_t>(rule.counter)];
  counted.active.store(false, std::memory_order_release);
  rule.packets += counted.packets.exchange(0, std::memory_order_relaxed);
  rule.bytes += counted.bytes.exchange(0, std::memory_order_relaxed);
  queue.counted_rules.fetch_sub(1, std::memory_order_relaxed);
  rule.counter = -1;
}

Pipe* PipeOf(Port& port, const rte_flow& rule) { return port.rx[rule.queue]->nb->pipes().front(); }

bool Running(const Port& port) { return port.data->dev_started != 0; }

int Bind(Port& port, rte_flow& rule) {
  if (rule.counted && StartCounting(port, rule) != 0) return -ENOMEM;  // CheckTable prevents this.
  const int result = port.device->BindFlow(PipeOf(port, rule), rule.key);
  if (result != 0) StopCounting(port, rule);
  return result;
}

int Validate(rte_eth_dev* dev, const rte_flow_attr* attr, const rte_flow_item pattern[],
             const rte_flow_action actions[], rte_flow_error* error) {
  Port& port = Port::Of(dev);
  const std::scoped_lock lock(port.device->mutex());
  rte_flow rule{};
  const int result = ParseRule(attr, pattern, actions, dev->data->nb_rx_queues, &rule, error);
  return result != 0 ? result : CheckTable(port, rule, error);
}

rte_flow* Create(rte_eth_dev* dev, const rte_flow_attr* attr, const rte_flow_item pattern[],
                 const rte_flow_action actions[], rte_flow_error* error) {
  Port& port = Port::Of(dev);
  const std::scoped_lock lock(port.device->mutex());
  auto rule = std::make_unique<rte_flow>();
  if (ParseRule(attr, pattern, actions, dev->data->nb_rx_queues, rule.get(), error) != 0)
    return nullptr;
  if (CheckTable(port, *rule, error) != 0) return nullptr;
  if (Running(port)) {
    const int result = Bind(port, *rule);
    if (result != 0) {
      Fail(error, -result, "the NIC does not answer");
      return nullptr;
    }
  }
  port.flows.push_back(std::move(rule));
  return port.flows.back().get();
}

void Withdraw(Port& port, rte_flow& rule) {
  if (!Running(port)) return;
  port.device->UnbindFlow(PipeOf(port, rule), rule.key);
  StopCounting(port, rule);
}

int Destroy(rte_eth_dev* dev, rte_flow* rule, rte_flow_error* error) {
  Port& port = Port::Of(dev);
  const std::scoped_lock lock(port.device->mutex());
  const auto it = std::find_if(port.flows.begin(), port.flows.end(),
                               [rule](const auto& known) { return known.get() == rule; });
  if (it == port.flows.end()) return Fail(error, ENOENT, "the port has no such rule");
  Withdraw(port, *rule);
  port.flows.erase(it);
  return 0;
}

int Flush(rte_eth_dev* dev, rte_flow_error*) {
  Port& port = Port::Of(dev);
  const std::scoped_lock lock(port.device->mutex());
  for (auto& rule : port.flows) Withdraw(port, *rule);
  port.flows.clear();
  return 0;
}

int Query(rte_eth_dev* dev, rte_flow* rule, const rte_flow_action* action, void* data,
          rte_flow_error* error) {
  Port& port = Port::Of(dev);
  const std::scoped_lock lock(port.device->mutex());
  if (action->type != RTE_FLOW_ACTION_TYPE_COUNT) {
    return rte_flow_error_set(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION, action,
                              "only the count action can be queried");
  }
  if (!rule->counted) return Fail(error, EINVAL, "the rule was created without the count action");
  auto* count = static_cast<rte_flow_query_count*>(data);
  count->hits_set = count->bytes_set = 1;
  CountedRule* const bound = rule->counter < 0
                                 ? nullptr
                                 : &port.rx[rule->queue]->rules[static_cast<size_t>(rule->counter)];
  count->hits = rule->packets;
  count->bytes = rule->bytes;
  if (bound != nullptr) {
    count->hits += bound->packets.load(std::memory_order_relaxed);
    count->bytes += bound->bytes.load(std::memory_order_relaxed);
  }
  if (count->reset == 0) return 0;
  rule->packets = rule->bytes = 0;
  if (bound != nullptr) {
    bound->packets.store(0, std::memory_order_relaxed);
    bound->bytes.store(0, std::memory_order_relaxed);
  }
  return 0;
}

}  // namespace

int BindRules(Port& port) {
  for (auto& rule : port.flows) {
    if (rule->queue >= port.rx.size()) {
      ENSO_LOG(ERR, "a flow rule refers to queue %u, which no longer exists: flush the rules",
               rule->queue);
      return -EINVAL;
    }
    if (const int result = Bind(port, *rule); result != 0) return result;
  }
  return 0;
}

void UnbindRules(Port& port) {
  for (auto& rule : port.flows) {
    if (rule->queue >= port.rx.size() || port.rx[rule->queue]->nb == nullptr) continue;
    if (port.rx[rule->queue]->nb->pipes().empty()) continue;
    port.device->UnbindFlow(PipeOf(port, *rule), rule->key);
    StopCounting(port, *rule);
  }
}

constinit const rte_flow_ops kFlowOps = drivers::FlowOps(Validate, Create, Destroy, Flush, Query);

}  // namespace sluice::net_enso
