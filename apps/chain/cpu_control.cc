// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_control.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "switch_runner.h"

namespace sluice::chain_app {

using engine::chain::Change;
using engine::chain::Changed;
using engine::chain::Device;
using engine::chain::DeviceKind;
using engine::chain::FindByName;
using engine::chain::Graph;
using engine::chain::Node;

namespace {

static_assert(Mediator::kMostBytes <= SwitchRunner::kRegionBytes);

const Device& DeviceOf(const Graph& graph, const Node& node) {
  return *FindByName(graph.devices, node.device);
}

}  // namespace

std::string CpuControl::Apply(const Graph& graph, const std::vector<std::string>& chains,
                              const Do& on_cpu, const Do& on_switch,
                              std::vector<Changed>* changes) {
  // All operations that can fail come first and do not touch the running chains.
  std::vector<Changed> made;
  std::vector<const engine::chain::Chain*> anew;
  for (const std::string& name : chains) {
    const auto& chain = *FindByName(graph.chains, name);
    const Chain* const before = Find(name);
    const bool ways = before != nullptr && SameDevices(graph_, graph, chain) &&
                      OnlyWaysDiffer(before->chain, chain);
    const bool same = ways && before->chain.nodes == chain.nodes;
    made.push_back({name, same ? Change::kKept : ways ? Change::kRewired : Change::kOpened});
    if (!same) anew.push_back(&chain);
  }
  std::string error = slots_.Fault(graph, anew);
  if (!error.empty()) return error;
  std::vector<Chain> fresh;
  for (const auto* const chain : anew) {
    const auto change = std::ranges::find(made, chain->name, &Changed::chain)->change;
    Chain one{*chain, 0, nullptr};
    const bool good =
        Make(graph, *chain, change == Change::kRewired ? Find(chain->name) : nullptr, &one, &error);
    if (good) fresh.push_back(std::move(one));
    if (good) continue;
    for (const Chain& given : fresh) GiveBack(given);
    return "chain \"" + chain->name + "\": " + error;
  }
  on_switch([&] {
    for (const Chain& one : fresh) map_(one.region, one.mediator->memory());
  });
  on_cpu([&] {
    std::vector<Chain> running;
    for (const std::string& name : chains) {
      const auto given =
          std::ranges::find_if(fresh, [&](const Chain& one) { return one.chain.name == name; });
      Chain& next = given != fresh.end() ? *given : *Find(name);
      if (given != fresh.end()) {
        for (PortId port = 0; port < device::pcie_switch::kMaxPorts; ++port)
          if ((dead_ >> port & 1) != 0) next.mediator->Fail(port);
        next.mediator->Start();
      }
      next.chain = *FindByName(graph.chains, name);
      running.push_back(std::move(next));
    }
    for (Chain& old : running_) {
      if (old.mediator == nullptr) continue;  // The chain was moved to `running` and continues.
      old.mediator->Drain();
      const auto change = std::ranges::find(made, old.chain.name, &Changed::chain);
      if (change == made.end() || change->change != Change::kRewired)
        made.push_back({old.chain.name, Change::kClosed});
      draining_.push_back(std::move(old));
    }
    running_ = std::move(running);
  });
  graph_ = graph;
  if (changes != nullptr) *changes = std::move(made);
  return "";
}

/// Allocates rings and memory for a chain. On failure, returns false and sets `error`, and
/// allocates nothing.
bool CpuControl::Make(const Graph& graph, const engine::chain::Chain& chain, const Chain* before,
                      Chain* made, std::string* error) {
  made->region = static_cast<uint32_t>(std::countr_one(regions_));
  if (made->region == SwitchRunner::kRegions) {
    *error = "too many replaced chains are still draining: try again later";
    return false;
  }
  Mediator::Plan plan{.graph = &graph,
                      .chain = &chain,
                      .slots = {},
                      .address = SwitchRunner::AddressOf(made->region),
                      .outstanding = outstanding_,
                      .states = {},
                      .incarnation = ++opened_};
  if (before != nullptr) plan.states = before->mediator->states();
  for (const Node& node : chain.nodes) {
    const Device& device = DeviceOf(graph, node);
    plan.slots.push_back(device.kind == DeviceKind::kHost ? 0 : slots_.Allocate(device.port));
  }
  made->mediator = Mediator::Make(plan, counters_, error);
  if (made->mediator == nullptr) {
    for (size_t i = 0; i < chain.nodes.size(); ++i) {
      const Device& device = DeviceOf(graph, chain.nodes[i]);
      if (device.kind != DeviceKind::kHost) slots_.Free(device.port, plan.slots[i]);
    }
    return false;
  }
  regions_ |= uint64_t{1} << made->region;
  return true;
}

void CpuControl::GiveBack(const Chain& chain) {
  for (const auto& [port, slot] : chain.mediator->places()) slots_.Free(port, slot);
  regions_ &= ~(uint64_t{1} << chain.region);
}

size_t CpuControl::Tend(const Do& on_cpu, const Do& on_switch) {
  if (draining_.empty()) return 0;
  std::vector<Chain> over;
  on_cpu([&] {
    const auto rest = std::ranges::partition(
        draining_, [](const Chain& chain) { return !chain.mediator->over(); });
    std::ranges::move(rest, std::back_inserter(over));
    draining_.erase(rest.begin(), rest.end());
  });
  if (over.empty()) return draining_.size();
  on_switch([&] {
    for (const Chain& chain : over) map_(chain.region, {});
  });
  for (const Chain& chain : over) GiveBack(chain);
  return draining_.size();
}

CpuControl::Chain* CpuControl::Find(std::string_view chain) {
  const auto it =
      std::ranges::find_if(running_, [&](const Chain& one) { return one.chain.name == chain; });
  return it == running_.end() ? nullptr : &*it;
}

int CpuControl::FirstSlot(std::string_view chain) const {
  for (const Chain& one : running_)
    if (one.chain.name == chain) return static_cast<int>(one.mediator->places().front().slot);
  return -1;
}

bool CpuControl::Step() {
  bool any = false;
  for (Chain& chain : running_) any |= chain.mediator->Step(link_);
  for (Chain& chain : draining_) any |= chain.mediator->Step(link_);
  link_.Publish();
  return any;
}

void CpuControl::Fail(PortId port) {
  dead_ |= static_cast<device::pcie_switch::PortMask>(1u << port);
  for (auto* const chains : {&running_, &draining_})
    for (Chain& chain : *chains) chain.mediator->Fail(port);
}

void CpuControl::Restore(PortId port) {
  dead_ &= static_cast<device::pcie_switch::PortMask>(~(1u << port));
  for (auto* const chains : {&running_, &draining_})
    for (Chain& chain : *chains) chain.mediator->Restore(port);
}

}  // namespace sluice::chain_app
