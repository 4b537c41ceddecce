// SPDX-License-Identifier: BSD-3-Clause
//
// rte_flow helpers for tables of exact-match rules: rte_flow's default item masks (rte_flow.h
// defines them only for C), and functions that classify field masks and check rule attributes.
#pragma once

#include <rte_byteorder.h>
#include <rte_flow.h>
#include <rte_flow_driver.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sluice::drivers {

template <typename Item>
Item DefaultMask(void (*set)(Item&)) {
  Item mask{};
  set(mask);
  return mask;
}
inline const auto kEthMask = DefaultMask<rte_flow_item_eth>([](rte_flow_item_eth& mask) {
  std::memset(&mask.hdr.dst_addr, 0xff, sizeof(mask.hdr.dst_addr));
  std::memset(&mask.hdr.src_addr, 0xff, sizeof(mask.hdr.src_addr));
});
inline const auto kVlanMask = DefaultMask<rte_flow_item_vlan>(
    [](rte_flow_item_vlan& mask) { mask.hdr.vlan_tci = RTE_BE16(0x0fff); });
inline const auto kIpv4Mask = DefaultMask<rte_flow_item_ipv4>(
    [](rte_flow_item_ipv4& mask) { mask.hdr.src_addr = mask.hdr.dst_addr = UINT32_MAX; });
inline const auto kIpv6Mask = DefaultMask<rte_flow_item_ipv6>([](rte_flow_item_ipv6& mask) {
  std::memset(&mask.hdr.src_addr, 0xff, sizeof(mask.hdr.src_addr));
  std::memset(&mask.hdr.dst_addr, 0xff, sizeof(mask.hdr.dst_addr));
});
inline const auto kUdpMask = DefaultMask<rte_flow_item_udp>(
    [](rte_flow_item_udp& mask) { mask.hdr.src_port = mask.hdr.dst_port = UINT16_MAX; });
inline const auto kTcpMask = DefaultMask<rte_flow_item_tcp>(
    [](rte_flow_item_tcp& mask) { mask.hdr.src_port = mask.hdr.dst_port = UINT16_MAX; });

/// A field's mask: all zeros, all ones, or another value.
enum class Match { kAny, kExact, kPartial };
inline Match MatchOf(const void* mask, size_t bytes) {
  const auto* const first = static_cast<const uint8_t*>(mask);
  if (std::all_of(first, first + bytes, [](uint8_t b) { return b == 0; })) return Match::kAny;
  if (std::all_of(first, first + bytes, [](uint8_t b) { return b == 0xff; })) return Match::kExact;
  return Match::kPartial;
}
/// Returns whether all bits of the mask are zero.
template <typename Header>
bool IsZero(const Header& mask) {
  return MatchOf(&mask, sizeof(mask)) == Match::kAny;
}

/// Checks that a single ingress table without priorities can hold rules with these attributes.
/// Returns 0, or a negative errno; `error` then names the attribute.
inline int CheckAttributes(const rte_flow_attr& attributes, rte_flow_error* error) {
  const auto refuse = [&](rte_flow_error_type type, const char* why) {
    return rte_flow_error_set(error, ENOTSUP, type, &attributes, why);
  };
  if (attributes.group != 0) {
    return refuse(RTE_FLOW_ERROR_TYPE_ATTR_GROUP, "the only group is 0: use group 0");
  }
  if (attributes.priority != 0) {
    return refuse(RTE_FLOW_ERROR_TYPE_ATTR_PRIORITY, "rules have no priorities: use 0");
  }
  if (attributes.egress != 0) {
    return refuse(RTE_FLOW_ERROR_TYPE_ATTR_EGRESS, "rules apply to ingress, not to egress");
  }
  if (attributes.transfer != 0) {
    return refuse(RTE_FLOW_ERROR_TYPE_ATTR_TRANSFER, "rules apply only to ingress of this port");
  }
  if (attributes.ingress == 0) {
    return refuse(RTE_FLOW_ERROR_TYPE_ATTR_INGRESS,
                  "rules apply only to ingress: set the ingress attribute");
  }
  return 0;
}

/// Returns the rte_flow operations of a driver that stores rules and counts their matches.
constexpr rte_flow_ops FlowOps(decltype(rte_flow_ops::validate) validate,
                               decltype(rte_flow_ops::create) create,
                               decltype(rte_flow_ops::destroy) destroy,
                               decltype(rte_flow_ops::flush) flush,
                               decltype(rte_flow_ops::query) query) {
  rte_flow_ops ops{};
  ops.validate = validate;
  ops.create = create;
  ops.destroy = destroy;
  ops.flush = flush;
  ops.query = query;
  return ops;
}

}  // namespace sluice::drivers
