// SPDX-License-Identifier: BSD-3-Clause
//
// rte_flow on the NIC's flow table: steers exactly specified UDP and TCP flows to queues. Rules
// that the table cannot match or hold are rejected with an error message.
#include <netinet/in.h>
#include <rte_byteorder.h>
#include <rte_flow.h>
#include <rte_flow_driver.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "flow_items.h"
#include "net_enso/enso_port.h"

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

  /// Copies an item's spec and mask. Both are zero if the item has no spec.
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
    return IsZero(mask)
               ? 0
               : Refuse(item, "of the UDP header, the NIC can match only the destination port");
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

/// Converts an rte_flow rule to the only key that the NIC compares, or reports why this is
/// impossible. Fills `rule` from `eth / ipv4 / udp` or `eth / ipv4 / tcp` (eth optional) with exact
/// fields and from the actions queue and count. Returns 0, or a negative errno with `error` filled.
///
/// Accepts only rules that the NIC's table can match (docs/enso-hardware.md, "Steering"):
///   UDP: destination address and port, no source field;
///   TCP: all four fields, for segments without SYN;
///   TCP with flags SYN: destination address and port.
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

int Fail(rte_flow_error* error, int code, const char* message) {
  return rte_flow_error_set(error, code, RTE_FLOW_ERROR_TYPE_HANDLE, nullptr, message);
}

/// Checks a well-formed rule against the table.
int CheckTable(const Port& port, const rte_flow& rule, rte_flow_error* error) {
  const bool duplicate = std::any_of(port.flows.begin(), port.flows.end(),
                                     [&](const auto& other) { return other->key == rule.key; });
  const int result = duplicate ? -EEXIST : port.device->CheckFlow(rule.key);
  if (result == -EEXIST) {
    return Fail(error, EEXIST,
                "another rule steers this flow; UDP and TCP SYN to one destination share an entry");
  }
  if (result == -ENOSPC)
    return Fail(error, ENOSPC,
                "the NIC's table is full for this flow: all four rows of its hash are in use");
  const auto counts_there = [&](const auto& other) {
    return other->counted && other->queue == rule.queue;
  };
  if (rule.counted &&
      std::ranges::count_if(port.flows, counts_there) >= static_cast<ptrdiff_t>(RxQueue::kRules))
    return Fail(error, ENOMEM, "the queue has the maximum number of rules with the count action");
  return 0;
}

int StartCounting(Port& port, rte_flow& rule) {
  RxQueue& queue = *port.rx[rule.queue];
  for (size_t i = 0; i < queue.rules.size(); ++i) {
    CountedRule& counted = queue.rules[i];
    if (counted.active.load(std::memory_order_relaxed)) continue;
    counted.key = rule.key;
    counted.tcp = rule.tcp;
    counted.active.store(true, std::memory_order_release);
    queue.counted_rules.fetch_add(1, std::memory_order_relaxed);
    rule.counter = static_cast<int>(i);
    return 0;
  }
  return -ENOSPC;
}

void StopCounting(Port& port, rte_flow& rule) {
  if (rule.counter < 0 || rule.queue >= port.rx.size()) return;
  RxQueue& queue = *port.rx[rule.queue];
  CountedRule& counted = queue.rules[static_cast<size_t>(rule.counter)];
  counted.active.store(false, std::memory_order_release);
  rule.packets += counted.packets.exchange(0, std::memory_order_relaxed);
  rule.bytes += counted.bytes.exchange(0, std::memory_order_relaxed);
  queue.counted_rules.fetch_sub(1, std::memory_order_relaxed);
  rule.counter = -1;
}

Pipe* PipeOf(Port& port, const rte_flow& rule) { return port.rx[rule.queue]->nb->pipes().front(); }

bool Running(const Port& port) { return port.data->dev_started != 0; }

int Bind(Port& port, rte_flow& rule) {
  if (rule.counted && StartCounting(port, rule) != 0) return -ENOMEM;  // CheckTable prevents this.
  const int result = port.device->BindFlow(PipeOf(port, rule), rule.key);
  if (result != 0) StopCounting(port, rule);
  return result;
}

int Validate(rte_eth_dev* dev, const rte_flow_attr* attr, const rte_flow_item pattern[],
             const rte_flow_action actions[], rte_flow_error* error) {
  Port& port = Port::Of(dev);
  const std::scoped_lock lock(port.device->mutex());
  rte_flow rule{};
  const int result = ParseRule(attr, pattern, actions, dev->data->nb_rx_queues, &rule, error);
  return result != 0 ? result : CheckTable(port, rule, error);
}

rte_flow* Create(rte_eth_dev* dev, const rte_flow_attr* attr, const rte_flow_item pattern[],
                 const rte_flow_action actions[], rte_flow_error* error) {
  Port& port = Port::Of(dev);
  const std::scoped_lock lock(port.device->mutex());
  auto rule = std::make_unique<rte_flow>();
  if (ParseRule(attr, pattern, actions, dev->data->nb_rx_queues, rule.get(), error) != 0)
    return nullptr;
  if (CheckTable(port, *rule, error) != 0) return nullptr;
  if (Running(port)) {
    const int result = Bind(port, *rule);
    if (result != 0) {
      Fail(error, -result, "the NIC does not answer");
      return nullptr;
    }
  }
  port.flows.push_back(std::move(rule));
  return port.flows.back().get();
}

void Withdraw(Port& port, rte_flow& rule) {
  if (!Running(port)) return;
  port.device->UnbindFlow(PipeOf(port, rule), rule.key);
  StopCounting(port, rule);
}

int Destroy(rte_eth_dev* dev, rte_flow* rule, rte_flow_error* error) {
  Port& port = Port::Of(dev);
  const std::scoped_lock lock(port.device->mutex());
  const auto it = std::find_if(port.flows.begin(), port.flows.end(),
                               [rule](const auto& known) { return known.get() == rule; });
  if (it == port.flows.end()) return Fail(error, ENOENT, "the port has no such rule");
  Withdraw(port, *rule);
  port.flows.erase(it);
  return 0;
}

int Flush(rte_eth_dev* dev, rte_flow_error*) {
  Port& port = Port::Of(dev);
  const std::scoped_lock lock(port.device->mutex());
  for (auto& rule : port.flows) Withdraw(port, *rule);
  port.flows.clear();
  return 0;
}

int Query(rte_eth_dev* dev, rte_flow* rule, const rte_flow_action* action, void* data,
          rte_flow_error* error) {
  Port& port = Port::Of(dev);
  const std::scoped_lock lock(port.device->mutex());
  if (action->type != RTE_FLOW_ACTION_TYPE_COUNT) {
    return rte_flow_error_set(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION, action,
                              "only the count action can be queried");
  }
  if (!rule->counted) return Fail(error, EINVAL, "the rule was created without the count action");
  auto* count = static_cast<rte_flow_query_count*>(data);
  count->hits_set = count->bytes_set = 1;
  CountedRule* const bound = rule->counter < 0
                                 ? nullptr
                                 : &port.rx[rule->queue]->rules[static_cast<size_t>(rule->counter)];
  count->hits = rule->packets;
  count->bytes = rule->bytes;
  if (bound != nullptr) {
    count->hits += bound->packets.load(std::memory_order_relaxed);
    count->bytes += bound->bytes.load(std::memory_order_relaxed);
  }
  if (count->reset == 0) return 0;
  rule->packets = rule->bytes = 0;
  if (bound != nullptr) {
    bound->packets.store(0, std::memory_order_relaxed);
    bound->bytes.store(0, std::memory_order_relaxed);
  }
  return 0;
}

}  // namespace

int BindRules(Port& port) {
  for (auto& rule : port.flows) {
    if (rule->queue >= port.rx.size()) {
      ENSO_LOG(ERR, "a flow rule refers to queue %u, which no longer exists: flush the rules",
               rule->queue);
      return -EINVAL;
    }
    if (const int result = Bind(port, *rule); result != 0) return result;
  }
  return 0;
}

void UnbindRules(Port& port) {
  for (auto& rule : port.flows) {
    if (rule->queue >= port.rx.size() || port.rx[rule->queue]->nb == nullptr) continue;
    if (port.rx[rule->queue]->nb->pipes().empty()) continue;
    port.device->UnbindFlow(PipeOf(port, *rule), rule->key);
    StopCounting(port, *rule);
  }
}

constinit const rte_flow_ops kFlowOps = drivers::FlowOps(Validate, Create, Destroy, Flush, Query);

}  // namespace sluice::net_enso
