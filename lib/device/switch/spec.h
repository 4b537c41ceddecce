// SPDX-License-Identifier: BSD-3-Clause
//
// The specification with which a CPU opens a stream, and the switch's counters.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/counter_rows.h"
#include "device/switch/message.h"
#include "device/switch/tlp.h"

namespace sluice::device::pcie_switch {

using StreamId = uint16_t;
using NodeId = uint8_t;
/// One bit per node of a stream.
using NodeMask = uint16_t;
/// One bit per port.
using PortMask = uint16_t;

inline constexpr uint32_t kMaxNodes = 16;  ///< Maximum number of nodes per stream.
inline constexpr PortMask kAllPorts = 0xffff;

/// Addresses of the switch itself: registers, memory areas and windows. Each of them belongs to one
/// node.
inline constexpr uint64_t kSwitchBase = 1ull << 40;
/// 8-byte registers, one per node, that contain the number of bytes that the node has consumed.
inline constexpr uint64_t kRegisters = kSwitchBase;
inline constexpr uint64_t kGlueMemory = kSwitchBase + (1ull << 32);
inline constexpr uint64_t kWindows = kSwitchBase + (1ull << 36);
inline constexpr uint64_t kSwitchEnd = kSwitchBase << 1;
/// A window is a range of 16 MiB of addresses without memory.
inline constexpr uint32_t kWindowShift = 24;
inline constexpr uint32_t kGlueShift = 28;
/// Maximum message size: the message and its header must fit into the window.
inline constexpr uint32_t kLongestMessage = (1u << kWindowShift) - kGranule;

/// Targets of the messages that match a value.
struct Edge {
  /// Compared with the selected value, but only in the bits of `mask`; the first match wins.
  uint64_t value = 0;
  uint64_t mask = 0;
  NodeMask targets = 0;  ///< Each target gets a copy.
};
enum class Select : uint8_t { kNothing, kKey0, kKey1, kRoundRobin, kHash };

struct Policy {
  Select select = Select::kNothing;
  uint32_t ways = 1;        ///< Round robin and hash select 0 … ways - 1.
  std::vector<Edge> edges;  ///< Messages that match no edge are dropped as kNoEdge.
};

constexpr NodeMask Bit(NodeId node) { return static_cast<NodeMask>(1u << node); }
/// Returns all nodes to which a policy can send.
inline NodeMask TargetsOf(const Policy& policy) {
  NodeMask all = 0;
  for (const Edge& edge : policy.edges) all |= edge.targets;
  return all;
}

enum class NodeKind : uint8_t {
  kPush,    ///< Receives messages in a streaming buffer of the device.
  kLegacy,  ///< Fetches descriptors from a queue that the switch drives.
};
/// Handling of messages for a node whose device is dead.
enum class OnDeath : uint8_t {
  kDrain,   ///< Messages are dropped; the rest of the stream continues.
  kBypass,  ///< Messages are sent to another node.
  kFail,    ///< The stream fails.
};
/// How a node's state changes from message to message.
enum class StateRule : uint8_t {
  kFixed,
  kCount,  ///< The first 8 bytes are a number that is incremented for each message.
};

struct NodeSpec {
  PortId port = 0;
  NodeKind kind = NodeKind::kPush;
  Policy out;  ///< A node without edges does not send.

  /// Address of two 8-byte words in the device, written by the switch. At +0: number of granules of
  /// the device's messages that have left the switch (WindowReport::freed). At +8: after an aborted
  /// message, the position of the next message in the stream of all received bytes.
  uint64_t control = 0;

  /// Size of the switch's buffer for the TLPs that the node sends. Equal to the node's credits.
  uint32_t window_granules = 64;

  // Members for a node that receives messages, which is the target of an edge.
  uint64_t buffer = 0;        ///< Address of the node's streaming buffer.
  uint32_t buffer_bytes = 0;  ///< A whole number of granules, at least the longest message.
  uint32_t command = 0;
  State state{};
  StateRule state_rule = StateRule::kFixed;
  OnDeath on_death = OnDeath::kFail;
  NodeId bypass = 0;  ///< Node that gets this node's messages with OnDeath::kBypass.

  // Members for a legacy node.
  uint64_t doorbell = 0;  ///< The switch writes the number of posted descriptors here, in 4 bytes.
  /// Maximum number of messages in the device. Must be a power of two, because 32-bit sequence
  /// numbers wrap around.
  uint32_t slots = 0;
};

/// A chain of accelerators. Edges lead only to later nodes.
struct StreamSpec {
  std::vector<NodeSpec> nodes;
  uint32_t max_message = 0;  ///< Maximum number of bytes after the header, at every node.
};
/// Returns the nodes that are targets of an edge.
inline NodeMask Receivers(const StreamSpec& spec) {
  NodeMask all = 0;
  for (const NodeSpec& node : spec.nodes) all |= TargetsOf(node.out);
  return all;
}

/// Reason why a message, or a TLP outside a message, was dropped.
enum class Drop : uint8_t {
  kNone,
  kNoWindow,    ///< TLP: its address is not assigned.
  kNotOwner,    ///< TLP: the window belongs to another device.
  kForbidden,   ///< Copy of a message, or TLP: the source may not write to the target port.
  kNoEdge,      ///< No edge of the policy matches.
  kTooLong,     ///< The length in the header exceeds the stream's maximum.
  kBadHeader,   ///< The first TLP has an incomplete header, or more bytes than the header's length.
  kCut,         ///< Another message began, or the window was closed, before this one ended.
  kGap,         ///< TLP: its data does not continue the previous bytes.
  kOverrun,     ///< The sender had no credits.
  kClosed,      ///< TLP: its stream is closed or has failed, or its device is dead.
  kStageDead,   ///< The receiving device is dead.
  kSenderDied,  ///< The sending device died before the message ended.
  kStreamFailed,  ///< The message was in the switch when its stream failed.
  kBadCredit,     ///< TLP: the credits are invalid: more than were sent, or fewer than before.
  kBadRecord,     ///< A legacy device sent a result for which no descriptor is pending.
  kRefused,       ///< A legacy device could not process the message.
  kBadRead,       ///< TLP: the reader does not own the memory that it reads.
};
inline constexpr auto kDropNames = base::Names<Drop, 18>({{Drop::kNone, "none"},
                                                          {Drop::kNoWindow, "no_window"},
                                                          {Drop::kNotOwner, "not_owner"},
                                                          {Drop::kForbidden, "forbidden"},
                                                          {Drop::kNoEdge, "no_edge"},
                                                          {Drop::kTooLong, "too_long"},
                                                          {Drop::kBadHeader, "bad_header"},
                                                          {Drop::kCut, "cut"},
                                                          {Drop::kGap, "gap"},
                                                          {Drop::kOverrun, "overrun"},
                                                          {Drop::kClosed, "closed"},
                                                          {Drop::kStageDead, "stage_dead"},
                                                          {Drop::kSenderDied, "sender_died"},
                                                          {Drop::kStreamFailed, "stream_failed"},
                                                          {Drop::kBadCredit, "bad_credit"},
                                                          {Drop::kBadRecord, "bad_record"},
                                                          {Drop::kRefused, "refused"},
                                                          {Drop::kBadRead, "bad_read"}});
using Drops = std::array<uint64_t, kDropNames.size()>;

/// Result of Open.
struct Opened {
  std::string error;  ///< One-line message; empty on success.
  StreamId stream = 0;
  /// Indexed by node: its window, its register for consumed bytes, and a legacy node's descriptor
  /// ring. 0 for each that the node does not have.
  std::vector<uint64_t> windows;
  std::vector<uint64_t> registers;
  std::vector<uint64_t> rings;
};

/// Data that a flush read of a window returns to the window's owner. It covers the owner's earlier
/// writes.
struct WindowReport {
  uint64_t messages = 0;  ///< Number of messages received completely since the stream was opened.
  uint64_t received = 0;  ///< Total granules received, including dropped ones.
  uint64_t freed = 0;     ///< Number of `received` granules that have left the switch.
};

}  // namespace sluice::device::pcie_switch
