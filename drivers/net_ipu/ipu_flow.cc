// SPDX-License-Identifier: BSD-3-Clause
//
// rte_flow on the device's exact-match table: eth / ipv4|ipv6 [/ udp|tcp], fields
// matched exactly or not at all, to a queue or a drop, with mark and count. What the
// table cannot express is refused with a message that says so.
#include <rte_flow.h>
#include <rte_flow_driver.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "net_ipu/ipu_adapter.h"

namespace sluice::net_ipu {

using namespace regs::ipu;  // NOLINT: this file speaks that register map

namespace {

/// A field of `size` bytes under its mask: absent, exact, or neither.
enum class Match { kAny, kExact, kPartial };
Match MatchOf(const void* mask, size_t size) {
  const auto* const bytes = static_cast<const uint8_t*>(mask);
  if (std::all_of(bytes, bytes + size, [](uint8_t b) { return b == 0; })) return Match::kAny;
  if (std::all_of(bytes, bytes + size, [](uint8_t b) { return b == 0xff; })) return Match::kExact;
  return Match::kPartial;
}

int Refuse(rte_flow_error* error, rte_flow_error_type type, const void* cause, const char* why) {
  return rte_flow_error_set(error, ENOTSUP, type, cause, why);
}
int RefuseItem(rte_flow_error* error, const rte_flow_item* item, const char* why) {
  return Refuse(error, RTE_FLOW_ERROR_TYPE_ITEM, item, why);
}

constexpr const char* kPartialMask = "a field is matched exactly or not at all: full or no mask";

/// rte_flow's default masks (rte_flow.h gives them to C alone): all addresses, all ports.
template <typename Item>
Item DefaultMask(void (*set)(Item*)) {
  Item mask{};
  set(&mask);
  return mask;
}
const rte_flow_item_eth kEthMask = DefaultMask<rte_flow_item_eth>([](rte_flow_item_eth* mask) {
  std::memset(&mask->hdr.dst_addr, 0xff, sizeof(mask->hdr.dst_addr));
  std::memset(&mask->hdr.src_addr, 0xff, sizeof(mask->hdr.src_addr));
});
const rte_flow_item_ipv4 kIpv4Mask = DefaultMask<rte_flow_item_ipv4>(
    [](rte_flow_item_ipv4* mask) { mask->hdr.src_addr = mask->hdr.dst_addr = UINT32_MAX; });
const rte_flow_item_ipv6 kIpv6Mask = DefaultMask<rte_flow_item_ipv6>([](rte_flow_item_ipv6* mask) {
  std::memset(mask->hdr.src_addr, 0xff, sizeof(mask->hdr.src_addr));
  std::memset(mask->hdr.dst_addr, 0xff, sizeof(mask->hdr.dst_addr));
});
/// UDP and TCP headers begin with their ports; nothing else of either is matched.
const rte_flow_item_tcp kPortsMask = DefaultMask<rte_flow_item_tcp>(
    [](rte_flow_item_tcp* mask) { mask->hdr.src_port = mask->hdr.dst_port = UINT16_MAX; });

/// The mask of an item: `fallback` where the rule gives none.
template <typename Item>
const Item* MaskOf(const rte_flow_item* item, const Item* fallback) {
  return item->mask == nullptr ? fallback : static_cast<const Item*>(item->mask);
}

/// Takes one field into the rule if its mask asks for it; false if partly masked.
bool TakeBytes(rte_flow* flow, uint32_t field, const void* spec, const void* mask, size_t size,
               uint8_t* to) {
  const Match match = MatchOf(mask, size);
  if (match == Match::kPartial) return false;
  if (match == Match::kExact) {
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
  const auto* const mask = MaskOf(item, &kEthMask);
  if (MatchOf(&mask->hdr, sizeof(mask->hdr)) != Match::kAny || mask->has_vlan) {
    return RefuseItem(error, item, "Ethernet fields are not matched");
  }
  return 0;
}

int TakeIpv4(const rte_flow_item* item, rte_flow* flow, rte_flow_error* error) {
  flow->protocol = 4 << 8;
  if (item->spec == nullptr) return 0;
  const rte_ipv4_hdr& spec = static_cast<const rte_flow_item_ipv4*>(item->spec)->hdr;
  const rte_ipv4_hdr& mask = MaskOf(item, &kIpv4Mask)->hdr;
  rte_ipv4_hdr rest = mask;
  rest.src_addr = rest.dst_addr = 0;
  rest.next_proto_id = 0;
  if (MatchOf(&rest, sizeof(rest)) != Match::kAny) {
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
  const rte_ipv6_hdr& mask = MaskOf(item, &kIpv6Mask)->hdr;
  rte_ipv6_hdr rest = mask;
  std::memset(rest.src_addr, 0, sizeof(rest.src_addr));
  std::memset(rest.dst_addr, 0, sizeof(rest.dst_addr));
  rest.proto = 0;
  if (MatchOf(&rest, sizeof(rest)) != Match::kAny) {
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
  const void* const mask = item->mask != nullptr ? item->mask : &kPortsMask;
  const auto* const ports = static_cast<const rte_udp_hdr*>(item->spec);
  const auto* const port_mask = static_cast<const rte_udp_hdr*>(mask);
  if (MatchOf(static_cast<const uint8_t*>(mask) + 4, size - 4) != Match::kAny) {
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

int Translate(const rte_eth_dev* dev, const rte_flow_attr* attributes, const rte_flow_item* items,
              const rte_flow_action* actions, rte_flow* flow, rte_flow_error* error) {
  *flow = {};
  if (!attributes->ingress || attributes->egress || attributes->transfer) {
    return Refuse(error, RTE_FLOW_ERROR_TYPE_ATTR, attributes, "rules apply to ingress only");
  }
  if (attributes->group != 0 || attributes->priority != 0) {
    return Refuse(error, RTE_FLOW_ERROR_TYPE_ATTR, attributes,
                  "there is one group and one priority: the most specific match wins");
  }
  if (const int result = TakePattern(items, flow, error); result != 0) return result;
  return TakeActions(dev, actions, flow, error);
}

void Post(bar::Bar& registers, const rte_flow& flow, FlowCommand command) {
  registers.Write32(kFlowFields, flow.fields);
  registers.Write32(kFlowProtocol, flow.protocol);
  registers.Write32(kFlowPorts, flow.ports);
  for (uint32_t at = 0; at < 16; at += 4) {
    uint32_t word;
    std::memcpy(&word, flow.source.data() + at, 4);
    registers.Write32(kFlowSource + at, word);
    std::memcpy(&word, flow.destination.data() + at, 4);
    registers.Write32(kFlowDestination + at, word);
  }
  registers.Write32(kFlowAction, flow.action);
  registers.Write32(kFlowMark, flow.mark);
  registers.Write32(kFlowCommand, static_cast<uint32_t>(command));
}

/// `configuration` is held.
FlowStatus Command(Adapter& adapter, const rte_flow& flow, FlowCommand command) {
  Post(adapter.registers, flow, command);
  return static_cast<FlowStatus>(adapter.registers.Read32(kFlowStatus));
}

int Validate(rte_eth_dev* dev, const rte_flow_attr* attributes, const rte_flow_item items[],
             const rte_flow_action actions[], rte_flow_error* error) {
  rte_flow flow;
  return Translate(dev, attributes, items, actions, &flow, error);
}

rte_flow* Create(rte_eth_dev* dev, const rte_flow_attr* attributes, const rte_flow_item items[],
                 const rte_flow_action actions[], rte_flow_error* error) {
  rte_flow flow;
  if (Translate(dev, attributes, items, actions, &flow, error) != 0) return nullptr;
  const auto refuse = [&](int code, const char* why) {
    rte_flow_error_set(error, code, RTE_FLOW_ERROR_TYPE_HANDLE, nullptr, why);
    return nullptr;
  };
  Adapter& adapter = AdapterOf(dev);
  const std::scoped_lock lock(adapter.configuration);
  switch (Command(adapter, flow, FlowCommand::kAdd)) {
    case FlowStatus::kOk:
      break;
    case FlowStatus::kExists:
      return refuse(EEXIST, "a rule for this match exists");
    case FlowStatus::kFull:
      return refuse(ENOSPC, "the device's flow table is full");
    default:
      return refuse(EIO, "the device refused the rule");
  }
  return &adapter.flows.emplace_back(flow);
}

int Destroy(rte_eth_dev* dev, rte_flow* flow, rte_flow_error* error) {
  Adapter& adapter = AdapterOf(dev);
  const std::scoped_lock lock(adapter.configuration);
  auto& flows = adapter.flows;
  const auto it = std::find_if(flows.begin(), flows.end(), [&](rte_flow& f) { return &f == flow; });
  if (it == flows.end()) {
    return rte_flow_error_set(error, ENOENT, RTE_FLOW_ERROR_TYPE_HANDLE, flow, "no such rule");
  }
  const FlowStatus status = Command(adapter, *flow, FlowCommand::kRemove);
  flows.erase(it);
  if (status == FlowStatus::kOk) return 0;
  return rte_flow_error_set(error, EIO, RTE_FLOW_ERROR_TYPE_HANDLE, nullptr,
                            "the device did not have the rule");
}

int Flush(rte_eth_dev* dev, rte_flow_error*) {
  FlowClear(dev);
  return 0;
}

int Query(rte_eth_dev* dev, rte_flow* flow, const rte_flow_action* action, void* data,
          rte_flow_error* error) {
  if (action->type != RTE_FLOW_ACTION_TYPE_COUNT || !flow->count) {
    return Refuse(error, RTE_FLOW_ERROR_TYPE_ACTION, action, "only a rule's count can be queried");
  }
  auto* const count = static_cast<rte_flow_query_count*>(data);
  const auto command = count->reset ? FlowCommand::kQueryAndClear : FlowCommand::kQuery;
  Adapter& adapter = AdapterOf(dev);
  const std::scoped_lock lock(adapter.configuration);
  if (Command(adapter, *flow, command) != FlowStatus::kOk) {
    return rte_flow_error_set(error, EIO, RTE_FLOW_ERROR_TYPE_HANDLE, nullptr,
                              "the device does not answer the query");
  }
  count->hits = adapter.registers.Read64(kFlowHits);
  count->bytes = adapter.registers.Read64(kFlowHitBytes);
  count->hits_set = count->bytes_set = 1;
  return 0;
}

constexpr rte_flow_ops MakeFlowOps() {
  rte_flow_ops ops{};
  ops.validate = Validate;
  ops.create = Create;
  ops.destroy = Destroy;
  ops.flush = Flush;
  ops.query = Query;
  return ops;
}
constinit const rte_flow_ops kFlowOps = MakeFlowOps();

}  // namespace

void FlowClear(rte_eth_dev* dev) {
  Adapter& adapter = AdapterOf(dev);
  const std::scoped_lock lock(adapter.configuration);
  adapter.registers.Write32(kFlowCommand, static_cast<uint32_t>(FlowCommand::kFlush));
  adapter.flows.clear();
}

void FlowReplay(Adapter& adapter) {
  for (const rte_flow& flow : adapter.flows) Post(adapter.registers, flow, FlowCommand::kAdd);
}

int FlowOpsGet(rte_eth_dev*, const rte_flow_ops** ops) {
  *ops = &kFlowOps;
  return 0;
}

}  // namespace sluice::net_ipu
