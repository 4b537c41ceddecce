// SPDX-License-Identifier: BSD-3-Clause
#include "steering.h"

#include <rte_byteorder.h>
#include <rte_errno.h>
#include <rte_flow.h>

#include <array>
#include <cstring>

namespace sluice::kv {

std::string Steering::Add(bool ipv6, uint16_t udp_port, uint16_t queue) {
  rte_flow_item_udp udp{}, udp_mask{};
  udp.hdr.dst_port = rte_cpu_to_be_16(udp_port);
  udp_mask.hdr.dst_port = 0xffff;
  const auto any = [](rte_flow_item_type type) {
    return rte_flow_item{.type = type, .spec = nullptr, .last = nullptr, .mask = nullptr};
  };
  const std::array<rte_flow_item, 4> items{
      {any(RTE_FLOW_ITEM_TYPE_ETH),
       any(ipv6 ? RTE_FLOW_ITEM_TYPE_IPV6 : RTE_FLOW_ITEM_TYPE_IPV4),
       {.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &udp, .last = nullptr, .mask = &udp_mask},
       any(RTE_FLOW_ITEM_TYPE_END)}};
  rte_flow_action_queue to{.index = queue};
  const std::array<rte_flow_action, 2> actions{
      {{RTE_FLOW_ACTION_TYPE_QUEUE, &to}, {RTE_FLOW_ACTION_TYPE_END, nullptr}}};
  rte_flow_attr attributes{};
  attributes.ingress = 1;
  rte_flow_error error{};
  rte_flow* const rule =
      rte_flow_create(port_, &attributes, items.data(), actions.data(), &error);
  if (rule == nullptr) return error.message != nullptr ? error.message : std::strerror(rte_errno);
  rules_.push_back(rule);
  return "";
}

void Steering::Clear() {
  for (rte_flow* const rule : rules_) rte_flow_destroy(port_, rule, nullptr);
  rules_.clear();
}

std::string Steering::Apply(uint16_t first_port, uint32_t partitions, uint32_t workers) {
  Clear();
  for (uint32_t p = 0; p < partitions; ++p) {
    for (const bool ipv6 : {false, true}) {
      const std::string why = Add(ipv6, static_cast<uint16_t>(first_port + p),
                                  static_cast<uint16_t>(p % workers));
      if (why.empty()) continue;
      Clear();
      return "software (" + why + ")";
    }
  }
  return "hardware (" + std::to_string(rules_.size()) + " rules)";
}

}  // namespace sluice::kv
