// SPDX-License-Identifier: BSD-3-Clause
//
// The device's exact-match table over any selection of the 5-tuple and of what lies
// below it: Ethernet addresses, VLAN tags, whether the frame is a fragment. Rules that
// select the same fields form a profile; a lookup tries the profiles in use, the
// one with most fields first.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "device/ipu/flow_ages.h"
#include "device/ipu/parser.h"
#include "regs/ipu.h"

namespace sluice::device::ipu {

/// Fields that a key does not select are zero.
struct FlowKey {
  uint32_t fields;    ///< regs::ipu::kFlowMatch… bits.
  uint32_t protocol;  ///< As kFlowProtocol.
  uint32_t ports;     ///< As kFlowPorts.
  std::array<uint8_t, 16> source;
  std::array<uint8_t, 16> destination;
  uint32_t shape;         ///< As kFlowShape.
  uint64_t ether_source;  ///< As kFlowEtherSource; the upper 16 bits are 0.
  uint64_t ether_destination;

  friend bool operator==(const FlowKey&, const FlowKey&) = default;
};

struct FlowEntry {
  uint32_t action = 0;  ///< As kFlowAction.
  uint32_t mark = 0;
  FlowUse use;
  uint64_t hit_bytes = 0;
  uint64_t cleared_hits = 0;  ///< What of them was counted before the last kQueryAndClear.
  uint64_t cleared_bytes = 0;
};

/// When a rule has aged, and whom it tells.
struct FlowAge {
  uint64_t patience_ns = 0;  ///< 0: it never does.
  uint64_t cookie = 0;       ///< As kFlowCookie.
};

class FlowTable {
 public:
  bool empty() const { return profiles_.empty(); }

  /// kOk, kExists or kFull. The key is masked to its fields.
  regs::ipu::FlowStatus Add(FlowKey key, FlowEntry entry, FlowAge age, uint64_t now_ns);
  /// kOk, with the rule as it was in `removed`, or kAbsent.
  regs::ipu::FlowStatus Remove(FlowKey key, FlowEntry* removed);
  /// The rule itself, or null.
  FlowEntry* Find(FlowKey key);
  void Clear();
  FlowAges& ages() { return ages_; }

  /// The rule that claims the frame, or null. Frames without an IP header match none.
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
  std::vector<Profile> profiles_;  ///< In use, in order of preference.
  FlowAges ages_;
};

}  // namespace sluice::device::ipu
