// SPDX-License-Identifier: BSD-3-Clause
//
// The device's exact-match table. A rule may select any of these fields: the 5-tuple, the Ethernet
// addresses, the VLAN tags, and whether the frame is a fragment. Rules that select the same fields
// form a profile. A lookup tries all profiles in use, starting with those that select the most
// fields.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "device/ipu/flow_ages.h"
#include "device/ipu/parser.h"
#include "regs/ipu.h"

namespace sluice::device::ipu {

/// A rule's key. Fields that the rule does not select are zero, except for the IP version.
struct FlowKey {
  uint32_t fields;    ///< regs::ipu::kFlowMatch… bits.
  uint32_t protocol;  ///< In the format of kFlowProtocol.
  uint32_t ports;     ///< In the format of kFlowPorts.
  std::array<uint8_t, 16> source;
  std::array<uint8_t, 16> destination;
  uint32_t shape;         ///< In the format of kFlowShape.
  uint64_t ether_source;  ///< In the format of kFlowEtherSource; the upper 16 bits are 0.
  uint64_t ether_destination;

  friend bool operator==(const FlowKey&, const FlowKey&) = default;
};

struct FlowEntry {
  uint32_t action = 0;  ///< In the format of kFlowAction.
  uint32_t mark = 0;
  FlowUse use;
  uint64_t hit_bytes = 0;
  uint64_t cleared_hits = 0;  ///< Value of `hits` at the last kQueryAndClear.
  uint64_t cleared_bytes = 0;
};

/// A rule's timeout, and the cookie that identifies the rule when it is reported as aged.
struct FlowAge {
  uint64_t patience_ns = 0;  ///< 0: the rule does not age.
  uint64_t cookie = 0;       ///< In the format of kFlowCookie.
};

class FlowTable {
 public:
  bool empty() const { return profiles_.empty(); }

  /// Adds a rule. Ignores the parts of the key that are not selected by its fields. Returns kOk,
  /// kExists or kFull.
  regs::ipu::FlowStatus Add(FlowKey key, FlowEntry entry, FlowAge age, uint64_t now_ns);
  /// Returns kOk and copies the rule to `removed`, or returns kAbsent.
  regs::ipu::FlowStatus Remove(FlowKey key, FlowEntry* removed);
  /// Returns the rule, or null.
  FlowEntry* Find(FlowKey key);
  void Clear();
  FlowAges& ages() { return ages_; }

  /// Returns the first matching rule, in profile order, or null. Frames without an IP header match
  /// no rule.
  FlowEntry* Lookup(const WireFrame& frame, const Headers& headers);

 private:
  struct KeyHash {
    size_t operator()(const FlowKey& key) const;
  };
  struct Profile {
    uint32_t fields;
    uint32_t rules;
  };

  std::unordered_map<FlowKey, FlowEntry, KeyHash> rules_;
  std::vector<Profile> profiles_;  ///< Profiles in use, in order of preference.
  FlowAges ages_;
};

}  // namespace sluice::device::ipu
