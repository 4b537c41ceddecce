// SPDX-License-Identifier: BSD-3-Clause
//
// Installs all rules in a port's rte_flow table, or none: if the port rejects one rule, all are
// removed and the port keeps its default behaviour. Used by the thread that configures the port,
// usually the main thread; one caller at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

struct rte_flow;
struct rte_flow_action;
struct rte_flow_item;

namespace sluice::nic {

class FlowRules {
 public:
  /// The port may be started or stopped.
  explicit FlowRules(uint16_t port) : port_(port) {}
  ~FlowRules() { Clear(); }
  FlowRules(const FlowRules&) = delete;
  FlowRules& operator=(const FlowRules&) = delete;

  /// Adds a rule for received frames. `items` and `actions` are lists that end with an END element.
  /// If the port rejects the rule, returns false, removes all earlier rules and sets `why` to the
  /// port's message.
  bool Add(const rte_flow_item* items, const rte_flow_action* actions, std::string* why);
  void Clear();
  size_t size() const { return rules_.size(); }

 private:
  uint16_t port_;
  std::vector<rte_flow*> rules_;
};

}  // namespace sluice::nic
