// SPDX-License-Identifier: BSD-3-Clause
//
// A device that is attached to the programmable switch: dispatches TLPs from its link to its nodes
// and sends the nodes' TLPs. Each node uses the streaming or the legacy interface, as the CPU
// configured it. The users of this class process the messages: Stage (stage.h), or a NIC.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "device/stage/descriptor_queue.h"
#include "device/stage/link.h"
#include "device/stage/reads.h"
#include "device/stage/registers.h"
#include "device/switch/spec.h"
#include "device/switch/stream_end.h"

namespace sluice::device::stage {

/// A slot for a node of the device.
struct NodeSlot {
  NodeSetup setup;
  std::optional<pcie_switch::StreamWriter> writer;
  std::optional<pcie_switch::StreamReader> reader;
  std::optional<DescriptorQueue> queue;
  /// The window's report has arrived: the writer continues where the device's predecessor ended.
  bool resumed = false;
  bool asked = false;    ///< The window's report was requested.
  bool drained = false;  ///< The window was flushed for the last time.
  Fetch fetch;
  pcie_switch::WindowReport report;

  bool draining() const { return setup.action == SetupAction::kDrain; }
  /// Returns whether new messages may be sent: no answer waits for credits.
  bool MayPut() const { return writer && resumed && !drained && writer->waiting() == 0; }
};

/// A device's nodes and its link to the switch. Used by one thread. The link's memory outlives it.
class ChainDevice {
 public:
  ChainDevice(LinkMemory& link, pcie_switch::PortId port)
      : from_switch_(link.to_device), to_switch_(link.to_switch), reads_(port), port_(port) {}

  /// Handles all TLPs that have arrived. Returns false if none had arrived.
  bool Receive();
  /// Sends the pending TLPs for which the link has room and that flow control allows. Returns false
  /// if none was sent.
  bool Send();
  std::span<NodeSlot> slots() { return slots_; }

 private:
  /// Maximum number of consecutive message TLPs of one node.
  static constexpr uint32_t kTurn = 64;

  void Accept(const pcie_switch::Tlp& tlp);
  void SetUp(uint32_t slot, const NodeSetup& setup);
  bool SendStream(NodeSlot& slot, uint8_t index);

  LinkReader from_switch_;
  LinkWriter to_switch_;
  Reads reads_;
  pcie_switch::PortId port_;
  uint32_t used_ = 0;  ///< Slots from this index on are unused.
  std::array<NodeSlot, kNodeSlots> slots_;
};

}  // namespace sluice::device::stage
