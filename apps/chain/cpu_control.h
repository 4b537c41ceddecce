// SPDX-License-Identifier: BSD-3-Clause
//
// The CPU that mediates the chains of a graph, each by a Mediator of its own, and what happens when
// the graph changes: chains that stay go on, others get new rings, and the old ones take no more
// messages and are given back when those under way have ended.
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

/// Of the main thread, but for what Step and `on_cpu` touch.
class CpuControl {
 public:
  using PortId = device::pcie_switch::PortId;
  /// Runs something between two steps of the CPU, or of the switch, and returns.
  using Do = std::function<void(const std::function<void()>&)>;
  /// What devices see in a region of the host's memory from now on; empty: nothing any more. On
  /// the switch's thread.
  using Map = std::function<void(uint32_t region, std::span<uint8_t> memory)>;

  /// `link`: at the root port; outlives it. Before there are threads, both may run things at once.
  CpuControl(uint32_t outstanding, device::stage::LinkMemory& link, Map map)
      : outstanding_(outstanding), link_(link.to_switch), map_(std::move(map)) {}

  /// Has the CPU mediate these chains of a checked graph. A line, and nothing changed, if that
  /// cannot be.
  std::string Apply(const engine::chain::Graph& graph, const std::vector<std::string>& chains,
                    const Do& on_cpu, const Do& on_switch,
                    std::vector<engine::chain::Changed>* changes);
  /// Frees chains that have drained. Returns how many still drain.
  size_t Tend(const Do& on_cpu, const Do& on_switch);
  /// The NIC's slot for messages of a chain; negative: it is not mediated.
  int FirstSlot(std::string_view chain) const;

  // The CPU's thread.
  /// False: there was nothing to do.
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
  device::pcie_switch::PortMask dead_ = 0;  ///< Ports of devices that are; the CPU's thread.
  engine::chain::Graph graph_;
  Slots slots_;
  uint32_t opened_ = 0;   ///< Chains so far: the incarnation of the last one.
  uint64_t regions_ = 0;  ///< Of SwitchRunner: a bit for each that is used.
  std::vector<Chain> running_;
  std::vector<Chain> draining_;
};

}  // namespace sluice::chain_app
