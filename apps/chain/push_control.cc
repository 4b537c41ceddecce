// SPDX-License-Identifier: BSD-3-Clause
#include "push_control.h"

#include <set>

namespace sluice::chain_app {
namespace {

using namespace device::stage;        // NOLINT
using namespace device::pcie_switch;  // NOLINT
using engine::chain::Chain;
using engine::chain::Device;
using engine::chain::DeviceKind;
using engine::chain::FindByName;
using engine::chain::Graph;
using engine::chain::Place;
using engine::chain::Running;

}  // namespace

PushControl::PushControl(SwitchRunner& runner)
    : runner_(runner),
      deployment_(runner.programmable(),
                  [this](const Device& device, const Chain& chain, const engine::chain::Node&) {
                    return AllocatePlace(device, chain);
                  }) {}

Place PushControl::AllocatePlace(const Device& device, const Chain& chain) {
  const uint32_t slot = slots_.Allocate(device.port);
  allocated_.push_back({chain.name, device.port, slot});
  const uint64_t base = SlotOf(device.port, slot);
  return {.buffer = base, .control = base + kControlOffset, .doorbell = base + kDoorbellOffset};
}

std::string PushControl::Apply(const Graph& graph, std::vector<engine::chain::Changed>* changes) {
  std::vector<const Chain*> anew;
  for (const Chain& chain : graph.chains)
    if (!deployment_.Stays(graph, chain)) anew.push_back(&chain);
  std::string error = slots_.Fault(graph, anew);
  if (!error.empty()) return error;
  allocated_.clear();
  std::vector<engine::chain::Changed> made;
  error = deployment_.Apply(graph, &made);
  if (!error.empty()) {
    GiveBack();
    return error;
  }
  for (const auto& changed : made)
    if (changed.change == engine::chain::Change::kOpened) SetUp(*deployment_.Find(changed.chain));
  if (changes != nullptr) *changes = std::move(made);
  return "";
}

/// Frees the slots in allocated_, because a stream could not be opened.
void PushControl::GiveBack() {
  for (const AllocatedSlot& taken : allocated_) slots_.Free(taken.port, taken.slot);
}

/// Sends the node setups of a new stream to its devices.
void PushControl::SetUp(const Running& running) {
  const Chain& chain = running.chain;
  std::vector<Wire>& wires = wires_[running.opened.stream];
  wires.clear();
  ++opened_;
  for (const AllocatedSlot& taken : allocated_)
    if (taken.chain == chain.name) wires.push_back({taken.port, taken.slot, {}, false});
  for (size_t i = 0; i < wires.size(); ++i) {
    const Device& device = *FindByName(deployment_.graph().devices, chain.nodes[i].device);
    const bool legacy = device.kind == DeviceKind::kLegacy;
    wires[i].setup = {.window = legacy ? 0 : running.opened.windows[i],
                      .consumed = legacy ? 0 : running.opened.registers[i],
                      .ring = running.opened.rings[i],
                      .window_granules = chain.nodes[i].window,
                      .buffer_bytes = device.buffer,
                      .slots = device.slots,
                      .max_message = chain.message,
                      .action = SetupAction::kOpen,
                      .chain = opened_};
    Write(wires[i]);
  }
}

void PushControl::Write(const Wire& wire) {
  std::array<uint8_t, sizeof(NodeSetup)> bytes;
  StoreTo(bytes.data(), wire.setup);
  runner_.Write(SlotOf(wire.port, wire.slot) + kSetupOffset, bytes);
}

/// Flushes each node's window after the windows of all its predecessors, so that no message in
/// flight is lost.
void PushControl::Drain(const Running& running) {
  std::vector<Wire>& wires = wires_[running.opened.stream];
  for (NodeId node = 0; node < wires.size(); ++node) {
    Wire& wire = wires[node];
    if (wire.drain_sent || wire.setup.window == 0) continue;
    if (!runner_.programmable().Quiet(running.opened.stream, node)) return;
    wire.drain_sent = true;
    wire.setup.action = SetupAction::kDrain;
    Write(wire);
  }
}

size_t PushControl::Tend() {
  if (deployment_.draining().empty()) return 0;
  std::set<StreamId> before;
  for (const Running& running : deployment_.draining()) {
    before.insert(running.opened.stream);
    Drain(running);
  }
  const size_t left = deployment_.Reap();
  for (const Running& running : deployment_.draining()) before.erase(running.opened.stream);
  for (const StreamId freed : before) {
    for (Wire& wire : wires_[freed]) {
      wire.setup.action = SetupAction::kFree;
      Write(wire);
      slots_.Free(wire.port, wire.slot);
    }
    wires_.erase(freed);
  }
  return left;
}

void PushControl::SetUpAgain(PortId port) {
  for (const auto& [stream, wires] : wires_)
    for (const Wire& wire : wires)
      if (wire.port == port && wire.setup.action != SetupAction::kFree) Write(wire);
}

bool PushControl::Reopen() {
  bool any = false;
  const Graph& graph = deployment_.graph();
  for (const Chain& chain : graph.chains) {
    const Chain* const anew = &chain;
    if (deployment_.Stays(graph, chain) || !slots_.Fault(graph, {&anew, 1}).empty()) continue;
    allocated_.clear();
    if (deployment_.Reopen(chain.name).empty()) {
      SetUp(*deployment_.Find(chain.name));
      any = true;
    } else {
      GiveBack();
    }
  }
  return any;
}

int PushControl::FirstSlot(std::string_view chain) const {
  const Running* const running = deployment_.Find(chain);
  if (running == nullptr) return -1;
  const auto wires = wires_.find(running->opened.stream);
  return wires == wires_.end() ? -1 : static_cast<int>(wires->second.front().slot);
}

}  // namespace sluice::chain_app
