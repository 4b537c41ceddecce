// SPDX-License-Identifier: BSD-3-Clause
//
// Runs the programmable switch in real time. TLPs are exchanged over the links of its ports. One
// port belongs to the root complex: devices read and write host memory through it, and the CPU's
// posted writes enter through it. The model moves every byte that PCIe would move, and adds no
// delays.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "device/stage/link.h"
#include "device/stage/registers.h"
#include "device/switch/switch.h"

namespace sluice::chain_app {

/// Counts of the TLPs that entered or left the switch at a port.
struct Operations {
  uint64_t writes = 0;
  uint64_t reads = 0;
  uint64_t completions = 0;
  uint64_t bytes = 0;  ///< Payload bytes, in both directions.
};

/// Used by one thread.
class SwitchRunner {
 public:
  using PortId = device::pcie_switch::PortId;

  /// `host_memory`: allows devices to access host memory, in regions.
  SwitchRunner(PortId root, bool host_memory);

  static constexpr uint32_t kRegions = 64;
  static constexpr uint64_t kRegionBytes = uint64_t{1} << 30;
  /// Returns the address of a region of host memory for devices.
  static constexpr uint64_t AddressOf(uint32_t region) {
    return device::stage::kHostMemory + region * kRegionBytes;
  }
  /// Sets the memory of a region, aligned to 8 bytes. The memory must remain valid until it is
  /// replaced. While a region has no memory (initially, or after Map with an empty span), reads are
  /// refused and writes are discarded.
  void Map(uint32_t region, std::span<uint8_t> memory) { memory_[region] = memory; }

  /// Returns false if nothing moved.
  bool Step();

  device::pcie_switch::Switch& programmable() { return switch_; }
  /// Sets the link of the device at a port. Null detaches the device; TLPs that it has sent and the
  /// switch has not accepted are lost. The link at the root port is the CPU's. `listens`: the CPU
  /// reads the messages that devices send to it over this link.
  void Attach(PortId port, device::stage::LinkMemory* link, bool listens = true);
  /// Performs a posted write by the CPU outside of its link; at most one TLP.
  void Write(uint64_t address, std::span<const uint8_t> bytes);
  /// Completes all device writes to host memory, and moves the CPU's writes into the switch.
  void DrainRoot() {
    for (bool any = true; any;) {
      any = AdmitRoot();
      any |= LeaveRoot();
    }
  }
  const Operations& operations(PortId port) const { return operations_[port]; }
  PortId root() const { return root_; }
  /// Returns whether the device has violated the protocol of its link, or does not accept the
  /// completions that it has requested.
  bool broken(PortId port) const {
    const Link& link = links_[port];
    return link.overrun || (link.reader && link.reader->broken());
  }
  /// Maximum number of TLPs from the root port that wait for a device: two completions for each of
  /// the device's tags, a doorbell for each message in flight at each of its nodes, and its setups.
  static constexpr size_t kMostDue = size_t{1} << 17;

 private:
  using Tlp = device::pcie_switch::Tlp;
  static constexpr uint32_t kTurn = 64;  ///< Maximum TLPs of one port before the next is served.

  struct Link {
    std::optional<device::stage::LinkReader> reader;
    std::optional<device::stage::LinkWriter> writer;
    bool blocked = false;
    Tlp waiting;  ///< If `blocked`: the TLP that the switch does not accept yet.
    /// Completions and posted writes for this device that enter at the root port, in order. A
    /// device that does not accept any does not block others.
    std::deque<Tlp> due;
    bool overrun = false;  ///< More than kMostDue TLPs were due; the excess is lost.
  };

  bool Admit(PortId port);
  bool AdmitRoot();
  PortId Behind(uint64_t address) const;
  bool Leave(PortId port);
  bool LeaveRoot();
  /// Returns host memory at `address`; null if `bytes` bytes are not mapped there.
  uint8_t* At(uint64_t address, uint32_t bytes) const;
  void DeliverToRoot(const Tlp& tlp);
  static void WriteMemory(uint8_t* to, const Tlp& tlp);
  void Answer(const Tlp& read);
  void Send(PortId to, const Tlp& tlp);
  void Count(PortId port, const Tlp& tlp);

  PortId root_;
  std::array<std::span<uint8_t>, kRegions> memory_;
  device::pcie_switch::Switch switch_;
  std::array<Link, device::pcie_switch::kMaxPorts> links_;
  /// Private copy of a TLP, because the peer can change the content of its link at any time.
  Tlp leaving_;
  std::array<Operations, device::pcie_switch::kMaxPorts> operations_{};
};

}  // namespace sluice::chain_app
