// SPDX-License-Identifier: BSD-3-Clause
//
// State that the switch keeps for each node of a stream: a Lane for the sending half and a Hop for
// the receiving half.
#pragma once

#include <cstdint>
#include <vector>

#include "device/switch/ring.h"
#include "device/switch/spec.h"

namespace sluice::device::pcie_switch {

/// Sending half of a node. The node's TLPs wait in a ring.
struct Lane {
  bool used = false;
  StreamId stream = 0;
  NodeId node = 0;
  PortId owner = 0;
  bool legacy = false;  ///< The node writes records instead of message headers.
  uint16_t ring = 0;
  uint32_t capacity = 0;  ///< Size of the ring in granules.
  uint64_t control = 0;

  bool closed = false;
  bool discarding = false;  ///< The rest of a dropped message may still arrive.
  bool coming = false;      ///< The rest of a message is still expected.
  uint32_t offset = 0;      ///< Expected offset in the window.
  uint32_t end = 0;         ///< End offset of the message.
  uint64_t sequence = 0;    ///< Number of the current or last message.
  NodeMask targets = 0;     ///< Targets of the current or last message.
  Held about{};             ///< Description of the current or last message, without its data.

  uint64_t messages = 0;  ///< Number of messages received completely.
  uint64_t received = 0;  ///< Granules received.
  uint64_t freed = 0;
  uint64_t reported = 0;  ///< Value of `freed` last reported to the sender.
};

/// A message that a legacy device processes, or that is being copied into the slot.
struct Slot {
  bool used = false;
  uint32_t sequence = 0;
  uint32_t message = 0;
  uint32_t key1 = 0;
};

/// Receiving half of a node.
struct Hop {
  bool used = false;
  StreamId stream = 0;
  NodeId node = 0;
  NodeSpec spec;
  bool dead = false;

  bool busy = false;      ///< A message is being sent to the node.
  uint16_t lane = 0;      ///< Lane of that message.
  uint64_t sequence = 0;  ///< Number of that message in the lane.
  uint32_t done = 0;      ///< Number of bytes of the message's next TLP that have been sent.
  bool partial = false;   ///< Part of the message has been sent.
  bool aborted = false;   ///< The receiver must be told that the message was aborted.
  uint32_t turn = 0;      ///< Lane that is checked first for the next message.
  uint64_t messages = 0;  ///< Number of messages sent completely.

  uint64_t sent = 0;      ///< Total bytes sent; messages begin at granule boundaries.
  uint64_t consumed = 0;  ///< Total bytes that the device has released.

  // Members for legacy nodes.
  std::vector<uint8_t> memory;  ///< The descriptor ring, followed by a data slot per descriptor.
  std::vector<Slot> slots;
  uint32_t posted = 0;  ///< Descriptors, cumulative.
  uint32_t filled = 0;  ///< Bytes of the current message that have been copied to the slot.

  /// Called when the device has received the state. Increments a counted state (StateRule::kCount),
  /// so that the same count is never sent twice, even if the message is aborted.
  void CountState() {
    if (spec.state_rule != StateRule::kCount) return;
    StoreTo(spec.state.data(), LoadFrom<uint64_t>(spec.state.data()) + 1);
  }
};

}  // namespace sluice::device::pcie_switch
