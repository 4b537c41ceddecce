// SPDX-License-Identifier: BSD-3-Clause
//
// Addresses of the devices attached to the programmable switch, and the interface through which a
// CPU configures each device: one 64-byte posted write for each of the device's nodes.
#pragma once

#include <cstdint>

#include "device/switch/message.h"
#include "device/switch/tlp.h"

namespace sluice::device::stage {

/// Base address of the host's memory, which devices access by DMA.
inline constexpr uint64_t kHostMemory = 1ull << 38;

/// Addresses of the device at a port.
constexpr uint64_t BarOf(pcie_switch::PortId port) { return (uint64_t{port} + 1) << 32; }
inline constexpr uint64_t kBarBytes = 1ull << 32;

/// Maximum number of nodes per device. Each node has a slot, which is a range of addresses.
inline constexpr uint32_t kNodeSlots = 32;
inline constexpr uint32_t kSlotShift = 25;
constexpr uint64_t SlotOf(pcie_switch::PortId port, uint32_t slot) {
  return BarOf(port) + (uint64_t{slot} << kSlotShift);
}
/// Maximum size of a streaming buffer and of a message.
inline constexpr uint32_t kMostBytes = 1u << 24;
// Offsets within a slot. The streaming buffer is at offset 0.
inline constexpr uint64_t kControlOffset = 0x180'0000;  ///< Two words: NodeSpec::control.
inline constexpr uint64_t kDoorbellOffset = kControlOffset + 64;
inline constexpr uint64_t kSetupOffset = kControlOffset + 128;  ///< A NodeSetup, in one write.

enum class SetupAction : uint32_t {
  kFree,   ///< Frees the slot.
  kOpen,   ///< Opens the node described by the setup.
  kDrain,  ///< Flushes the window once all messages have been answered, which closes the window.
};

/// Configuration of a node. Unused addresses must be 0.
struct NodeSetup {
  uint64_t window = 0;    ///< Window to send to; streaming interface.
  uint64_t consumed = 0;  ///< Register for the number of consumed bytes; streaming interface.
  uint64_t ring = 0;      ///< Descriptor ring; if not 0, the node uses the legacy interface.
  /// Ring of `slots` records of 16 bytes each. If 0, records precede results.
  uint64_t completions = 0;
  uint32_t window_granules = 0;
  uint32_t buffer_bytes = 0;
  uint32_t slots = 0;        ///< Number of ring entries; a power of two.
  uint32_t max_message = 0;  ///< Maximum size of an input or result in bytes.
  SetupAction action = SetupAction::kFree;
  /// Incarnation of the node's chain: a number that is unique, within this run, to each opening of
  /// a chain, and the same for all nodes of that chain.
  uint32_t chain = 0;
  uint32_t unused[2]{};
};
static_assert(sizeof(NodeSetup) == pcie_switch::kGranule);

/// Values of LegacyRecord::status.
inline constexpr uint32_t kStatusDone = 0;
inline constexpr uint32_t kStatusRefused = 1;
inline constexpr uint32_t kStatusFailed = 2;

}  // namespace sluice::device::stage
