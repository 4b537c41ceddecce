// SPDX-License-Identifier: BSD-3-Clause
//
// A device behind the programmable switch: what its link brings goes to the nodes that it is, and
// what they send goes to the link. Each node has the streaming face or the legacy one, as the CPU
// set it up; what is done with messages is somebody else's (stage.h; a NIC).
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

/// A node that the device is.
struct NodeSlot {
  NodeSetup setup;
  std::optional<pcie_switch::StreamWriter> writer;
  std::optional<pcie_switch::StreamReader> reader;
  std::optional<DescriptorQueue> queue;
  /// The window's report is here: the writer goes on where the device's predecessor ended.
  bool resumed = false;
  bool asked = false;    ///< The window's report was asked for.
  bool drained = false;  ///< The window was flushed for the last time.
  Fetch fetch;
  pcie_switch::WindowReport report;

  bool draining() const { return setup.action == SetupAction::kDrain; }
  /// New messages may be put: no answer waits for credits.
  bool MayPut() const { return writer && resumed && !drained && writer->waiting() == 0; }
};

/// One thread. The memory of the link outlives it.
class ChainDevice {
 public:
  ChainDevice(LinkMemory& link, pcie_switch::PortId port)
      : from_switch_(link.to_device), to_switch_(link.to_switch), reads_(port), port_(port) {}

  /// Takes all that has arrived. False: nothing had.
  bool Receive();
  /// Sends what may be sent. False: nothing could be.
  bool Send();
  std::span<NodeSlot> slots() { return slots_; }

 private:
  static constexpr uint32_t kTurn = 64;  ///< TLPs that one node sends before the next may.

  void Take(const pcie_switch::Tlp& tlp);
  void SetUp(uint32_t slot, const NodeSetup& setup);
  bool SendStream(NodeSlot& slot, uint8_t index);

  LinkReader from_switch_;
  LinkWriter to_switch_;
  Reads reads_;
  pcie_switch::PortId port_;
  uint32_t used_ = 0;  ///< Slots below it may be nodes.
  std::array<NodeSlot, kNodeSlots> slots_;
};

}  // namespace sluice::device::stage
