// SPDX-License-Identifier: BSD-3-Clause
//
// Rules in a port's own table (rte_flow), all or none: a port that cannot express one of them is
// left to what it does by itself. Main thread, or whoever configures the port; one at a time.
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
  /// Of a started port, or one that is started later.
  explicit FlowRules(uint16_t port) : port_(port) {}
  ~FlowRules() { Clear(); }
  FlowRules(const FlowRules&) = delete;
  FlowRules& operator=(const FlowRules&) = delete;

  /// One more rule, for frames that arrive. `items` and `actions` end with their END. False: the
  /// port refuses it; none of the earlier rules is left, and `why` has the port's words.
  bool Add(const rte_flow_item* items, const rte_flow_action* actions, std::string* why);
  void Clear();
  size_t size() const { return rules_.size(); }

 private:
  uint16_t port_;
  std::vector<rte_flow*> rules_;
};

}  // namespace sluice::nic
