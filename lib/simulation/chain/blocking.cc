// SPDX-License-Identifier: BSD-3-Clause
//
// Simulates whether a slow accelerator delays another accelerator's stream.
#include <array>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <vector>

#include "fabric/event_queue.h"
#include "simulation/chain/chain.h"
#include "simulation/chain/stages.h"
#include "simulation/chain/switch_node.h"

namespace sluice::simulation {
namespace {

using namespace device::pcie_switch;  // NOLINT

constexpr PortId kSource = 0;
// Without credits, at most this many TLPs queue in front of a device.
constexpr uint32_t kFifo = 16;
constexpr uint32_t kBlockingWindow = 128;

/// The NIC, with one writer per stream.
class TwoStreams final : public Endpoint {
 public:
  TwoStreams(SwitchNode& node, std::vector<StreamWriter> writers)
      : node_(&node), writers_(std::move(writers)) {}
  void Put(size_t stream, std::span<const uint8_t> data) {
    // Data that does not fit in the NIC's queue is discarded.
    if (writers_[stream].waiting() < kQueue) writers_[stream].Put({}, data);
    MaySend();
  }
  void Receive(const Tlp& tlp) override {
    const uint64_t control = BarOf(kSource) + kControl;
    const uint64_t stream = (tlp.address - control) >> kNodeShift;
    if (tlp.address < control || stream >= writers_.size()) return;
    writers_[stream].SetFreed(LoadFrom<uint64_t>(tlp.payload.data()));
    MaySend();
  }
  void MaySend() override {
    Tlp tlp;
    for (bool sent = true; sent;) {
      sent = false;
      // Sends one TLP, choosing the stream round-robin.
      for (size_t i = 0; i < writers_.size() && !sent; ++i) {
        StreamWriter& writer = writers_[(turn_ + i) % writers_.size()];
        if (!node_->MaySend(kSource) || !writer.Next(tlp)) continue;
        node_->Send(kSource, tlp);
        turn_ = (turn_ + i + 1) % writers_.size();
        sent = true;
      }
    }
  }

 private:
  static constexpr size_t kQueue = 64;
  SwitchNode* node_;
  std::vector<StreamWriter> writers_;
  size_t turn_ = 0;
};

}  // namespace

uint64_t PlayBlocking(const BlockingParameters& parameters) {
  const bool credits = parameters.flow_control == FlowControl::kStream;
  fabric::EventQueue queue;
  Switch programmable({.ports = 3, .flow_control = parameters.flow_control});
  SwitchNode node(queue, programmable, parameters.link, parameters.costs.pcie_oneway,
                  parameters.pipeline);
  const uint32_t buffer = (Granules(parameters.message_bytes) + 1) * kGranule * 8;
  std::vector<StreamWriter> writers;
  std::vector<std::unique_ptr<StreamDevice>> devices;
  for (PortId port = 1; port <= 2; ++port) {
    const uint64_t number = port - 1u;
    NodeSpec from, to;
    from.port = kSource;
    from.out.edges = {{.value = 0, .mask = 0, .targets = 0b10}};
    from.window_granules = kBlockingWindow;
    from.control = BarOf(kSource) + kControl + (number << kNodeShift);
    to.port = port;
    to.buffer = BarOf(port) + kStreamBuffer;
    to.buffer_bytes = buffer;
    to.control = BarOf(port) + kControl;
    const Opened opened =
        programmable.Open({.nodes = {from, to}, .max_message = parameters.message_bytes});
    if (!opened.error.empty()) throw std::runtime_error(opened.error);
    writers.emplace_back(opened.windows[0], kBlockingWindow, kSource);
    if (!credits) writers.back().IgnoreCredits();
    devices.push_back(std::make_unique<StreamDevice>(
        node, port, port == 1 ? parameters.slow_compute : parameters.fast_compute));
    devices.back()->SetReader(opened.registers[1], buffer, credits ? 0 : kFifo);
    node.Attach(port, *devices.back());
  }
  TwoStreams nic(node, std::move(writers));
  node.Attach(kSource, nic);
  const std::vector<uint8_t> data(parameters.message_bytes);
  std::function<void()> offer = [&] {
    if (parameters.slow_stream) nic.Put(0, data);
    nic.Put(1, data);
    node.Kick();
    queue.After(parameters.interval, offer);
  };
  queue.At(0, offer);
  queue.RunUntil(parameters.duration);
  return devices[1]->consumed();
}

}  // namespace sluice::simulation
