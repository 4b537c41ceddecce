// SPDX-License-Identifier: BSD-3-Clause
//
// The CPU's part in a pushed chain: it applies graphs to the switch, tells devices which nodes they
// are, and, when a chain changes or ends, has its windows flushed from the first node to the last.
// It touches no message.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "device/stage/registers.h"
#include "engine/chain/deployment.h"
#include "slots.h"
#include "switch_runner.h"

namespace sluice::chain_app {

/// Between steps of the switch (StepThread::Do), all of it.
class PushControl {
 public:
  using PortId = device::pcie_switch::PortId;

  /// `runner` outlives it.
  explicit PushControl(SwitchRunner& runner);

  /// Makes the switch and its devices do what a checked graph says. A line, and nothing changed, if
  /// that cannot be.
  std::string Apply(const engine::chain::Graph& graph,
                    std::vector<engine::chain::Changed>* changes);
  /// Goes on with chains that drain; frees those that have. Returns how many still drain.
  size_t Tend();
  /// The device at a port is back, and knows nothing.
  void SetUpAgain(PortId port);
  /// Gives chains whose streams have failed others, each as soon as its devices live and have room.
  /// True: FirstSlot says something else now.
  bool Reopen();

  /// Which slot of its device a chain's first node has; negative: there is no such chain.
  int FirstSlot(std::string_view chain) const;
  const engine::chain::Deployment& deployment() const { return deployment_; }

 private:
  /// What a node of a stream is in its device.
  struct Wire {
    PortId port = 0;
    uint32_t slot = 0;
    device::stage::NodeSetup setup;
    bool told = false;  ///< To drain.
  };
  struct Taken {
    std::string chain;
    PortId port;
    uint32_t slot;
  };

  engine::chain::Place Take(const engine::chain::Device& device, const engine::chain::Chain& chain);
  void GiveBack();
  void SetUp(const engine::chain::Running& running);
  void Write(const Wire& wire);
  void Drain(const engine::chain::Running& running);

  SwitchRunner& runner_;
  engine::chain::Deployment deployment_;
  Slots slots_;
  uint32_t opened_ = 0;       ///< Chains so far: the incarnation of the last one.
  std::vector<Taken> taken_;  ///< By what is being opened.
  std::map<device::pcie_switch::StreamId, std::vector<Wire>> wires_;  ///< By node.
};

}  // namespace sluice::chain_app
