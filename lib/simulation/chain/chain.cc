// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/chain/chain.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>

#include "fabric/event_queue.h"
#include "simulation/chain/stages.h"
#include "simulation/chain/switch_node.h"

namespace sluice::simulation {
namespace {

using namespace device::pcie_switch;  // NOLINT

constexpr PortId kRoot = 0;
constexpr PortId kNic = 1;
constexpr uint64_t kHostMemory = 1ull << 38;
constexpr uint64_t kBetween = 1ull << 17;      // Distance between the buffers of adjacent hops.
constexpr uint64_t kDescriptors = 1ull << 16;  // Offset of a hop's descriptors from its data.
constexpr uint32_t kSlots = 4;
constexpr uint32_t kWindowGranules = 512;

std::string NameOr(const std::vector<std::string>& names, size_t index, const char* otherwise) {
  return index < names.size() ? names[index] : otherwise + std::to_string(index);
}

/// Base of all chains: a switch and its links. Records the TLPs that cross the links.
class Chain {
 public:
  explicit Chain(const ChainParameters& parameters)
      : parameters_(parameters),
        switch_({.ports = static_cast<uint32_t>(parameters.accelerators.size()) + 2}),
        node_(queue_, switch_, parameters.link, parameters.costs.pcie_oneway, parameters.pipeline) {
    node_.Observe([this](PortId to, const Tlp& tlp) { Note(to, tlp); });
  }
  virtual ~Chain() = default;

  ChainResults Play() {
    for (uint32_t i = 0; i < parameters_.messages; ++i) {
      data_.assign(std::max(parameters_.message_bytes, 1u), 0);
      begun_ = last_ = queue_.now();
      const size_t before = results_.latencies.size();
      Begin(i);
      node_.Kick();
      queue_.Run();
      if (results_.latencies.size() != before + 1)
        throw std::runtime_error("a message did not come back to the NIC");
    }
    results_.root_port_bytes = node_.Bytes(kRoot);
    return std::move(results_);
  }

 protected:
  virtual void Begin(uint32_t number) = 0;
  /// Returns whether a write contains the start of the data. If so, sets `at` to the offset of the
  /// data in the payload.
  virtual bool CarriesData(const Tlp& tlp, uint32_t& at) const = 0;
  /// Returns the name of the component that answers the devices' reads and rings their doorbells.
  virtual std::string Driver() const = 0;

  void Arrived() { results_.latencies.push_back(queue_.now() - begun_); }
  uint32_t devices() const { return static_cast<uint32_t>(parameters_.accelerators.size()) + 1; }
  /// Returns the port of the i-th device of the chain; the NIC is the first and the last.
  PortId PortOf(uint32_t i) const {
    return i % devices() == 0 ? kNic : static_cast<PortId>(kNic + i);
  }

  ChainParameters parameters_;
  fabric::EventQueue queue_;
  Switch switch_;
  SwitchNode node_;
  std::vector<uint8_t> data_;

 private:
  std::string NameOf(PortId port) const {
    if (port == kRoot) return "CPU";
    return port == kNic ? NameOr(parameters_.devices, 0, "NIC")
                        : NameOr(parameters_.devices, port - kNic, "A");
  }
  void Note(PortId to, const Tlp& tlp) {
    if (results_.latencies.size() != 0) return;
    Operation operation{
        .from = NameOf(tlp.requester), .to = NameOf(to), .what = "", .how = "DMA WR", .took = 0};
    const bool nic = to == kNic;
    uint32_t at = 0;
    if (tlp.kind == TlpKind::kRead) return;  // The read's completion is recorded instead.
    if (tlp.kind == TlpKind::kCompletion) {
      if (tlp.address != 0 || tlp.tag != 0) return;
      operation.from = Driver();
      operation.how = "DMA RD";
      // Completions for descriptors alternate with completions for data.
      reading_data_ = !reading_data_;
      operation.what = reading_data_ ? (nic ? "Descriptor" : "Command")
                                     : NameOr(parameters_.data, tlp.payload[0], "data ");
    } else if (to != kRoot && tlp.address == BarOf(to) + kDoorbell) {
      operation.from = Driver();
      operation.how = "MMIO WR";
      operation.what = nic ? "Descriptor Notification" : "Command Notification";
    } else if (CarriesData(tlp, at)) {
      operation.what = NameOr(parameters_.data, tlp.payload[at], "data ");
    } else {
      results_.credit_writes += to != kRoot && tlp.address >= BarOf(to) + kControl;
      return;
    }
    operation.took = queue_.now() - last_;
    last_ = queue_.now();
    results_.operations.push_back(std::move(operation));
  }

  ChainResults results_;
  Picoseconds begun_ = 0;
  Picoseconds last_ = 0;
  bool reading_data_ = false;
};

/// The host's memory and the CPU that polls it.
class Host final : public Endpoint {
 public:
  Host(SwitchNode& node, uint32_t hops, Picoseconds reaction, std::vector<PortId> next)
      : node_(&node), memory_(hops * kBetween), reaction_(reaction), next_(std::move(next)) {}

  void Receive(const Tlp& tlp) override {
    if (tlp.kind == TlpKind::kRead) {
      for (uint32_t at = 0; at < tlp.length; at += kMaxPayload) {
        Tlp answer;
        answer.kind = TlpKind::kCompletion;
        answer.requester = tlp.requester;
        answer.tag = tlp.tag;
        answer.address = at;
        answer.length = std::min(tlp.length - at, kMaxPayload);
        std::memcpy(answer.payload.data(), &memory_[tlp.address - kHostMemory + at], answer.length);
        node_->Send(kRoot, answer);
      }
      return;
    }
    const uint64_t at = tlp.address - kHostMemory;
    std::memcpy(&memory_[at], tlp.payload.data(), tlp.length);
    const auto hop = static_cast<uint32_t>(at / kBetween);
    const uint64_t base = hop * kBetween;
    const auto record = LoadFrom<LegacyRecord>(&memory_[base]);
    if (at + tlp.length == base + sizeof record + record.length)
      node_->queue().After(reaction_, [this, hop, record] { Command(hop, record); });
  }

 private:
  /// Called when the hop's data is complete. Writes a descriptor and rings the next device's
  /// doorbell.
  void Command(uint32_t hop, const LegacyRecord& record) {
    const bool last = hop + 1 == next_.size();
    const uint32_t slot = rung_ / static_cast<uint32_t>(next_.size()) % kSlots;
    const uint64_t ring = hop * kBetween + kDescriptors;
    StoreTo(&memory_[ring + slot * sizeof(LegacyDescriptor)],
            LegacyDescriptor{.input = kHostMemory + hop * kBetween + sizeof record,
                             .output = last ? 0 : kHostMemory + (hop + 1) * kBetween,
                             .length = record.length,
                             .capacity = last ? 0 : record.length,
                             .sequence = rung_});
    const uint32_t tail = rung_ / static_cast<uint32_t>(next_.size()) + 1;
    ++rung_;
    std::array<uint8_t, sizeof tail> bytes;
    StoreTo(bytes.data(), tail);
    WriteBytes(*node_, kRoot, BarOf(next_[hop]) + kDoorbell, bytes);
    node_->Kick();
  }

  SwitchNode* node_;
  std::vector<uint8_t> memory_;
  Picoseconds reaction_;
  std::vector<PortId> next_;  ///< Destination port for each hop's data.
  uint32_t rung_ = 0;         ///< Number of doorbells rung, over all devices.
};

class ChainThroughCpu final : public Chain {
 public:
  explicit ChainThroughCpu(const ChainParameters& parameters) : Chain(parameters) {
    std::vector<PortId> next;
    for (uint32_t hop = 0; hop < devices(); ++hop) next.push_back(PortOf(hop + 1));
    host_ = std::make_unique<Host>(node_, devices(), parameters.cpu_reaction, next);
    node_.Attach(kRoot, *host_);
    switch_.AddRange({.base = kHostMemory, .bytes = devices() * kBetween, .port = kRoot});
    for (uint32_t hop = 0; hop < devices(); ++hop) {
      const PortId port = next[hop];
      switch_.AddRange({.base = BarOf(port), .bytes = kBarBytes, .port = port});
      accelerators_.push_back(
          std::make_unique<DescriptorDevice>(node_, port, port == kNic ? 0 : parameters.compute,
                                             kHostMemory + hop * kBetween + kDescriptors, kSlots));
      node_.Attach(port, *accelerators_.back());
    }
    accelerators_.back()->OnData([this](std::span<const uint8_t>) { Arrived(); });
  }

 private:
  void Begin(uint32_t number) override {
    const LegacyRecord record{.sequence = number, .length = static_cast<uint32_t>(data_.size())};
    std::vector<uint8_t> bytes(sizeof record + data_.size());
    StoreTo(bytes.data(), record);
    std::copy(data_.begin(), data_.end(), bytes.begin() + sizeof record);
    WriteBytes(node_, kNic, kHostMemory, bytes);
  }
  bool CarriesData(const Tlp& tlp, uint32_t& at) const override {
    at = sizeof(LegacyRecord);
    return tlp.address >= kHostMemory && (tlp.address - kHostMemory) % kBetween == 0;
  }
  std::string Driver() const override { return "CPU"; }

  std::unique_ptr<Host> host_;
  std::vector<std::unique_ptr<DescriptorDevice>> accelerators_;
};

class PushedChain final : public Chain {
 public:
  explicit PushedChain(const ChainParameters& parameters)
      : Chain(parameters), nic_(node_, kNic, 0) {
    const uint32_t buffer = (Granules(sizeof(MessageHeader) + data_bytes()) + 1) * kGranule * 2;
    // Nodes 0 to N are the devices, where node 0 is the NIC; node N + 1 is the NIC again.
    StreamSpec spec{.nodes = {}, .max_message = data_bytes()};
    for (uint32_t i = 0; i <= devices(); ++i) {
      NodeSpec one;
      one.port = PortOf(i);
      if (i < devices())
        one.out.edges = {{.value = 0, .mask = 0, .targets = static_cast<NodeMask>(2u << i)}};
      one.window_granules =
          std::max(kWindowGranules, Granules(sizeof(LegacyRecord) + data_bytes()) * 2);
      one.buffer = BarOf(one.port) + kStreamBuffer;
      one.buffer_bytes = buffer;
      one.control = BarOf(one.port) + kControl;
      one.doorbell = BarOf(one.port) + kDoorbell;
      if (i != 0 && i < devices() && parameters.accelerators[i - 1] == Face::kLegacy) {
        one.kind = NodeKind::kLegacy;
        one.slots = kSlots;
      }
      spec.nodes.push_back(one);
    }
    const Opened opened = switch_.Open(spec);
    if (!opened.error.empty()) throw std::runtime_error(opened.error);
    nic_.SetWriter(opened.windows[0], spec.nodes[0].window_granules);
    nic_.SetReader(opened.registers[devices()], buffer);
    nic_.OnMessage([this](const Message&) { Arrived(); });
    node_.Attach(kNic, nic_);
    for (uint32_t i = 1; i < devices(); ++i) {
      const PortId port = PortOf(i);
      if (spec.nodes[i].kind == NodeKind::kLegacy) {
        others_.push_back(std::make_unique<DescriptorDevice>(node_, port, parameters.compute,
                                                             opened.rings[i], kSlots));
      } else {
        auto stage = std::make_unique<StreamDevice>(node_, port, parameters.compute);
        stage->SetWriter(opened.windows[i], spec.nodes[i].window_granules);
        stage->SetReader(opened.registers[i], buffer);
        others_.push_back(std::move(stage));
      }
      node_.Attach(port, *others_.back());
    }
  }

 private:
  uint32_t data_bytes() const { return std::max(parameters_.message_bytes, 1u); }
  void Begin(uint32_t number) override { nic_.Put(number, data_); }
  bool CarriesData(const Tlp& tlp, uint32_t& at) const override {
    at = sizeof(MessageHeader);
    // A continuation TLP does not start with a header of this length.
    return tlp.address % kBarBytes < kControl && tlp.length > at &&
           LoadFrom<MessageHeader>(tlp.payload.data()).length == data_bytes();
  }
  std::string Driver() const override { return "Switch"; }

  StreamDevice nic_;
  std::vector<std::unique_ptr<Endpoint>> others_;
};

}  // namespace

ChainResults PlayChain(const ChainParameters& parameters) {
  if (parameters.via == ChainVia::kCpu) return ChainThroughCpu(parameters).Play();
  return PushedChain(parameters).Play();
}

}  // namespace sluice::simulation
