// SPDX-License-Identifier: BSD-3-Clause
//
// What a CPU tells the switch when it opens a stream, and what the switch counts.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "device/switch/message.h"
#include "device/switch/tlp.h"

namespace sluice::device::pcie_switch {

using StreamId = uint16_t;
using NodeId = uint8_t;
/// A bit for each node of a stream.
using NodeMask = uint16_t;
/// A bit for each port.
using PortMask = uint16_t;

inline constexpr uint32_t kMaxNodes = 16;  ///< Of a stream.
inline constexpr PortMask kAllPorts = 0xffff;

/// Addresses of the switch itself. Each is a register, memory or a window of one node.
inline constexpr uint64_t kSwitchBase = 1ull << 40;
inline constexpr uint64_t kRegisters = kSwitchBase;  ///< 8 bytes a node: bytes it has consumed.
inline constexpr uint64_t kGlueMemory = kSwitchBase + (1ull << 32);
inline constexpr uint64_t kWindows = kSwitchBase + (1ull << 36);
inline constexpr uint64_t kSwitchEnd = kSwitchBase << 1;
inline constexpr uint32_t kWindowShift = 24;  ///< A window is 16 MiB of addresses, and no memory.
inline constexpr uint32_t kGlueShift = 28;
/// The longest message: its header fits into the window, too.
inline constexpr uint32_t kLongestMessage = (1u << kWindowShift) - kGranule;

/// Which messages take which way out of a node.
struct Edge {
  uint64_t value = 0;  ///< Of what was selected, in the bits of `mask`; the first edge wins.
  uint64_t mask = 0;
  NodeMask targets = 0;  ///< Each gets a copy.
};
enum class Select : uint8_t { kNothing, kKey0, kKey1, kRoundRobin, kHash };

struct Policy {
  Select select = Select::kNothing;
  uint32_t ways = 1;        ///< Of round robin and hash: they select 0 ... ways - 1.
  std::vector<Edge> edges;  ///< What none matches is dropped as kNoEdge.
};

constexpr NodeMask Bit(NodeId node) { return static_cast<NodeMask>(1u << node); }
/// All nodes that a policy leads to.
inline NodeMask TargetsOf(const Policy& policy) {
  NodeMask all = 0;
  for (const Edge& edge : policy.edges) all |= edge.targets;
  return all;
}

enum class NodeKind : uint8_t {
  kPush,    ///< Takes messages into a buffer of its own.
  kLegacy,  ///< Fetches descriptors; the switch drives its queue.
};
/// What becomes of messages for a node whose device is dead.
enum class OnDeath : uint8_t {
  kDrain,   ///< They are dropped; the rest of the stream goes on.
  kBypass,  ///< They go to another node.
  kFail,    ///< The stream ends.
};
/// How the state that a node gets changes from message to message.
enum class StateRule : uint8_t {
  kFixed,
  kCount,  ///< Its first 8 bytes, a number, become one more with each message that begins.
};

struct NodeSpec {
  PortId port = 0;
  NodeKind kind = NodeKind::kPush;
  Policy out;  ///< Without edges the node sends nothing.

  /// Where in its device the switch tells it things, 8 bytes each: at +0 the granules that left of
  /// what it sent (WindowReport::freed); at +8 the position, in all bytes that it got, at which the
  /// next message begins after one was aborted.
  uint64_t control = 0;

  /// Of a node that sends: granules of TLPs that the switch holds for it, and so what it may send
  /// before any has left.
  uint32_t window_granules = 64;

  // Of a node that receives (an edge leads to it).
  uint64_t buffer = 0;        ///< Address of its streaming buffer.
  uint32_t buffer_bytes = 0;  ///< Whole granules, enough for the longest message.
  uint32_t command = 0;
  State state{};
  StateRule state_rule = StateRule::kFixed;
  OnDeath on_death = OnDeath::kFail;
  NodeId bypass = 0;  ///< Who gets its messages with OnDeath::kBypass.

  // Of a legacy node.
  uint64_t doorbell = 0;  ///< 4 bytes: descriptors that are there.
  /// Messages that may be with it at once; a power of two, as sequences of 32 bits begin again.
  uint32_t slots = 0;
};

/// A chain of accelerators. Edges lead from nodes to later ones.
struct StreamSpec {
  std::vector<NodeSpec> nodes;
  uint32_t max_message = 0;  ///< Bytes behind the header, at every node.
};
/// Nodes that something leads to.
inline NodeMask Receivers(const StreamSpec& spec) {
  NodeMask all = 0;
  for (const NodeSpec& node : spec.nodes) all |= TargetsOf(node.out);
  return all;
}

/// Why a message, or a TLP of none, went no further.
enum class Drop : uint8_t {
  kNone,
  kNoWindow,      ///< TLP: an address that is nobody's.
  kNotOwner,      ///< TLP: the window of another device.
  kForbidden,     ///< Copy of a message, or TLP: the port may not write to that port.
  kNoEdge,        ///< The policy has no way for it.
  kTooLong,       ///< The header says more than the stream allows.
  kBadHeader,     ///< The first TLP has no whole header, or more bytes than its header says.
  kCut,           ///< Another one began before its end.
  kGap,           ///< TLP: bytes that do not follow those before.
  kOverrun,       ///< Its sender had no credits.
  kClosed,        ///< TLP: of a stream that is closed or has failed, or of a dead device.
  kStageDead,     ///< For a node whose device is dead.
  kSenderDied,    ///< Its device died before its end.
  kStreamFailed,  ///< It was in the switch when its stream failed.
  kBadCredit,     ///< TLP: says that more was consumed than was sent, or less than before.
  kBadRecord,     ///< A legacy device's result for no descriptor that it has.
  kRefused,       ///< A legacy device has no result for it.
  kBadRead,       ///< TLP: of memory that is not the reader's.
};
inline constexpr std::array<std::string_view, 18> kDropNames = {
    "none",        "no_window",     "not_owner",  "forbidden",  "no_edge", "too_long",
    "bad_header",  "cut",           "gap",        "overrun",    "closed",  "stage_dead",
    "sender_died", "stream_failed", "bad_credit", "bad_record", "refused", "bad_read"};
static_assert(kDropNames.size() == static_cast<uint32_t>(Drop::kBadRead) + 1);
using Drops = std::array<uint64_t, kDropNames.size()>;

/// What Open says.
struct Opened {
  std::string error;  ///< One line; empty: it is open.
  StreamId stream = 0;
  /// By node, 0 where a node has none: its window, the register for what it consumed, and the
  /// descriptor ring of a legacy node.
  std::vector<uint64_t> windows;
  std::vector<uint64_t> registers;
  std::vector<uint64_t> rings;
};

/// What a flush read of a window returns, to its owner: its own writes travel before it.
struct WindowReport {
  uint64_t messages = 0;  ///< Taken whole, since the stream was opened.
  uint64_t received = 0;  ///< Granules, cumulative, dropped ones included.
  uint64_t freed = 0;     ///< Of them, those that have left.
};

}  // namespace sluice::device::pcie_switch
