// SPDX-License-Identifier: BSD-3-Clause
//
// The NIC of a chain: messages of flows enter there, and leave again. Where they come from is the
// flows' affair (flow.h); towards PCIe it is a device like the stages, with either face.
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

/// One thread, but for what says otherwise.
class Nic {
 public:
  /// A CPU that is an end of chains is one without flows. `flows` outlive it.
  Nic(device::stage::LinkMemory& link, device::pcie_switch::PortId port, std::vector<Flow*> flows);

  /// False: there was nothing to do.
  bool Step();

  /// Messages of a flow leave by this slot from now on; negative: not now. Any thread.
  void SetSlot(size_t flow, int slot) { slots_[flow].store(slot, std::memory_order_release); }
  /// Whether messages begin. Not at first. Any thread.
  void EnableWire(bool enabled) { enabled_.store(enabled, std::memory_order_relaxed); }
  /// Messages that chains ended with here: at a NIC without flows all of them, at another one those
  /// that their chain had not been given. Any thread.
  uint64_t received() const { return received_.load(std::memory_order_relaxed); }
  /// Steps so far. Any thread.
  uint64_t steps() const { return steps_.load(std::memory_order_relaxed); }

 private:
  bool Take();
  bool Send();
  bool TakeQueue(uint32_t where, device::stage::NodeSlot& slot);
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
  std::vector<uint8_t> room_;  ///< For the longest message.
  device::pcie_switch::Message message_;
  uint32_t turn_ = 0;  ///< Which flow is first.
  std::atomic<bool> enabled_{false};
  std::atomic<uint64_t> received_{0};
  std::atomic<uint64_t> steps_{0};
};

/// The state of a descriptor for a NIC that is to send: the message's ticket and key.
device::pcie_switch::State SendState(uint32_t ticket, const std::array<uint32_t, 2>& key);

}  // namespace sluice::chain_app
