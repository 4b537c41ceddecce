// SPDX-License-Identifier: BSD-3-Clause
//
// Addresses of the devices behind the programmable switch, and how a CPU sets one up: by a posted
// write of 64 bytes for each node of a stream that the device is.
#pragma once

#include <cstdint>

#include "device/switch/message.h"
#include "device/switch/tlp.h"

namespace sluice::device::stage {

/// Where the host's memory begins, which devices read and write by DMA.
inline constexpr uint64_t kHostMemory = 1ull << 38;

/// Addresses of the device at a port.
constexpr uint64_t BarOf(pcie_switch::PortId port) { return (uint64_t{port} + 1) << 32; }
inline constexpr uint64_t kBarBytes = 1ull << 32;

/// A device can be so many nodes at a time; a slot has the addresses of one.
inline constexpr uint32_t kNodeSlots = 32;
inline constexpr uint32_t kSlotShift = 25;
constexpr uint64_t SlotOf(pcie_switch::PortId port, uint32_t slot) {
  return BarOf(port) + (uint64_t{slot} << kSlotShift);
}
/// Of a streaming buffer, and of a message.
inline constexpr uint32_t kMostBytes = 1u << 24;
// Offsets in a slot. Its streaming buffer is at 0.
inline constexpr uint64_t kControlOffset = 0x180'0000;  ///< NodeSpec::control: two words.
inline constexpr uint64_t kDoorbellOffset = kControlOffset + 64;
inline constexpr uint64_t kSetupOffset = kControlOffset + 128;  ///< NodeSetup, in one write.

enum class SetupAction : uint32_t {
  kFree,   ///< The slot is no node any more.
  kOpen,   ///< It is this one.
  kDrain,  ///< When all that came has been answered, flush the window: it closes.
};

/// What a device has to know about one node. Addresses are 0 where the node has none.
struct NodeSetup {
  uint64_t window = 0;    ///< Where it sends, by the streaming face.
  uint64_t consumed = 0;  ///< Register for what it consumed, by the streaming face.
  uint64_t ring = 0;      ///< Descriptors: the node has the legacy face.
  /// Where records go: `slots` of them, each 16 bytes. 0: in front of each result.
  uint64_t completions = 0;
  uint32_t window_granules = 0;
  uint32_t buffer_bytes = 0;
  uint32_t slots = 0;        ///< Of the ring; a power of two.
  uint32_t max_message = 0;  ///< Bytes of the longest input or result.
  SetupAction action = SetupAction::kFree;
  /// The incarnation of a chain that the node belongs to: each time that a chain is opened, it gets
  /// a number which no other one of this run has, and all of its nodes have it.
  uint32_t chain = 0;
  uint32_t unused[2]{};
};
static_assert(sizeof(NodeSetup) == pcie_switch::kGranule);

/// LegacyRecord::status.
inline constexpr uint32_t kStatusDone = 0;
inline constexpr uint32_t kStatusRefused = 1;
inline constexpr uint32_t kStatusFailed = 2;

}  // namespace sluice::device::stage
