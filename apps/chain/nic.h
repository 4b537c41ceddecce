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

namespace sluice::chain_app {

/// Bits of a message's number that say which flow it is of.
inline constexpr uint32_t kFlowShift = 28;
inline constexpr uint32_t kMaxFlows = 1u << (32 - kFlowShift);

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
  /// Messages that ended here without belonging to a flow; steps. Any thread.
  uint64_t received() const { return received_.load(std::memory_order_relaxed); }
  uint64_t steps() const { return steps_.load(std::memory_order_relaxed); }

 private:
  bool Take();
  bool Send();
  bool TakeQueue(uint32_t where, device::stage::NodeSlot& slot);
  bool SendStream(Flow& flow, uint32_t index, device::stage::NodeSlot& slot);
  bool SendQueue(Flow& flow, uint32_t index, device::stage::DescriptorQueue& queue);
  void Arrived(uint32_t number, uint32_t where, std::span<const uint8_t> data,
               const std::array<uint32_t, 2>& key);

  device::stage::ChainDevice device_;
  std::vector<Flow*> flows_;
  std::array<std::atomic<int>, kMaxFlows> slots_;
  std::vector<uint8_t> room_;  ///< For the longest message.
  device::pcie_switch::Message message_;
  uint32_t turn_ = 0;  ///< Which flow is first.
  std::atomic<bool> enabled_{false};
  std::atomic<uint64_t> received_{0};
  std::atomic<uint64_t> steps_{0};
};

/// What a descriptor's state says to a NIC that is to send: number and key.
device::pcie_switch::State SendState(uint32_t number, const std::array<uint32_t, 2>& key);

}  // namespace sluice::chain_app
