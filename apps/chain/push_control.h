// SPDX-License-Identifier: BSD-3-Clause
//
// Does the CPU's work for pushed chains: applies graphs to the switch, sends node setups to
// devices, and drains changed or ended chains by flushing their windows from the first node to the
// last. It does not touch messages.
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

/// All functions run between steps of the switch (StepThread::Do).
class PushControl {
 public:
  using PortId = device::pcie_switch::PortId;

  /// `runner` must outlive the object.
  explicit PushControl(SwitchRunner& runner);

  /// Applies a checked graph to the switch and its devices. On failure, returns an error message
  /// and changes nothing; on success, returns an empty string.
  std::string Apply(const engine::chain::Graph& graph,
                    std::vector<engine::chain::Changed>* changes);
  /// Continues to drain chains, and frees drained ones. Returns the number of chains that are still
  /// draining.
  size_t Tend();
  /// Sets up the device at a port again after it has restarted without state.
  void SetUpAgain(PortId port);
  /// Replaces failed streams of chains once their devices are alive and have free slots. Returns
  /// true if FirstSlot has changed.
  bool Reopen();

  /// Returns the slot of a chain's first node in its device; negative if there is no such chain.
  int FirstSlot(std::string_view chain) const;
  const engine::chain::Deployment& deployment() const { return deployment_; }

 private:
  /// The device, slot and setup of a node of a stream.
  struct Wire {
    PortId port = 0;
    uint32_t slot = 0;
    device::stage::NodeSetup setup;
    bool drain_sent = false;  ///< The drain request has been sent.
  };
  struct AllocatedSlot {
    std::string chain;
    PortId port;
    uint32_t slot;
  };

  engine::chain::Place AllocatePlace(const engine::chain::Device& device,
                                     const engine::chain::Chain& chain);
  void GiveBack();
  void SetUp(const engine::chain::Running& running);
  void Write(const Wire& wire);
  void Drain(const engine::chain::Running& running);

  SwitchRunner& runner_;
  engine::chain::Deployment deployment_;
  Slots slots_;
  uint32_t opened_ = 0;  ///< Number of chains opened so far; also the incarnation of the latest.
  std::vector<AllocatedSlot> allocated_;  ///< Slots of the chains being opened.
  std::map<device::pcie_switch::StreamId, std::vector<Wire>> wires_;  ///< Indexed by node.
};

}  // namespace sluice::chain_app
