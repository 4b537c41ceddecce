// SPDX-License-Identifier: BSD-3-Clause
#include "steering.h"

#include <rte_ethdev.h>
#include <rte_flow.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "packet/bytes.h"

namespace sluice::maglev {

namespace {

using engine::maglev::IpAddress;
using engine::maglev::VipSetup;

// The rte_flow pattern of a VIP: destination address, protocol, and destination port.
class Pattern {
 public:
  explicit Pattern(const VipSetup& vip) {
    const auto& bytes = vip.address.bytes;
    IpAddress mask{.bytes = {}, .ipv6 = vip.address.ipv6};
    mask.bytes.fill(0xff);
    mask = engine::maglev::WithoutHostBits(mask, vip.host_bits);
    Add({.type = RTE_FLOW_ITEM_TYPE_ETH, .spec = nullptr, .last = nullptr, .mask = nullptr});
    if (vip.address.ipv6) {
      std::memcpy(&ipv6_.hdr.dst_addr, bytes.data(), sizeof(ipv6_.hdr.dst_addr));
      std::memcpy(&ipv6_mask_.hdr.dst_addr, mask.bytes.data(), sizeof(ipv6_mask_.hdr.dst_addr));
      Add({.type = RTE_FLOW_ITEM_TYPE_IPV6, .spec = &ipv6_, .last = nullptr, .mask = &ipv6_mask_});
    } else {
      ipv4_.hdr.dst_addr = packet::Load<uint32_t>(bytes.data());
      ipv4_mask_.hdr.dst_addr = packet::Load<uint32_t>(mask.bytes.data());
      Add({.type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &ipv4_, .last = nullptr, .mask = &ipv4_mask_});
    }
    const uint16_t port_be = rte_cpu_to_be_16(vip.port);
    const uint16_t port_mask = vip.port == 0 ? 0 : 0xffff;
    if (vip.protocol == 6) {
      tcp_.hdr.dst_port = port_be;
      tcp_mask_.hdr.dst_port = port_mask;
      Add({.type = RTE_FLOW_ITEM_TYPE_TCP, .spec = &tcp_, .last = nullptr, .mask = &tcp_mask_});
    } else {
      udp_.hdr.dst_port = port_be;
      udp_mask_.hdr.dst_port = port_mask;
      Add({.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &udp_, .last = nullptr, .mask = &udp_mask_});
    }
    Add({.type = RTE_FLOW_ITEM_TYPE_END, .spec = nullptr, .last = nullptr, .mask = nullptr});
  }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  const rte_flow_item* items() const { return items_.data(); }

 private:
  void Add(const rte_flow_item& item) { items_[count_++] = item; }

  rte_flow_item_ipv4 ipv4_{}, ipv4_mask_{};
  rte_flow_item_ipv6 ipv6_{}, ipv6_mask_{};
  rte_flow_item_tcp tcp_{}, tcp_mask_{};
  rte_flow_item_udp udp_{}, udp_mask_{};
  std::array<rte_flow_item, 4> items_{};
  size_t count_ = 0;
};

}  // namespace

bool Steering::Add(const VipSetup& vip, std::string* why) {
  const Pattern pattern(vip);
  std::vector<uint16_t> queues(workers_);
  std::iota(queues.begin(), queues.end(), uint16_t{0});
  rte_flow_action_queue one{.index = 0};
  rte_flow_action_rss all{};
  all.types = RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_TCP;
  all.queue_num = workers_;
  all.queue = queues.data();
  const std::array<rte_flow_action, 2> actions{
      {workers_ == 1 ? rte_flow_action{RTE_FLOW_ACTION_TYPE_QUEUE, &one}
                     : rte_flow_action{RTE_FLOW_ACTION_TYPE_RSS, &all},
       {RTE_FLOW_ACTION_TYPE_END, nullptr}}};
  return rules_.Add(pattern.items(), actions.data(), why);
}

std::string Steering::Apply(const std::vector<VipSetup>& vips) {
  std::string why;
  rules_.Clear();
  for (const VipSetup& vip : vips) {
    if (!Add(vip, &why)) return "software (VIP " + vip.name + ": " + why + ")";
  }
  return "hardware (" + std::to_string(rules_.size()) + " rules)";
}

}  // namespace sluice::maglev
