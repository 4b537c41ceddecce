// SPDX-License-Identifier: BSD-3-Clause
//
// The programmable switch as a node of the PCIe model: each port is a link of two directions, and
// each TLP that enters is delayed by the pipeline. From device to device, through the switch, a
// TLP is one way under way: half of it to the switch and half behind it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "device/switch/switch.h"
#include "fabric/event_queue.h"
#include "fabric/link.h"

namespace sluice::simulation {

using fabric::Picoseconds;

/// What is behind a port.
class Endpoint {
 public:
  virtual ~Endpoint() = default;
  /// A TLP has arrived, now.
  virtual void Receive(const device::pcie_switch::Tlp& tlp) = 0;
  /// It takes another TLP while `under_way` are on the link to it.
  virtual bool Takes(uint32_t /*under_way*/) const { return true; }
  /// Its link may take more of what it sends.
  virtual void MaySend() {}
};

/// One thread. Queue and switch outlive it; endpoints outlive what is scheduled.
class SwitchNode {
 public:
  using Tlp = device::pcie_switch::Tlp;
  using PortId = device::pcie_switch::PortId;
  /// Called with each TLP that arrives at a device.
  using Observer = std::function<void(PortId to, const Tlp& tlp)>;

  /// `oneway`: from a device to another; `pipeline`: of the switch, for each TLP.
  SwitchNode(fabric::EventQueue& queue, device::pcie_switch::Switch& programmable,
             const fabric::LinkParameters& link, Picoseconds oneway, Picoseconds pipeline);

  void Attach(PortId port, Endpoint& endpoint) { ports_[port]->endpoint = &endpoint; }
  void Observe(Observer observer) { observer_ = std::move(observer); }
  /// A device sends, now.
  void Send(PortId port, const Tlp& tlp);
  /// The switch would take more from this port: few TLPs wait in front of it.
  bool MaySend(PortId port) const { return ports_[port]->waiting < kWaiting; }
  /// Something in the switch or at a device has changed: moves what can move.
  void Kick();

  /// Bytes that both directions of a port have carried, framing included.
  uint64_t Bytes(PortId port) const { return ports_[port]->in.bytes() + ports_[port]->out.bytes(); }
  fabric::EventQueue& queue() { return *queue_; }
  device::pcie_switch::Switch& programmable() { return *switch_; }

 private:
  static constexpr uint32_t kWaiting = 32;  ///< TLPs under way to the switch, or blocked.

  struct Port {
    Port(const fabric::LinkParameters& link, Picoseconds half) : in(link, half), out(link, half) {}
    fabric::LinkDirection in;   ///< To the switch.
    fabric::LinkDirection out;  ///< To the device.
    std::deque<Tlp> blocked;
    uint32_t waiting = 0;
    uint32_t under_way = 0;
    bool busy = false;
    Endpoint* endpoint = nullptr;
  };

  bool Admit(PortId port);
  bool Leave(PortId port);

  fabric::EventQueue* queue_;
  device::pcie_switch::Switch* switch_;
  Picoseconds half_;
  Picoseconds pipeline_;
  std::vector<std::unique_ptr<Port>> ports_;
  Observer observer_;
  bool kicking_ = false;
};

}  // namespace sluice::simulation
