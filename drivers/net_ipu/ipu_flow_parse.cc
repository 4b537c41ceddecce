// SPDX-License-Identifier: BSD-3-Clause
#include "net_ipu/ipu_flow_parse.h"

#include <arpa/inet.h>
#include <rte_ether.h>
#include <rte_flow_driver.h>

#include <cerrno>
#include <cinttypes>
#include <cstddef>
#include <cstring>

#include "flow_items.h"
#include "net_ipu/ipu_link.h"

namespace sluice::net_ipu {

using namespace regs::ipu;  // NOLINT: this file speaks that register map

namespace {

int Refuse(rte_flow_error* error, rte_flow_error_type type, const void* cause, const char* why) {
  return rte_flow_error_set(error, ENOTSUP, type, cause, why);
}
int RefuseItem(rte_flow_error* error, const rte_flow_item* item, const char* why) {
  return Refuse(error, RTE_FLOW_ERROR_TYPE_ITEM, item, why);
}

/// Fragment offset and more-fragments flag of IPv4; both are 0 in an unfragmented datagram.
constexpr rte_be16_t kWholeMask = RTE_BE16(RTE_IPV4_HDR_OFFSET_MASK | RTE_IPV4_HDR_MF_FLAG);

constexpr const char* kPartialMask =
    "a field can only be matched completely: give a full mask or none";

/// Returns the mask of an item, or `fallback` if the rule has none.
template <typename Item>
const Item* MaskOf(const rte_flow_item* item, const Item* fallback) {
  return item->mask == nullptr ? fallback : static_cast<const Item*>(item->mask);
}

/// Adds one field to the rule if it is fully masked. Returns false if it is partly masked.
bool ParseBytes(rte_flow* flow, uint32_t field, const void* spec, const void* mask, size_t size,
                uint8_t* to) {
  const drivers::Match match = drivers::MatchOf(mask, size);
  if (match == drivers::Match::kPartial) return false;
  if (match == drivers::Match::kExact) {
    flow->fields |= field;
    std::memcpy(to, spec, size);
  }
  return true;
}
bool ParsePort(rte_flow* flow, uint32_t field, rte_be16_t spec, rte_be16_t mask, uint32_t shift) {
  if (mask != 0 && mask != 0xffff) return false;
  if (mask != 0) {
    flow->fields |= field;
    flow->ports |= uint32_t{rte_be_to_cpu_16(spec)} << shift;
  }
  return true;
}
bool ParseProtocol(rte_flow* flow, uint8_t spec, uint8_t mask) {
  if (mask != 0 && mask != 0xff) return false;
  if (mask != 0) {
    flow->fields |= kFlowMatchProtocol;
    flow->protocol |= spec;
  }
  return true;
}

/// Requires `tags` VLAN tags. Returns false if the rule already requires a different number.
bool DemandTags(rte_flow* flow, uint32_t tags) {
  const uint32_t before = (flow->shape & kFlowShapeTags) >> kFlowShapeTagsShift;
  if (flow->fields & kFlowMatchTags && before != tags) return false;
  flow->fields |= kFlowMatchTags;
  flow->shape |= tags << kFlowShapeTagsShift;
  return true;
}

bool IsTag(rte_be16_t type) {
  return type == RTE_BE16(RTE_ETHER_TYPE_VLAN) || type == RTE_BE16(RTE_ETHER_TYPE_QINQ);
}

/// The type of the next header that an item specifies.
struct Follower {
  bool type_given = false;
  rte_be16_t type = 0;

  /// Stores the type if the item specifies one. Returns false if the type is partly masked.
  bool SetType(rte_be16_t spec, rte_be16_t mask) {
    *this = {mask != 0, spec};
    return mask == 0 || mask == 0xffff;
  }
  bool Allows(rte_be16_t actual) const { return !type_given || type == actual; }
};

int ParseEthItem(const rte_flow_item* item, rte_flow* flow, Follower* follower,
                 rte_flow_error* error) {
  if (item->spec == nullptr) return 0;
  const auto& spec = *static_cast<const rte_flow_item_eth*>(item->spec);
  const auto& mask = *MaskOf(item, &drivers::kEthMask);
  if (!ParseBytes(flow, kFlowMatchEtherSource, &spec.hdr.src_addr, &mask.hdr.src_addr, 6,
                  flow->ether_source.data()) ||
      !ParseBytes(flow, kFlowMatchEtherDestination, &spec.hdr.dst_addr, &mask.hdr.dst_addr, 6,
                  flow->ether_destination.data()) ||
      !follower->SetType(spec.hdr.ether_type, mask.hdr.ether_type)) {
    return RefuseItem(error, item, kPartialMask);
  }
  const bool untagged =
      (mask.has_vlan && !spec.has_vlan) || (follower->type_given && !IsTag(follower->type));
  if (untagged) DemandTags(flow, 0);
  if (mask.has_vlan && spec.has_vlan && item[1].type != RTE_FLOW_ITEM_TYPE_VLAN) {
    return RefuseItem(error, item, "has_vlan requires a following vlan item");
  }
  return 0;
}

/// Parses one VLAN tag, which must be followed by IP.
int ParseVlanItem(const rte_flow_item* item, rte_flow* flow, Follower* follower,
                  rte_flow_error* error) {
  if ((follower->type_given && !IsTag(follower->type)) || !DemandTags(flow, 1)) {
    return RefuseItem(error, item, "the vlan item contradicts the eth item");
  }
  *follower = {};
  if (item->spec == nullptr) return 0;
  const auto& spec = *static_cast<const rte_flow_item_vlan*>(item->spec);
  const auto& mask = *MaskOf(item, &drivers::kVlanMask);
  const uint16_t tci_mask = rte_be_to_cpu_16(mask.hdr.vlan_tci);
  if ((tci_mask != 0 && tci_mask != kFlowShapeVlan) ||
      !follower->SetType(spec.hdr.eth_proto, mask.hdr.eth_proto)) {
    return RefuseItem(error, item, "only the whole VLAN id and the inner type can be matched");
  }
  if (mask.has_more_vlan && spec.has_more_vlan) {
    return RefuseItem(error, item, "only one VLAN tag can be matched");
  }
  if (tci_mask != 0) {
    flow->fields |= kFlowMatchVlan;
    flow->shape |= rte_be_to_cpu_16(spec.hdr.vlan_tci) & kFlowShapeVlan;
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
  if (mask.fragment_offset == kWholeMask && (spec.fragment_offset & kWholeMask) == 0) {
    flow->fields |= kFlowMatchFragment;
    rest.fragment_offset = 0;
  }
  if (!drivers::IsZero(rest)) {
    return RefuseItem(error, item,
                      "of IPv4, only addresses, protocol, and fragment_offset with spec 0 and mask "
                      "0x3fff can be matched");
  }
  // Uses offsets because the header is packed.
  constexpr size_t kSource = offsetof(rte_ipv4_hdr, src_addr);
  constexpr size_t kDestination = offsetof(rte_ipv4_hdr, dst_addr);
  const auto* const value = reinterpret_cast<const uint8_t*>(&spec);
  const auto* const bits = reinterpret_cast<const uint8_t*>(&mask);
  if (!ParseBytes(flow, kFlowMatchSource, value + kSource, bits + kSource, 4,
                  flow->source.data()) ||
      !ParseBytes(flow, kFlowMatchDestination, value + kDestination, bits + kDestination, 4,
                  flow->destination.data()) ||
      !ParseProtocol(flow, spec.next_proto_id, mask.next_proto_id)) {
    return RefuseItem(error, item, kPartialMask);
  }
  return 0;
}

int TakeIpv6(const rte_flow_item* item, rte_flow* flow, rte_flow_error* error) {
  flow->protocol = 6 << 8;
  if (item->spec == nullptr) return 0;
  const auto& spec_item = *static_cast<const rte_flow_item_ipv6*>(item->spec);
  rte_flow_item_ipv6 mask_item = *MaskOf(item, &drivers::kIpv6Mask);
  const rte_ipv6_hdr& spec = spec_item.hdr;
  const rte_ipv6_hdr mask = mask_item.hdr;
  if (mask_item.has_frag_ext && !spec_item.has_frag_ext) {
    flow->fields |= kFlowMatchFragment;
    mask_item.has_frag_ext = 0;
  }
  mask_item.hdr = {};
  if (!drivers::IsZero(mask_item)) {
    return RefuseItem(error, item, "of the fragment header, only its absence can be matched");
  }
  rte_ipv6_hdr rest = mask;
  std::memset(&rest.src_addr, 0, sizeof(rest.src_addr));
  std::memset(&rest.dst_addr, 0, sizeof(rest.dst_addr));
  rest.proto = 0;
  if (!drivers::IsZero(rest)) {
    return RefuseItem(error, item, "of IPv6, only addresses and protocol can be matched");
  }
  if (!ParseBytes(flow, kFlowMatchSource, &spec.src_addr, &mask.src_addr, 16,
                  flow->source.data()) ||
      !ParseBytes(flow, kFlowMatchDestination, &spec.dst_addr, &mask.dst_addr, 16,
                  flow->destination.data()) ||
      !ParseProtocol(flow, spec.proto, mask.proto)) {
    return RefuseItem(error, item, kPartialMask);
  }
  return 0;
}

/// UDP and TCP headers begin with the same two port fields.
int ParseTransportItem(const rte_flow_item* item, rte_flow* flow, rte_flow_error* error) {
  const bool udp = item->type == RTE_FLOW_ITEM_TYPE_UDP;
  const uint32_t protocol = udp ? IPPROTO_UDP : IPPROTO_TCP;
  if (flow->fields & kFlowMatchProtocol && (flow->protocol & 0xff) != protocol) {
    return RefuseItem(error, item, "the item contradicts the protocol of the IP item");
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
    return RefuseItem(error, item, "of UDP and TCP, only ports can be matched");
  }
  if (!ParsePort(flow, kFlowMatchSourcePort, ports->src_port, port_mask->src_port, 16) ||
      !ParsePort(flow, kFlowMatchDestinationPort, ports->dst_port, port_mask->dst_port, 0)) {
    return RefuseItem(error, item, kPartialMask);
  }
  return 0;
}

int ParsePattern(const rte_flow_item* items, rte_flow* flow, rte_flow_error* error) {
  enum {
    kStart,
    kEther,
    kTag,
    kNetwork,
    kTransport
  } layer = kStart;  // Layer of the last item. Never decreases.
  Follower follower;
  for (const rte_flow_item* item = items; item->type != RTE_FLOW_ITEM_TYPE_END; ++item) {
    int result = 0;
    const auto type = item->type;
    if (type == RTE_FLOW_ITEM_TYPE_VOID) continue;
    if (item->last != nullptr) return RefuseItem(error, item, "ranges cannot be matched");
    const bool ipv4 = type == RTE_FLOW_ITEM_TYPE_IPV4;
    if (type == RTE_FLOW_ITEM_TYPE_ETH && layer == kStart) {
      result = ParseEthItem(item, flow, &follower, error);
      layer = kEther;
    } else if (type == RTE_FLOW_ITEM_TYPE_VLAN && layer == kEther) {
      result = ParseVlanItem(item, flow, &follower, error);
      layer = kTag;
    } else if ((ipv4 || type == RTE_FLOW_ITEM_TYPE_IPV6) && layer < kNetwork) {
      if (!follower.Allows(ipv4 ? RTE_BE16(RTE_ETHER_TYPE_IPV4) : RTE_BE16(RTE_ETHER_TYPE_IPV6))) {
        return RefuseItem(error, item, "the item contradicts the type in the preceding item");
      }
      result = ipv4 ? TakeIpv4(item, flow, error) : TakeIpv6(item, flow, error);
      layer = kNetwork;
    } else if ((type == RTE_FLOW_ITEM_TYPE_UDP || type == RTE_FLOW_ITEM_TYPE_TCP) &&
               layer == kNetwork) {
      result = ParseTransportItem(item, flow, error);
      layer = kTransport;
    } else {
      return RefuseItem(error, item,
                        "the pattern must have the form eth / vlan / ipv4 or ipv6 / udp or tcp");
    }
    if (result != 0) return result;
  }
  if (layer < kNetwork) return RefuseItem(error, items, "the pattern needs an ipv4 or ipv6 item");
  return 0;
}

void PrintEther(FILE* file, const char* which, const std::array<uint8_t, 8>& address) {
  std::fprintf(file, " %s " RTE_ETHER_ADDR_PRT_FMT, which, address[0], address[1], address[2],
               address[3], address[4], address[5]);
}

void PrintIp(FILE* file, const char* which, bool v6, const std::array<uint8_t, 16>& address) {
  char text[INET6_ADDRSTRLEN];
  inet_ntop(v6 ? AF_INET6 : AF_INET, address.data(), text, sizeof(text));
  std::fprintf(file, " %s %s", which, text);
}

}  // namespace

int Translate(const rte_eth_dev* dev, const rte_flow_attr* attributes, const rte_flow_item* items,
              const rte_flow_action* actions, rte_flow* flow, rte_flow_error* error) {
  *flow = {};
  if (const int result = drivers::CheckAttributes(*attributes, error); result != 0) return result;
  if (const int result = ParsePattern(items, flow, error); result != 0) return result;
  return ParseActions(dev, actions, flow, error);
}

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

/// Parses an rss action. Accepts only the RSS that the port applies to frames that match no rule.
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

// Prints rules as text, for inspecting a running port (testpmd: flow dump).

void DumpFlow(const rte_flow& flow, FILE* file) {
  const bool v6 = flow.protocol >> 8 == 6;
  const auto has = [&](uint32_t field) { return (flow.fields & field) != 0; };
  if (has(kFlowMatchEtherSource)) PrintEther(file, "ether source", flow.ether_source);
  if (has(kFlowMatchEtherDestination))
    PrintEther(file, "ether destination", flow.ether_destination);
  if (has(kFlowMatchTags)) std::fprintf(file, " tags %u", flow.shape >> kFlowShapeTagsShift & 3);
  if (has(kFlowMatchVlan)) std::fprintf(file, " vlan %u", flow.shape & kFlowShapeVlan);
  std::fprintf(file, " ipv%d", v6 ? 6 : 4);
  if (has(kFlowMatchFragment)) std::fprintf(file, " whole");
  if (has(kFlowMatchSource)) PrintIp(file, "source", v6, flow.source);
  if (has(kFlowMatchDestination)) PrintIp(file, "destination", v6, flow.destination);
  if (has(kFlowMatchProtocol)) std::fprintf(file, " protocol %u", flow.protocol & 0xff);
  if (has(kFlowMatchSourcePort)) std::fprintf(file, " source port %u", flow.ports >> 16);
  if (has(kFlowMatchDestinationPort)) {
    std::fprintf(file, " destination port %u", flow.ports & 0xffff);
  }
  if (flow.action & kFlowActionDrop) {
    std::fprintf(file, ": drop");
  } else if (flow.action & kFlowActionQueue) {
    std::fprintf(file, ": queue %u", flow.action & kFlowActionQueueMask);
  } else {
    std::fprintf(file, ": rss");
  }
  if (flow.action & kFlowActionMark) std::fprintf(file, ", mark %" PRIu32, flow.mark);
  if (flow.action & kFlowActionFlag) std::fprintf(file, ", flag");
  if (flow.count) std::fprintf(file, ", count");
  if (flow.age_s != 0) std::fprintf(file, ", age %" PRIu32 " s", flow.age_s);
  std::fprintf(file, "\n");
}

}  // namespace sluice::net_ipu
