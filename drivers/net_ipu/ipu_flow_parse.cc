// SPDX-License-Identifier: BSD-3-Clause
#include "net_ipu/ipu_flow_parse.h"

#include <rte_flow_driver.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "flow_items.h"

namespace sluice::net_ipu {

using namespace regs::ipu;  // NOLINT: this file speaks that register map

namespace {

int Refuse(rte_flow_error* error, rte_flow_error_type type, const void* cause, const char* why) {
  return rte_flow_error_set(error, ENOTSUP, type, cause, why);
}
int RefuseItem(rte_flow_error* error, const rte_flow_item* item, const char* why) {
  return Refuse(error, RTE_FLOW_ERROR_TYPE_ITEM, item, why);
}

int RefuseEmpty(rte_flow_error* error, const rte_flow_action* action) {
  return rte_flow_error_set(error, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION_CONF, action,
                            "the action needs a configuration");
}

constexpr const char* kPartialMask = "a field is matched exactly or not at all: full or no mask";

/// The mask of an item: `fallback` where the rule gives none.
template <typename Item>
const Item* MaskOf(const rte_flow_item* item, const Item* fallback) {
  return item->mask == nullptr ? fallback : static_cast<const Item*>(item->mask);
}

/// Takes one field into the rule if its mask asks for it; false if partly masked.
bool TakeBytes(rte_flow* flow, uint32_t field, const void* spec, const void* mask, size_t size,
               uint8_t* to) {
  const drivers::Match match = drivers::MatchOf(mask, size);
  if (match == drivers::Match::kPartial) return false;
  if (match == drivers::Match::kExact) {
    flow->fields |= field;
    std::memcpy(to, spec, size);
  }
  return true;
}
bool TakePort(rte_flow* flow, uint32_t field, rte_be16_t spec, rte_be16_t mask, uint32_t shift) {
  if (mask != 0 && mask != 0xffff) return false;
  if (mask != 0) {
    flow->fields |= field;
    flow->ports |= uint32_t{rte_be_to_cpu_16(spec)} << shift;
  }
  return true;
}
bool TakeProtocol(rte_flow* flow, uint8_t spec, uint8_t mask) {
  if (mask != 0 && mask != 0xff) return false;
  if (mask != 0) {
    flow->fields |= kFlowMatchProtocol;
    flow->protocol |= spec;
  }
  return true;
}

int TakeEth(const rte_flow_item* item, rte_flow_error* error) {
  if (item->spec == nullptr) return 0;
  const auto* const mask = MaskOf(item, &drivers::kEthMask);
  if (!drivers::IsZero(mask->hdr) || mask->has_vlan) {
    return RefuseItem(error, item, "Ethernet fields are not matched");
  }
  return 0;
}

int TakeIpv4(const rte_flow_item* item, rte_flow* flow, rte_flow_error* error) {
  flow->protocol = 4 << 8;
  if (item->spec == nullptr) return 0;
  const rte_ipv4_hdr& spec = static_cast<const rte_flow_item_ipv4*>(item->spec)->hdr;
  const rte_ipv4_hdr& mask = MaskOf(item, &drivers::kIpv4Mask)->hdr;
  rte_ipv4_hdr rest = mask;
  rest.src_addr = rest.dst_addr = 0;
  rest.next_proto_id = 0;
  if (!drivers::IsZero(rest)) {
    return RefuseItem(error, item, "only addresses and protocol of IPv4 are matched");
  }
  // By offset: the header is packed.
  constexpr size_t kSource = offsetof(rte_ipv4_hdr, src_addr);
  constexpr size_t kDestination = offsetof(rte_ipv4_hdr, dst_addr);
  const auto* const value = reinterpret_cast<const uint8_t*>(&spec);
  const auto* const bits = reinterpret_cast<const uint8_t*>(&mask);
  if (!TakeBytes(flow, kFlowMatchSource, value + kSource, bits + kSource, 4, flow->source.data()) ||
      !TakeBytes(flow, kFlowMatchDestination, value + kDestination, bits + kDestination, 4,
                 flow->destination.data()) ||
      !TakeProtocol(flow, spec.next_proto_id, mask.next_proto_id)) {
    return RefuseItem(error, item, kPartialMask);
  }
  return 0;
}

int TakeIpv6(const rte_flow_item* item, rte_flow* flow, rte_flow_error* error) {
  flow->protocol = 6 << 8;
  if (item->spec == nullptr) return 0;
  const rte_ipv6_hdr& spec = static_cast<const rte_flow_item_ipv6*>(item->spec)->hdr;
  const rte_ipv6_hdr& mask = MaskOf(item, &drivers::kIpv6Mask)->hdr;
  rte_ipv6_hdr rest = mask;
  std::memset(rest.src_addr, 0, sizeof(rest.src_addr));
  std::memset(rest.dst_addr, 0, sizeof(rest.dst_addr));
  rest.proto = 0;
  if (!drivers::IsZero(rest)) {
    return RefuseItem(error, item, "only addresses and protocol of IPv6 are matched");
  }
  if (!TakeBytes(flow, kFlowMatchSource, spec.src_addr, mask.src_addr, 16, flow->source.data()) ||
      !TakeBytes(flow, kFlowMatchDestination, spec.dst_addr, mask.dst_addr, 16,
                 flow->destination.data()) ||
      !TakeProtocol(flow, spec.proto, mask.proto)) {
    return RefuseItem(error, item, kPartialMask);
  }
  return 0;
}

/// UDP and TCP begin with the same two ports.
int TakeTransport(const rte_flow_item* item, rte_flow* flow, rte_flow_error* error) {
  const bool udp = item->type == RTE_FLOW_ITEM_TYPE_UDP;
  const uint32_t protocol = udp ? IPPROTO_UDP : IPPROTO_TCP;
  if (flow->fields & kFlowMatchProtocol && (flow->protocol & 0xff) != protocol) {
    return RefuseItem(error, item, "contradicts the protocol of the IP item");
  }
  flow->fields |= kFlowMatchProtocol;
  flow->protocol = (flow->protocol & 0xff00) | protocol;
  if (item->spec == nullptr) return 0;
  const size_t size = udp ? sizeof(rte_udp_hdr) : sizeof(rte_tcp_hdr);
  const void* const fallback = udp ? static_cast<const void*>(&drivers::kUdpMask)
                                   : static_cast<const void*>(&drivers::kTcpMask);
  const void* const mask = item->mask != nullptr ? item->mask : fallback;
  const auto* const ports = static_cast<const rte_udp_hdr*>(item->spec);
  const auto* const port_mask = static_cast<const rte_udp_hdr*>(mask);
  if (drivers::MatchOf(static_cast<const uint8_t*>(mask) + 4, size - 4) != drivers::Match::kAny) {
    return RefuseItem(error, item, "only ports of UDP and TCP are matched");
  }
  if (!TakePort(flow, kFlowMatchSourcePort, ports->src_port, port_mask->src_port, 16) ||
      !TakePort(flow, kFlowMatchDestinationPort, ports->dst_port, port_mask->dst_port, 0)) {
    return RefuseItem(error, item, kPartialMask);
  }
  return 0;
}

int TakePattern(const rte_flow_item* items, rte_flow* flow, rte_flow_error* error) {
  uint32_t layer = 2;  // of the last item; layers rise
  for (const rte_flow_item* item = items; item->type != RTE_FLOW_ITEM_TYPE_END; ++item) {
    int result = 0;
    if (item->type == RTE_FLOW_ITEM_TYPE_VOID) continue;
    if (item->last != nullptr) return RefuseItem(error, item, "ranges are not matched");
    if (item->type == RTE_FLOW_ITEM_TYPE_ETH && layer == 2) {
      result = TakeEth(item, error);
    } else if (item->type == RTE_FLOW_ITEM_TYPE_IPV4 && layer == 2) {
      result = TakeIpv4(item, flow, error);
      layer = 3;
    } else if (item->type == RTE_FLOW_ITEM_TYPE_IPV6 && layer == 2) {
      result = TakeIpv6(item, flow, error);
      layer = 3;
    } else if ((item->type == RTE_FLOW_ITEM_TYPE_UDP || item->type == RTE_FLOW_ITEM_TYPE_TCP) &&
               layer == 3) {
      result = TakeTransport(item, flow, error);
      layer = 4;
    } else {
      return RefuseItem(error, item, "the pattern is eth / ipv4 or ipv6 / udp or tcp");
    }
    if (result != 0) return result;
  }
  if (layer == 2) return RefuseItem(error, items, "the pattern needs an ipv4 or ipv6 item");
  return 0;
}

bool IsLink(const rte_eth_dev* dev, uint16_t queue) {
  return queue < kMaxQueues && AdapterOf(dev).links[queue] != nullptr;
}

int TakeActions(const rte_eth_dev* dev, const rte_flow_action* actions, rte_flow* flow,
                rte_flow_error* error) {
  uint32_t fates = 0;
  for (const rte_flow_action* action = actions; action->type != RTE_FLOW_ACTION_TYPE_END;
       ++action) {
    switch (action->type) {
      case RTE_FLOW_ACTION_TYPE_VOID:
        break;
      case RTE_FLOW_ACTION_TYPE_DROP:
        flow->action |= kFlowActionDrop;
        ++fates;
        break;
      case RTE_FLOW_ACTION_TYPE_QUEUE: {
        if (action->conf == nullptr) return RefuseEmpty(error, action);
        const uint16_t queue = static_cast<const rte_flow_action_queue*>(action->conf)->index;
        if (queue >= dev->data->nb_rx_queues && !IsLink(dev, queue)) {
          return rte_flow_error_set(error, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION_CONF, action,
                                    "the queue is neither configured nor a link");
        }
        flow->action |= kFlowActionQueue | queue;
        ++fates;
        break;
      }
      case RTE_FLOW_ACTION_TYPE_MARK:
        if (action->conf == nullptr) return RefuseEmpty(error, action);
        flow->action |= kFlowActionMark;
        flow->mark = static_cast<const rte_flow_action_mark*>(action->conf)->id;
        break;
      case RTE_FLOW_ACTION_TYPE_COUNT:
        flow->count = true;
        break;
      default:
        return Refuse(error, RTE_FLOW_ERROR_TYPE_ACTION, action,
                      "the actions are queue or drop, and mark and count");
    }
  }
  if (fates != 1) {
    return Refuse(error, RTE_FLOW_ERROR_TYPE_ACTION, actions,
                  "needs exactly one of queue and drop");
  }
  return 0;
}

}  // namespace

int Translate(const rte_eth_dev* dev, const rte_flow_attr* attributes, const rte_flow_item* items,
              const rte_flow_action* actions, rte_flow* flow, rte_flow_error* error) {
  *flow = {};
  if (const int result = drivers::CheckAttributes(*attributes, error); result != 0) return result;
  if (const int result = TakePattern(items, flow, error); result != 0) return result;
  return TakeActions(dev, actions, flow, error);
}

}  // namespace sluice::net_ipu
