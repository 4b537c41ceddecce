// SPDX-License-Identifier: BSD-3-Clause
//
// A NIC with a transport unit whose host is in the same process: frames to the host wait in a list.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bar/dma.h"
#include "device/device.h"
#include "device/transport/unit.h"
#include "packet/own_addresses.h"
#include "regs/transport.h"
#include "transport/nic_streams.h"

namespace sluice::test {

using Frames = std::vector<std::vector<uint8_t>>;

/// The address of units in tests.
inline constexpr std::array<uint8_t, 6> kUnitMac{0x02, 0x53, 0x6c, 0x75, 0x54, 0x43};

/// Host memory, and the unit in front of a NIC that only passes frames on.
class NicLab final : public device::FrameSink {
 public:
  static constexpr uint64_t kBus = 0x4000'0000;
  static constexpr uint32_t kRegister = 0x100;

  explicit NicLab(const regs::transport::Configuration& wanted)
      : memory_(sizeof(wanted) + size_t{2} * wanted.connections * wanted.ring_bytes) {
    dma.Add(kBus, memory_.data(), memory_.size());
    auto nic = std::make_unique<PlainNic>();
    nic_ = nic.get();
    unit = device::transport::WithUnit(std::move(nic), dma, {.unit = kRegister});
    regs::transport::Configuration configuration = wanted;
    configuration.rings = kBus + sizeof(wanted);
    std::memcpy(memory_.data(), &configuration, sizeof(configuration));
    unit->WriteRegister(kRegister, 8, kBus);
    uint64_t mac = 0;
    std::memcpy(&mac, kUnitMac.data(), kUnitMac.size());
    unit_mac_ = mac;
    rings = {memory_.data() + sizeof(wanted), wanted.connections, wanted.ring_bytes, &unit_mac_};
  }
  /// Offers frames from the wire. Returns the number of frames accepted.
  uint32_t Receive(const Frames& frames) {
    std::vector<device::WireFrame> wire;
    for (const auto& frame : frames) {
      wire.push_back({frame.data(), static_cast<uint32_t>(frame.size())});
    }
    return unit->Receive(wire, false);
  }
  /// Returns the frames for the host.
  Frames ToHost() { return std::exchange(nic_->to_host, {}); }
  /// Sends the host's frames. Returns those that the NIC sends to the wire.
  Frames Send(Frames frames) {
    nic_->from_host = std::move(frames);
    unit->Transmit(*this, 1000);
    return ToWire();
  }
  /// Returns the frames that were delivered to the wire.
  Frames ToWire() { return std::exchange(to_wire_, {}); }
  uint64_t Count(std::string_view name) {
    for (const device::Counter& counter : unit->Counters()) {
      if (counter.name == name) return counter.value;
    }
    std::fprintf(stderr, "no counter %s\n", std::string(name).c_str());
    std::abort();
  }
  uint64_t status() { return unit->ReadRegister(kRegister, 4); }
  /// Sets the number of frames for the host that the NIC still accepts.
  void SetRoom(size_t frames) { nic_->room = frames; }
  uint8_t* memory() { return memory_.data(); }

  void Deliver(std::span<const device::WireFrame> frames) override {
    for (const device::WireFrame& frame : frames) {
      to_wire_.emplace_back(frame.data, frame.data + frame.length);
    }
  }

  bar::DmaSpace dma;
  std::unique_ptr<device::Device> unit;
  transport::Rings rings{};

 private:
  struct PlainNic final : device::Device {
    void WriteRegister(uint32_t /*offset*/, uint32_t /*bytes*/, uint64_t /*value*/) override {}
    uint64_t ReadRegister(uint32_t /*offset*/, uint32_t /*bytes*/) override { return 0; }
    void SetTime(uint64_t /*now_ns*/) override {}
    uint32_t Receive(std::span<const device::WireFrame> frames, bool /*pause*/) override {
      uint32_t accepted = 0;
      for (; accepted < frames.size() && room != 0; ++accepted, --room) {
        const device::WireFrame& frame = frames[accepted];
        to_host.emplace_back(frame.data, frame.data + frame.length);
      }
      return accepted;
    }
    uint32_t Transmit(device::FrameSink& sink, uint32_t /*budget*/) override {
      std::vector<device::WireFrame> wire;
      for (const auto& frame : from_host) {
        wire.push_back({frame.data(), static_cast<uint32_t>(frame.size())});
      }
      if (!wire.empty()) sink.Deliver(wire);
      from_host.clear();
      return static_cast<uint32_t>(wire.size());
    }
    std::span<const device::Counter> Counters() override { return {}; }

    Frames to_host, from_host;
    size_t room = SIZE_MAX;
  };

  std::atomic<uint64_t> unit_mac_{0};
  std::vector<uint8_t> memory_;
  PlainNic* nic_;
  Frames to_wire_;
};

/// Returns a configuration for these addresses.
inline regs::transport::Configuration ConfigurationOf(const packet::OwnAddresses& own,
                                                      std::vector<uint16_t> ports,
                                                      uint32_t connections, uint32_t ring_bytes) {
  regs::transport::Configuration configuration{};
  configuration.unit_mac = kUnitMac;
  configuration.seed = 2;
  configuration.connections = configuration.connections_per_peer = connections;
  configuration.ring_bytes = ring_bytes;
  configuration.port_count = static_cast<uint16_t>(ports.size());
  std::copy(ports.begin(), ports.end(), configuration.ports.begin());
  configuration.mac = own.mac();
  configuration.ipv4_count = static_cast<uint8_t>(own.ipv4().size());
  std::copy(own.ipv4().begin(), own.ipv4().end(), configuration.ipv4.begin());
  configuration.ipv6_count = static_cast<uint8_t>(own.ipv6().size());
  std::copy(own.ipv6().begin(), own.ipv6().end(), configuration.ipv6.begin());
  return configuration;
}

}  // namespace sluice::test
