// SPDX-License-Identifier: BSD-3-Clause
#include "net_enso/enso_flow_parse.h"

#include <netinet/in.h>
#include <rte_byteorder.h>
#include <rte_flow_driver.h>

#include <cerrno>

#include "flow_items.h"

namespace sluice::net_enso {
namespace {

constexpr uint8_t kSyn = RTE_TCP_SYN_FLAG;

using drivers::IsZero;

struct Parser {
  rte_flow* rule;
  rte_flow_error* error;
  uint8_t ip_protocol = 0;  ///< Protocol that the ipv4 item requires, if ip_protocol_given.
  bool ip_protocol_given = false;
  bool src_ip_given = false;

  int Refuse(const rte_flow_item* item, const char* message) const {
    return rte_flow_error_set(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM, item, message);
  }

  /// Copies an item's spec and mask; both are zero without a spec.
  template <typename Item>
  static void Load(const rte_flow_item* item, const Item& default_mask, Item* spec, Item* mask) {
    *spec = Item{};
    *mask = Item{};
    if (item->spec == nullptr) return;
    *spec = *static_cast<const Item*>(item->spec);
    *mask = item->mask != nullptr ? *static_cast<const Item*>(item->mask) : default_mask;
  }

  int Eth(const rte_flow_item* item) const {
    rte_flow_item_eth spec, mask;
    Load(item, drivers::kEthMask, &spec, &mask);
    const bool type_fits =
        mask.hdr.ether_type == 0 || (mask.hdr.ether_type == 0xffff &&
                                     spec.hdr.ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4));
    mask.hdr.ether_type = 0;
    if (!type_fits || !IsZero(mask))
      return Refuse(item, "the NIC does not match Ethernet addresses, tags or types");
    return 0;
  }

  int Ipv4(const rte_flow_item* item) {
    rte_flow_item_ipv4 spec, mask;
    Load(item, drivers::kIpv4Mask, &spec, &mask);
    if (mask.hdr.dst_addr != RTE_BE32(0xffffffff))
      return Refuse(item, "give one exact IPv4 destination address");
    if (mask.hdr.src_addr != 0 && mask.hdr.src_addr != RTE_BE32(0xffffffff)) {
      return Refuse(item, "give one exact IPv4 source address, or none");
    }
    if (mask.hdr.next_proto_id != 0 && mask.hdr.next_proto_id != 0xff) {
      return Refuse(item, "the protocol must match exactly or not at all");
    }
    rule->key.dst_ip = rte_be_to_cpu_32(spec.hdr.dst_addr);
    src_ip_given = mask.hdr.src_addr != 0;
    if (src_ip_given) rule->key.src_ip = rte_be_to_cpu_32(spec.hdr.src_addr);
    ip_protocol_given = mask.hdr.next_proto_id != 0;
    ip_protocol = spec.hdr.next_proto_id;
    mask.hdr.dst_addr = mask.hdr.src_addr = 0;
    mask.hdr.next_proto_id = 0;
    return IsZero(mask)
               ? 0
               : Refuse(item,
                        "of the IPv4 header, the NIC matches only the addresses and the protocol");
  }

  int Udp(const rte_flow_item* item) {
    rte_flow_item_udp spec, mask;
    Load(item, drivers::kUdpMask, &spec, &mask);
    if (mask.hdr.dst_port != 0xffff) return Refuse(item, "give one exact UDP destination port");
    if (mask.hdr.src_port != 0 || src_ip_given) {
      return Refuse(item,
                    "the NIC matches UDP only by destination: omit the source address and port");
    }
    if (ip_protocol_given && ip_protocol != IPPROTO_UDP)
      return Refuse(item, "the ipv4 item specifies another protocol");
    rule->key.dst_port = rte_be_to_cpu_16(spec.hdr.dst_port);
    mask.hdr.dst_port = 0;
    return IsZero(mask) ? 0 : Refuse(item, "the NIC matches only the destination port of UDP");
  }

  int Tcp(const rte_flow_item* item) {
    rte_flow_item_tcp spec, mask;
    Load(item, drivers::kTcpMask, &spec, &mask);
    if (mask.hdr.dst_port != 0xffff) return Refuse(item, "give one exact TCP destination port");
    if (ip_protocol_given && ip_protocol != IPPROTO_TCP)
      return Refuse(item, "the ipv4 item specifies another protocol");
    const bool flags_given = mask.hdr.tcp_flags != 0;
    const bool syn = (spec.hdr.tcp_flags & kSyn) != 0;
    if (flags_given && mask.hdr.tcp_flags != kSyn)
      return Refuse(item, "SYN is the only TCP flag that the NIC matches");
    if (flags_given && syn) {
      if (mask.hdr.src_port != 0 || src_ip_given) {
        return Refuse(
            item, "the NIC matches a SYN only by destination: omit the source address and port");
      }
    } else if (mask.hdr.src_port != 0xffff || !src_ip_given) {
      return Refuse(item,
                    "the NIC matches TCP by both addresses and both ports: give all four, or flags "
                    "spec 2 mask 2 for SYN segments");
    } else {
      rule->key.src_port = rte_be_to_cpu_16(spec.hdr.src_port);
    }
    rule->tcp = true;
    rule->key.dst_port = rte_be_to_cpu_16(spec.hdr.dst_port);
    mask.hdr.dst_port = mask.hdr.src_port = 0;
    mask.hdr.tcp_flags = 0;
    return IsZero(mask)
               ? 0
               : Refuse(item, "of the TCP header, the NIC matches only the ports and the SYN flag");
  }

  int Pattern(const rte_flow_item* item) {
    enum { kStart, kEth, kIpv4, kDone } state = kStart;
    for (;; ++item) {
      if (item->type == RTE_FLOW_ITEM_TYPE_VOID) continue;
      if (item->last != nullptr) return Refuse(item, "the NIC does not match ranges");
      int result = 0;
      if (item->type == RTE_FLOW_ITEM_TYPE_ETH && state == kStart) {
        result = Eth(item);
        state = kEth;
      } else if (item->type == RTE_FLOW_ITEM_TYPE_IPV4 && state < kIpv4) {
        result = Ipv4(item);
        state = kIpv4;
      } else if (item->type == RTE_FLOW_ITEM_TYPE_UDP && state == kIpv4) {
        result = Udp(item);
        state = kDone;
      } else if (item->type == RTE_FLOW_ITEM_TYPE_TCP && state == kIpv4) {
        result = Tcp(item);
        state = kDone;
      } else if (item->type == RTE_FLOW_ITEM_TYPE_END && state == kDone) {
        return 0;
      } else if (item->type == RTE_FLOW_ITEM_TYPE_END && state == kIpv4) {
        return Refuse(item,
                      "the NIC cannot match an address without a port: add a udp or tcp item");
      } else {
        return Refuse(item, "the NIC matches only eth / ipv4 / udp and eth / ipv4 / tcp");
      }
      if (result != 0) return result;
    }
  }

  int Actions(const rte_flow_action* action, uint16_t queues) {
    bool queue_given = false;
    for (; action->type != RTE_FLOW_ACTION_TYPE_END; ++action) {
      const char* message = nullptr;
      if (action->type == RTE_FLOW_ACTION_TYPE_VOID) continue;
      if (action->type == RTE_FLOW_ACTION_TYPE_COUNT && !rule->counted) {
        rule->counted = true;
      } else if (action->type == RTE_FLOW_ACTION_TYPE_QUEUE && !queue_given &&
                 action->conf != nullptr) {
        rule->queue = static_cast<const rte_flow_action_queue*>(action->conf)->index;
        queue_given = true;
        if (rule->queue >= queues) message = "the port has no such receive queue";
      } else {
        message = "the only actions are queue and count";
      }
      if (message != nullptr) {
        return rte_flow_error_set(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION, action, message);
      }
    }
    if (queue_given) return 0;
    return rte_flow_error_set(error, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION, action,
                              "a rule needs the queue action");
  }
};

}  // namespace

int ParseRule(const rte_flow_attr* attr, const rte_flow_item* pattern,
              const rte_flow_action* actions, uint16_t queues, rte_flow* rule,
              rte_flow_error* error) {
  *rule = rte_flow{};
  rule->counter = -1;
  if (const int result = drivers::CheckAttributes(*attr, error); result != 0) return result;
  Parser parser{rule, error};
  if (const int result = parser.Pattern(pattern); result != 0) return result;
  return parser.Actions(actions, queues);
}

}  // namespace sluice::net_enso
