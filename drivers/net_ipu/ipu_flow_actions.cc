// SPDX-License-Identifier: BSD-3-Clause
#include <rte_flow_driver.h>

#include <cerrno>

#include "net_ipu/ipu_flow_parse.h"
#include "net_ipu/ipu_link.h"

namespace sluice::net_ipu {

using namespace regs::ipu;  // NOLINT: this file speaks that register map

namespace {

int RefuseEmpty(rte_flow_error* error, const rte_flow_action* action) {
  return rte_flow_error_set(error, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION_CONF, action,
                            "the action needs a configuration");
}

bool IsLink(const rte_eth_dev* dev, uint16_t queue) {
  return queue < kMaxQueues && HasLink(AdapterOf(dev), queue);
}

int ParseQueue(const rte_eth_dev* dev, const rte_flow_action* action, rte_flow* flow,
               rte_flow_error* error) {
  if (action->conf == nullptr) return RefuseEmpty(error, action);
  const uint16_t queue = static_cast<const rte_flow_action_queue*>(action->conf)->index;
  if (queue >= dev->data->nb_rx_queues && !IsLink(dev, queue)) {
    return rte_flow_error_set(error, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION_CONF, action,
                              "no configured queue and no link has this number");
  }
  flow->action |= kFlowActionQueue | queue;
  return 0;
}

/// Parses an rss action. Accepts only the RSS that the port applies to frames without a matching
/// rule.
int ParseRss(const rte_eth_dev* dev, const rte_flow_action* action, rte_flow_error* error) {
  if (action->conf == nullptr) return RefuseEmpty(error, action);
  const auto& rss = *static_cast<const rte_flow_action_rss*>(action->conf);
  const bool plain =
      (rss.func == RTE_ETH_HASH_FUNCTION_DEFAULT || rss.func == RTE_ETH_HASH_FUNCTION_TOEPLITZ) &&
      rss.level <= 1 && rss.key_len == 0 &&
      (rss.types == 0 || rss.types == AdapterOf(dev).rss_types);
  uint32_t named = 0;
  for (uint32_t i = 0; i < rss.queue_num; ++i) {
    if (rss.queue[i] < kMaxQueues) named |= 1u << rss.queue[i];
  }
  const bool all = rss.queue_num == 0 || (rss.queue_num == dev->data->nb_rx_queues &&
                                          named == (1u << dev->data->nb_rx_queues) - 1);
  if (plain && all) return 0;
  return rte_flow_error_set(
      error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION_CONF, action,
      "rss must equal the port's RSS: all queues of the port, no key, the same types");
}

int ParseCounter(const rte_eth_dev* dev, const rte_flow_action* action, rte_flow* flow,
                 rte_flow_error* error) {
  for (rte_flow_action_handle& counter : AdapterOf(dev).counters) {
    if (&counter != action->conf) continue;
    flow->count = true;
    flow->counter = &counter;
    return 0;
  }
  return rte_flow_error_set(error, ENOENT, RTE_FLOW_ERROR_TYPE_ACTION_CONF, action,
                            "the port has no such indirect counter");
}

int ParseAge(const rte_flow_action* action, rte_flow* flow, rte_flow_error* error) {
  if (action->conf == nullptr) return RefuseEmpty(error, action);
  const auto& age = *static_cast<const rte_flow_action_age*>(action->conf);
  if (age.timeout == 0 || age.reserved != 0) {
    return rte_flow_error_set(error, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION_CONF, action,
                              "the timeout must be at least 1 s");
  }
  flow->age_s = age.timeout;
  flow->context = age.context;
  return 0;
}

}  // namespace

int ParseActions(const rte_eth_dev* dev, const rte_flow_action* actions, rte_flow* flow,
                 rte_flow_error* error) {
  uint32_t fates = 0;
  for (const rte_flow_action* action = actions; action->type != RTE_FLOW_ACTION_TYPE_END;
       ++action) {
    int result = 0;
    switch (action->type) {
      case RTE_FLOW_ACTION_TYPE_VOID:
        break;
      case RTE_FLOW_ACTION_TYPE_DROP:
        flow->action |= kFlowActionDrop;
        ++fates;
        break;
      case RTE_FLOW_ACTION_TYPE_QUEUE:
        result = ParseQueue(dev, action, flow, error);
        ++fates;
        break;
      case RTE_FLOW_ACTION_TYPE_RSS:
        result = ParseRss(dev, action, error);
        ++fates;
        break;
      case RTE_FLOW_ACTION_TYPE_PASSTHRU:
        ++fates;
        break;
      case RTE_FLOW_ACTION_TYPE_MARK:
        if (action->conf == nullptr) return RefuseEmpty(error, action);
        flow->action |= kFlowActionMark;
        flow->mark = static_cast<const rte_flow_action_mark*>(action->conf)->id;
        break;
      case RTE_FLOW_ACTION_TYPE_FLAG:
        flow->action |= kFlowActionFlag;
        break;
      case RTE_FLOW_ACTION_TYPE_COUNT:
        flow->count = true;
        break;
      case RTE_FLOW_ACTION_TYPE_AGE:
        result = ParseAge(action, flow, error);
        break;
      case RTE_FLOW_ACTION_TYPE_INDIRECT:
        result = ParseCounter(dev, action, flow, error);
        break;
      default:
        return rte_flow_error_set(
            error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION, action,
            "supported actions are queue, rss, passthru, drop, mark, flag, count and age");
    }
    if (result != 0) return result;
  }
  if (fates != 1) {
    return rte_flow_error_set(
        error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION, actions,
        "a rule needs exactly one of the actions queue, rss, passthru and drop");
  }
  return 0;
}

}  // namespace sluice::net_ipu
