// SPDX-License-Identifier: BSD-3-Clause
#include "steering.h"

#include <rte_byteorder.h>
#include <rte_flow.h>

#include <array>

namespace sluice::kv {

bool Steering::Add(bool ipv6, uint16_t udp_port, uint16_t queue, std::string* why) {
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
  return rules_.Add(items.data(), actions.data(), why);
}

std::string Steering::Apply(uint16_t first_port, uint32_t partitions, uint32_t workers) {
  std::string why;
  rules_.Clear();
  for (uint32_t p = 0; p < partitions; ++p) {
    for (const bool ipv6 : {false, true}) {
      if (!Add(ipv6, static_cast<uint16_t>(first_port + p), static_cast<uint16_t>(p % workers),
               &why)) {
        return "software (" + why + ")";
      }
    }
  }
  return "hardware (" + std::to_string(rules_.size()) + " rules)";
}

}  // namespace sluice::kv
