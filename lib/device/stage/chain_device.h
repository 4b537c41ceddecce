// SPDX-License-Identifier: BSD-3-Clause
//
// A device that is attached to the programmable switch: it dispatches TLPs from its link to its
// nodes and sends the nodes' TLPs. The CPU configures each node to use either the streaming or the
// legacy interface. The user of this class, Stage (stage.h) or a NIC, processes the messages.
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

/// A slot for one of the device's nodes.
struct NodeSlot {
  NodeSetup setup;
  std::optional<pcie_switch::StreamWriter> writer;
  std::optional<pcie_switch::StreamReader> reader;
  std::optional<DescriptorQueue> queue;
  /// The window's report has arrived: the writer continues where the device's predecessor stopped.
  bool resumed = false;
  bool asked = false;    ///< The window's report has been requested.
  bool drained = false;  ///< The window has been flushed for the last time.
  Fetch fetch;
  pcie_switch::WindowReport report;

  bool draining() const { return setup.action == SetupAction::kDrain; }
  /// Returns whether new messages may be sent. They may not while answers are waiting for credits.
  bool MayPut() const { return writer && resumed && !drained && writer->waiting() == 0; }
};

/// A device's nodes and its link to the switch. Used by one thread. The link's memory must outlive
/// this object.
class ChainDevice {
 public:
  ChainDevice(LinkMemory& link, pcie_switch::PortId port)
      : from_switch_(link.to_device), to_switch_(link.to_switch), reads_(port), port_(port) {}

  /// Handles all TLPs that have arrived. Returns false if there were none.
  bool Receive();
  /// Sends the pending TLPs for which the link has room and that flow control allows. Returns false
  /// if none was sent.
  bool Send();
  std::span<NodeSlot> slots() { return slots_; }

 private:
  /// Maximum number of consecutive message TLPs from one node.
  static constexpr uint32_t kTurn = 64;

  void Accept(const pcie_switch::Tlp& tlp);
  void SetUp(uint32_t slot, const NodeSetup& setup);
  bool SendStream(NodeSlot& slot, uint8_t index);

  LinkReader from_switch_;
  LinkWriter to_switch_;
  Reads reads_;
  pcie_switch::PortId port_;
  uint32_t used_ = 0;  ///< Slots with this index or higher are unused.
  std::array<NodeSlot, kNodeSlots> slots_;
};

}  // namespace sluice::device::stage
