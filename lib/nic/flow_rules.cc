// SPDX-License-Identifier: BSD-3-Clause
#include "nic/flow_rules.h"

#include <rte_errno.h>
#include <rte_flow.h>

#include <cstring>

namespace sluice::nic {

bool FlowRules::Add(const rte_flow_item* items, const rte_flow_action* actions, std::string* why) {
  rte_flow_attr attributes{};
  attributes.ingress = 1;
  rte_flow_error error{};
  rte_flow* const rule = rte_flow_create(port_, &attributes, items, actions, &error);
  if (rule != nullptr) {
    rules_.push_back(rule);
    return true;
  }
  // Must precede Clear, which may set rte_errno.
  *why = error.message != nullptr ? error.message : std::strerror(rte_errno);
  Clear();
  return false;
}

void FlowRules::Clear() {
  for (rte_flow* const rule : rules_) rte_flow_destroy(port_, rule, nullptr);
  rules_.clear();
}

}  // namespace sluice::nic
