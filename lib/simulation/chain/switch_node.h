// SPDX-License-Identifier: BSD-3-Clause
//
// The programmable switch as a node of the PCIe model. Each port is a link of two directions, and
// the pipeline delays each TLP that enters. The transit of a TLP between two devices lasts
// `oneway`: half before the switch and half after it.
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

/// The device, or the host, at a port.
class Endpoint {
 public:
  virtual ~Endpoint() = default;
  /// Called when a TLP arrives.
  virtual void Receive(const device::pcie_switch::Tlp& tlp) = 0;
  /// Returns whether the endpoint accepts another TLP while `under_way` TLPs are on the link to it.
  virtual bool Takes(uint32_t /*under_way*/) const { return true; }
  /// Called when the link may have room for more TLPs of this endpoint.
  virtual void MaySend() {}
};

/// A switch with the links of its ports. Used by one thread. Queue and switch must outlive the
/// object; endpoints must outlive their scheduled events.
class SwitchNode {
 public:
  using Tlp = device::pcie_switch::Tlp;
  using PortId = device::pcie_switch::PortId;
  /// Called with each TLP that arrives at a device.
  using Observer = std::function<void(PortId to, const Tlp& tlp)>;

  /// `oneway`: time between two devices. `pipeline`: delay of the switch per TLP.
  SwitchNode(fabric::EventQueue& queue, device::pcie_switch::Switch& programmable,
             const fabric::LinkParameters& link, Picoseconds oneway, Picoseconds pipeline);

  void Attach(PortId port, Endpoint& endpoint) { ports_[port]->endpoint = &endpoint; }
  void Observe(Observer observer) { observer_ = std::move(observer); }
  /// Sends a TLP of the device at `port` at the queue's current time.
  void Send(PortId port, const Tlp& tlp);
  /// Returns whether fewer than kWaiting TLPs wait in front of this port.
  bool MaySend(PortId port) const { return ports_[port]->waiting < kWaiting; }
  /// Moves all TLPs that can move. Call it after a change in the switch or at a device.
  void Kick();

  /// Returns the bytes that both directions of a port have carried, including framing.
  uint64_t Bytes(PortId port) const { return ports_[port]->in.bytes() + ports_[port]->out.bytes(); }
  fabric::EventQueue& queue() { return *queue_; }
  device::pcie_switch::Switch& programmable() { return *switch_; }

 private:
  /// Maximum number of TLPs on the way to the switch or blocked in front of it.
  static constexpr uint32_t kWaiting = 32;

  struct Port {
    Port(const fabric::LinkParameters& link, Picoseconds half) : in(link, half), out(link, half) {}
    fabric::LinkDirection in;   ///< Towards the switch.
    fabric::LinkDirection out;  ///< Towards the device.
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
