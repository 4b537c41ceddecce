// SPDX-License-Identifier: BSD-3-Clause
//
// State that the switch keeps for each node of a stream: a Lane for the sending half, a Hop for the
// receiving half.
#pragma once

#include <cstdint>
#include <vector>

#include "device/switch/ring.h"
#include "device/switch/spec.h"

namespace sluice::device::pcie_switch {

/// Sending half of a node. Its TLPs wait in a ring.
struct Lane {
  bool used = false;
  StreamId stream = 0;
  NodeId node = 0;
  PortId owner = 0;
  bool legacy = false;  ///< The node writes records instead of message headers.
  uint16_t ring = 0;
  uint32_t capacity = 0;  ///< Granules of the ring.
  uint64_t control = 0;

  bool closed = false;
  bool discarding = false;  ///< The rest of a dropped message may follow.
  bool coming = false;      ///< The rest of a message is expected.
  uint32_t offset = 0;      ///< Expected offset in the window.
  uint32_t end = 0;         ///< End offset of the message.
  uint64_t sequence = 0;    ///< Number of the current or last message.
  NodeMask targets = 0;     ///< Targets of that message.
  Held about{};             ///< Description of that message, without data.

  uint64_t messages = 0;  ///< Messages received completely.
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
  uint32_t done = 0;      ///< Bytes already sent of the message's next TLP.
  bool partial = false;   ///< A part of the message was sent.
  bool aborted = false;   ///< The receiver must be informed that the message was aborted.
  uint32_t turn = 0;      ///< Lane of the stream that is checked first.
  uint64_t messages = 0;  ///< Messages sent completely.

  uint64_t sent = 0;      ///< Bytes, cumulative; messages begin at whole granules.
  uint64_t consumed = 0;  ///< Bytes that the device has released.

  // Members for legacy nodes.
  std::vector<uint8_t> memory;  ///< The descriptor ring, followed by a data slot per descriptor.
  std::vector<Slot> slots;
  uint32_t posted = 0;  ///< Descriptors, cumulative.
  uint32_t filled = 0;  ///< Bytes of the current message that are in the slot.

  /// Called when the device has received the state: increments a counted state (StateRule::kCount),
  /// so that it is not sent twice, even if the message is aborted.
  void CountState() {
    if (spec.state_rule != StateRule::kCount) return;
    StoreTo(spec.state.data(), LoadFrom<uint64_t>(spec.state.data()) + 1);
  }
};

}  // namespace sluice::device::pcie_switch
