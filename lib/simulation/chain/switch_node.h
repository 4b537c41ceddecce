// SPDX-License-Identifier: BSD-3-Clause
//
// The programmable switch as a node of the PCIe model. Each port is a bidirectional link, and the
// pipeline delays each TLP that enters. A TLP between two devices travels for `oneway`: half of it
// before the switch and half after.
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

/// The device or host at a port.
class Endpoint {
 public:
  virtual ~Endpoint() = default;
  /// Called when a TLP arrives.
  virtual void Receive(const device::pcie_switch::Tlp& tlp) = 0;
  /// Returns whether the endpoint accepts another TLP while `under_way` TLPs are on their way to
  /// it.
  virtual bool Takes(uint32_t /*under_way*/) const { return true; }
  /// Called when the link may have room for more TLPs from this endpoint.
  virtual void MaySend() {}
};

/// A switch with the links at its ports. Used by one thread. The queue and the switch must outlive
/// this object. Endpoints must outlive their scheduled events.
class SwitchNode {
 public:
  using Tlp = device::pcie_switch::Tlp;
  using PortId = device::pcie_switch::PortId;
  /// Called with each TLP that arrives at a device.
  using Observer = std::function<void(PortId to, const Tlp& tlp)>;

  /// `oneway` is the time between two devices, and `pipeline` the delay of each TLP in the switch.
  SwitchNode(fabric::EventQueue& queue, device::pcie_switch::Switch& programmable,
             const fabric::LinkParameters& link, Picoseconds oneway, Picoseconds pipeline);

  void Attach(PortId port, Endpoint& endpoint) { ports_[port]->endpoint = &endpoint; }
  void Observe(Observer observer) { observer_ = std::move(observer); }
  /// Sends a TLP from the device at `port` at the queue's current time.
  void Send(PortId port, const Tlp& tlp);
  /// Returns whether fewer than kWaiting TLPs wait in front of this port.
  bool MaySend(PortId port) const { return ports_[port]->waiting < kWaiting; }
  /// Moves all TLPs that can move. Call it after a change in the switch or in a device.
  void Kick();

  /// Returns the number of bytes that a port has carried in both directions, including framing.
  uint64_t Bytes(PortId port) const { return ports_[port]->in.bytes() + ports_[port]->out.bytes(); }
  fabric::EventQueue& queue() { return *queue_; }
  device::pcie_switch::Switch& programmable() { return *switch_; }

 private:
  /// Maximum number of TLPs that are on the way to the switch or blocked in front of it.
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
