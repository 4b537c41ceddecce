// SPDX-License-Identifier: BSD-3-Clause
//
// The NIC of a chain, where messages enter and leave the chain. Flows provide the messages
// (flow.h). On PCIe, the NIC is a device like the stages; it uses the streaming or the legacy
// interface.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "device/stage/chain_device.h"
#include "flow.h"
#include "tickets.h"

namespace sluice::chain_app {

/// Used by one thread, except functions that state otherwise.
class Nic {
 public:
  /// `flows` must outlive the object. A CPU at the end of chains is a Nic without flows.
  Nic(device::stage::LinkMemory& link, device::pcie_switch::PortId port, std::vector<Flow*> flows);

  /// Returns false if there was nothing to do.
  bool Step();

  /// Sets the slot through which the flow's messages enter their chain; negative: none. May be
  /// called by any thread.
  void SetSlot(size_t flow, int slot) { slots_[flow].store(slot, std::memory_order_release); }
  /// Enables or disables new messages; initially disabled. May be called by any thread.
  void EnableWire(bool enabled) { enabled_.store(enabled, std::memory_order_relaxed); }
  /// Returns the number of received messages that were not passed to a flow: all messages at a NIC
  /// without flows, otherwise those that arrived through a chain to which their ticket was not
  /// issued. May be called by any thread.
  uint64_t received() const { return received_.load(std::memory_order_relaxed); }
  /// Returns the number of steps so far. May be called by any thread.
  uint64_t steps() const { return steps_.load(std::memory_order_relaxed); }

 private:
  bool ReceiveMessages();
  bool Send();
  bool ReceiveFromQueue(uint32_t where, device::stage::NodeSlot& slot);
  uint32_t Begin(uint32_t flow, const device::stage::NodeSlot& slot, std::span<uint8_t> room,
                 uint32_t* ticket);
  bool SendStream(uint32_t flow, device::stage::NodeSlot& slot);
  bool SendQueue(uint32_t flow, device::stage::NodeSlot& slot);
  void Arrived(uint32_t ticket, uint32_t where, std::span<const uint8_t> data,
               const std::array<uint32_t, 2>& key);

  device::stage::ChainDevice device_;
  std::vector<Flow*> flows_;
  std::array<std::atomic<int>, kMaxFlows> slots_;
  Tickets tickets_;
  std::vector<uint8_t> room_;  ///< Buffer for the longest message.
  device::pcie_switch::Message message_;
  uint32_t turn_ = 0;  ///< Rotates the flow that is served first.
  std::atomic<bool> enabled_{false};
  std::atomic<uint64_t> received_{0};
  std::atomic<uint64_t> steps_{0};
};

/// Returns the descriptor state of a message for a sending NIC: the message's ticket and key.
device::pcie_switch::State SendState(uint32_t ticket, const std::array<uint32_t, 2>& key);

}  // namespace sluice::chain_app
