// SPDX-License-Identifier: BSD-3-Clause
//
// The two halves of a stream's node, as the switch sees it: what it sends, and what it gets.
#pragma once

#include <cstdint>
#include <vector>

#include "device/switch/ring.h"
#include "device/switch/spec.h"

namespace sluice::device::pcie_switch {

/// What a node sends. Its TLPs wait in a ring.
struct Lane {
  bool used = false;
  StreamId stream = 0;
  NodeId node = 0;
  PortId owner = 0;
  bool legacy = false;  ///< It writes records, not message headers.
  uint16_t ring = 0;
  uint32_t capacity = 0;  ///< Granules.
  uint64_t control = 0;

  bool closed = false;
  bool discarding = false;  ///< The rest of a message that was dropped may come.
  bool coming = false;      ///< The rest of a message is expected,
  uint32_t offset = 0;      ///< from this offset in the window on,
  uint32_t end = 0;         ///< up to this one.
  uint64_t sequence = 0;    ///< Of the message that is coming, or came last.
  NodeMask targets = 0;     ///< Of that message.
  Held about{};             ///< Of that message, without data.

  uint64_t messages = 0;  ///< Taken whole.
  uint64_t received = 0;  ///< Granules.
  uint64_t freed = 0;
  uint64_t told = 0;  ///< Of `freed`, what the sender knows.
};

/// A message that is with a legacy device, or on its way into the slot.
struct Slot {
  bool used = false;
  uint32_t sequence = 0;
  uint32_t message = 0;
  uint32_t key1 = 0;
};

/// What a node gets.
struct Hop {
  bool used = false;
  StreamId stream = 0;
  NodeId node = 0;
  NodeSpec spec;
  bool dead = false;

  bool busy = false;      ///< In the middle of a message,
  uint16_t lane = 0;      ///< of this lane,
  uint64_t sequence = 0;  ///< which is this one there;
  uint32_t done = 0;      ///< of its next TLP so many bytes have left,
  bool partial = false;   ///< and of all of it some.
  bool aborted = false;   ///< The receiver is to be told that the message has no end.
  uint32_t turn = 0;      ///< Lane of the stream that is looked at first.
  uint64_t messages = 0;  ///< Sent whole.

  uint64_t sent = 0;      ///< Bytes, from the first on; a message begins at a whole granule.
  uint64_t consumed = 0;  ///< Of them, what the device no longer needs.

  // Of a legacy node.
  std::vector<uint8_t> memory;  ///< The ring of descriptors, then a slot for each.
  std::vector<Slot> slots;
  uint32_t posted = 0;  ///< Descriptors, cumulative.
  uint32_t filled = 0;  ///< Bytes in the slot of the message that is under way.

  /// The device has been given the state: it gets no counted one twice, though the message may
  /// have no end.
  void CountState() {
    if (spec.state_rule != StateRule::kCount) return;
    StoreTo(spec.state.data(), LoadFrom<uint64_t>(spec.state.data()) + 1);
  }
};

}  // namespace sluice::device::pcie_switch
