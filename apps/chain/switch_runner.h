// SPDX-License-Identifier: BSD-3-Clause
//
// Runs the programmable switch in real time: TLPs come and go by the links of its ports. Behind one
// port is the root complex: devices read and write the host's memory there, and the CPU's posted
// writes enter. Every byte that PCIe would move is moved; nothing is delayed on purpose.
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

/// TLPs that entered the switch by a port, and left by it.
struct Operations {
  uint64_t writes = 0;
  uint64_t reads = 0;
  uint64_t completions = 0;
  uint64_t bytes = 0;  ///< Of payload, in both directions.
};

/// One thread.
class SwitchRunner {
 public:
  using PortId = device::pcie_switch::PortId;

  /// `host_memory`: devices reach it, by regions.
  SwitchRunner(PortId root, bool host_memory);

  static constexpr uint32_t kRegions = 64;
  static constexpr uint64_t kRegionBytes = uint64_t{1} << 30;
  /// Where devices see a region of the host's memory.
  static constexpr uint64_t AddressOf(uint32_t region) {
    return device::stage::kHostMemory + region * kRegionBytes;
  }
  /// What is there from now on, aligned to 8 bytes; as long as it is, it outlives this. Nothing, at
  /// first: reads are refused, writes go nowhere.
  void Map(uint32_t region, std::span<uint8_t> memory) { memory_[region] = memory; }

  /// False: nothing moved.
  bool Step();

  device::pcie_switch::Switch& programmable() { return switch_; }
  /// The link of the device at a port; null: there is none any more, and what it had sent and is
  /// not in the switch yet is lost. At the root port: the CPU's; `listens`: it reads what devices
  /// send to it there.
  void Attach(PortId port, device::stage::LinkMemory* link, bool listens = true);
  /// A posted write by the CPU, outside of its link. At most a TLP.
  void Write(uint64_t address, std::span<const uint8_t> bytes);
  /// What devices have sent to the host's memory arrives, all of it; what the CPU has sent to
  /// devices enters.
  void DrainRoot() {
    for (bool any = true; any;) {
      any = AdmitRoot();
      any |= LeaveRoot();
    }
  }
  const Operations& operations(PortId port) const { return operations_[port]; }
  PortId root() const { return root_; }
  /// The device has claimed on its link what cannot be, or does not take what it asked for.
  bool broken(PortId port) const {
    const Link& link = links_[port];
    return link.overrun || (link.reader && link.reader->broken());
  }
  /// TLPs from the root port that wait for a device at most: two completions for each of its tags,
  /// a doorbell for each message that may be under way at each of its nodes, and what sets it up.
  static constexpr size_t kMostDue = size_t{1} << 17;

 private:
  using Tlp = device::pcie_switch::Tlp;
  static constexpr uint32_t kTurn = 64;  ///< TLPs of one port before the next one's turn.

  struct Link {
    std::optional<device::stage::LinkReader> reader;
    std::optional<device::stage::LinkWriter> writer;
    bool blocked = false;
    Tlp waiting;  ///< With `blocked`: what the switch does not take now.
    /// Completions and posted writes for this device that enter by the root port, in order. Who
    /// takes none of them holds up nobody else.
    std::deque<Tlp> due;
    bool overrun = false;  ///< More were due than kMostDue, and are lost.
  };

  bool Admit(PortId port);
  bool AdmitRoot();
  PortId Behind(uint64_t address) const;
  bool Leave(PortId port);
  bool LeaveRoot();
  /// The host's memory there; null if there is none for so many bytes.
  uint8_t* At(uint64_t address, uint32_t bytes) const;
  void TakeByRoot(const Tlp& tlp);
  static void WriteMemory(uint8_t* to, const Tlp& tlp);
  void Answer(const Tlp& read);
  void Send(PortId to, const Tlp& tlp);
  void Count(PortId port, const Tlp& tlp);

  PortId root_;
  std::array<std::span<uint8_t>, kRegions> memory_;
  device::pcie_switch::Switch switch_;
  std::array<Link, device::pcie_switch::kMaxPorts> links_;
  Tlp leaving_;  ///< Here alone it is read: the other end may change what is on its link.
  std::array<Operations, device::pcie_switch::kMaxPorts> operations_{};
};

}  // namespace sluice::chain_app
