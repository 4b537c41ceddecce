// SPDX-License-Identifier: BSD-3-Clause
//
// Allocates the node slots of devices. Each device has a fixed number of slots.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string>

#include "device/stage/registers.h"
#include "engine/chain/graph.h"

namespace sluice::chain_app {

class Slots {
 public:
  using PortId = device::pcie_switch::PortId;

  /// Allocates a free slot of a device. One must exist; check with Fault.
  uint32_t Allocate(PortId port) {
    const auto slot = static_cast<uint32_t>(std::countr_one(allocated_[port]));
    allocated_[port] |= 1u << slot;
    return slot;
  }
  void Free(PortId port, uint32_t slot) { allocated_[port] &= ~(1u << slot); }

  /// Returns an error message if a device does not have enough slots for all nodes of these chains;
  /// otherwise an empty string.
  std::string Fault(const engine::chain::Graph& graph,
                    std::span<const engine::chain::Chain* const> chains) const {
    for (const engine::chain::Device& device : graph.devices) {
      uint32_t nodes = 0;
      for (const engine::chain::Chain* chain : chains)
        nodes += static_cast<uint32_t>(
            std::ranges::count(chain->nodes, device.name, &engine::chain::Node::device));
      const auto free =
          device::stage::kNodeSlots - static_cast<uint32_t>(std::popcount(allocated_[device.port]));
      if (nodes > free)
        return "device \"" + device.name + "\" has room for " + std::to_string(free) +
               " more nodes, but the graph needs " + std::to_string(nodes);
    }
    return "";
  }

 private:
  static_assert(device::stage::kNodeSlots == 32);
  /// Used slots by port; one bit per slot.
  std::array<uint32_t, device::pcie_switch::kMaxPorts> allocated_{};
};

}  // namespace sluice::chain_app
