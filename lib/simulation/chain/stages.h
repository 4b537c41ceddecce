// SPDX-License-Identifier: BSD-3-Clause
//
// Accelerators in virtual time with one of two interfaces: a streaming buffer of messages, or a
// ring of descriptors. Accelerators of either kind process one message at a time, in a fixed time
// per message, and add one to the first byte of the data, so that a trace can distinguish results
// from inputs.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "device/switch/stream_end.h"
#include "simulation/chain/switch_node.h"

namespace sluice::simulation {

/// Base address of the BAR of the device at port `port`.
constexpr uint64_t BarOf(device::pcie_switch::PortId port) { return (uint64_t{port} + 1) << 32; }
inline constexpr uint64_t kBarBytes = 1ull << 32;
inline constexpr uint64_t kStreamBuffer = 0;  ///< Offsets in the BAR, for the port's first node.
inline constexpr uint64_t kControl = 1u << 28;
inline constexpr uint64_t kDoorbell = kControl + 64;
/// A device's further nodes follow at multiples of 1 << kNodeShift bytes.
inline constexpr uint32_t kNodeShift = 24;

/// A device with the streaming interface. It consumes a message only when no data is waiting in its
/// writer.
class StreamDevice final : public Endpoint {
 public:
  /// Called with each consumed message, which is then not forwarded.
  using Sink = std::function<void(const device::pcie_switch::Message&)>;

  StreamDevice(SwitchNode& node, device::pcie_switch::PortId port, Picoseconds compute)
      : node_(&node), port_(port), compute_(compute) {}

  /// Sets where the device writes its messages. Call it before the first message. Without credits,
  /// only the port limits the writer.
  void SetWriter(uint64_t window, uint32_t granules, bool credits = true);
  /// Sets where the device receives messages. Without credits, `fifo` > 0 is the number of TLPs
  /// that can queue in front of the buffer.
  void SetReader(uint64_t reg, uint32_t buffer_bytes, uint32_t fifo = 0);
  void OnMessage(Sink sink) { sink_ = std::move(sink); }

  /// Sends a message that originates at this device.
  void Put(uint32_t number, std::span<const uint8_t> data);
  uint64_t consumed() const { return consumed_; }

  void Receive(const device::pcie_switch::Tlp& tlp) override;
  bool Takes(uint32_t under_way) const override {
    return fifo_limit_ == 0 || fifo_.size() + under_way < fifo_limit_;
  }
  void MaySend() override { Write(); }

 private:
  void Write();
  void Absorb();
  void Work();
  void Finish(const device::pcie_switch::Message& message);

  SwitchNode* node_;
  device::pcie_switch::PortId port_;
  Picoseconds compute_;
  std::optional<device::pcie_switch::StreamWriter> writer_;
  std::optional<device::pcie_switch::StreamReader> reader_;
  uint32_t buffer_bytes_ = 0;
  uint32_t fifo_limit_ = 0;
  std::deque<device::pcie_switch::Tlp> fifo_;
  Sink sink_;
  bool working_ = false;
  uint64_t consumed_ = 0;
};

/// A device with the legacy interface. After each doorbell, it reads a descriptor and the data, and
/// writes a record and the result.
class DescriptorDevice final : public Endpoint {
 public:
  /// Called with the data of each descriptor that does not request a result.
  using Sink = std::function<void(std::span<const uint8_t>)>;

  /// `ring` is the address of the device's `slots` descriptors.
  DescriptorDevice(SwitchNode& node, device::pcie_switch::PortId port, Picoseconds compute,
                   uint64_t ring, uint32_t slots)
      : node_(&node), port_(port), compute_(compute), ring_(ring), slots_(slots) {}
  void OnData(Sink sink) { sink_ = std::move(sink); }
  void Receive(const device::pcie_switch::Tlp& tlp) override;

 private:
  void Fetch();
  void Read(uint64_t address, uint32_t bytes);
  void Arrived(const device::pcie_switch::Tlp& tlp);
  void Finish();

  SwitchNode* node_;
  device::pcie_switch::PortId port_;
  Picoseconds compute_;
  uint64_t ring_;
  uint32_t slots_;
  Sink sink_;
  uint32_t rung_ = 0;     ///< Cumulative number of descriptors announced by doorbells.
  uint32_t fetched_ = 0;  ///< Cumulative number of descriptors that the device has started.
  enum class Waits : uint8_t { kNothing, kDescriptor, kData } waits_ = Waits::kNothing;
  device::pcie_switch::LegacyDescriptor descriptor_;
  std::vector<uint8_t> data_;
  uint32_t missing_ = 0;  ///< Number of bytes of the current read that have not arrived yet.
};

/// Writes `bytes` to memory from `address` on, as a DMA engine does.
void WriteBytes(SwitchNode& node, device::pcie_switch::PortId port, uint64_t address,
                std::span<const uint8_t> bytes);

}  // namespace sluice::simulation
