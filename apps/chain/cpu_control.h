// SPDX-License-Identifier: BSD-3-Clause
//
// Controls the CPU that mediates a graph's chains, with one Mediator per chain, and applies changes
// to the graph. Unchanged chains continue. Changed chains get new rings; the old rings do not
// accept new messages, and are freed when the messages in flight have ended.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/stage/link.h"
#include "engine/chain/deployment.h"
#include "engine/chain/graph.h"
#include "mediator.h"
#include "slots.h"

namespace sluice::chain_app {

/// For the main thread, except the functions that are marked for the CPU's thread.
class CpuControl {
 public:
  using PortId = device::pcie_switch::PortId;
  /// Runs a function on the CPU's or the switch's thread, between two steps. Returns when the
  /// function has returned.
  using Do = std::function<void(const std::function<void()>&)>;
  /// Maps `memory` into a region of host memory, so that devices can access it; an empty span
  /// unmaps the region. Called on the switch's thread.
  using Map = std::function<void(uint32_t region, std::span<uint8_t> memory)>;

  /// `link`: the link at the root port, which must outlive the object. Before the threads start,
  /// `on_cpu` and `on_switch` may run functions immediately.
  CpuControl(uint32_t outstanding, device::stage::LinkMemory& link, Map map)
      : outstanding_(outstanding), link_(link.to_switch), map_(std::move(map)) {}

  /// Applies a checked graph, of which the CPU then mediates `chains`. On failure, returns an error
  /// message and changes nothing; on success, returns an empty string.
  std::string Apply(const engine::chain::Graph& graph, const std::vector<std::string>& chains,
                    const Do& on_cpu, const Do& on_switch,
                    std::vector<engine::chain::Changed>* changes);
  /// Frees chains that have drained. Returns the number of chains that are still draining.
  size_t Tend(const Do& on_cpu, const Do& on_switch);
  /// Returns the NIC slot at which the messages of a chain enter, or a negative value if the CPU
  /// does not mediate the chain.
  int FirstSlot(std::string_view chain) const;

  // Only the CPU's thread may call the following functions.

  /// Returns false if there was nothing to do.
  bool Step();
  void Fail(PortId port);
  void Restore(PortId port);
  const MediatorCounters& counters() const { return counters_; }

 private:
  struct Chain {
    engine::chain::Chain chain;
    uint32_t region;
    std::unique_ptr<Mediator> mediator;
  };

  bool Make(const engine::chain::Graph& graph, const engine::chain::Chain& chain,
            const Chain* before, Chain* made, std::string* error);
  void GiveBack(const Chain& chain);
  Chain* Find(std::string_view chain);

  uint32_t outstanding_;
  device::stage::LinkWriter link_;
  Map map_;
  MediatorCounters counters_;
  /// Ports of dead devices; used by the CPU's thread only.
  device::pcie_switch::PortMask dead_ = 0;
  engine::chain::Graph graph_;
  Slots slots_;
  uint32_t opened_ = 0;   ///< Number of chains opened so far; also the incarnation of the latest.
  uint64_t regions_ = 0;  ///< One bit per SwitchRunner region in use.
  std::vector<Chain> running_;
  std::vector<Chain> draining_;
};

}  // namespace sluice::chain_app
