// SPDX-License-Identifier: BSD-3-Clause
//
// A complete chain without threads: a test steps switch, NIC, stages and CPU one after another, so
// that counts are the same in every run.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cpu_control.h"
#include "device/stage/stage.h"
#include "engine/chain/reader.h"
#include "executor.h"
#include "ledger.h"
#include "nic.h"
#include "push_control.h"
#include "switch_runner.h"

namespace sluice::chain_app::test {

namespace sw = device::pcie_switch;

/// Adds one to every byte and sets the key to the first byte. Refuses messages that begin with the
/// byte `refuses`.
class Increment final : public Executor {
 public:
  explicit Increment(int refuses = -1) : refuses_(refuses) {}
  void Run(std::span<Work> batch) override {
    for (Work& work : batch) {
      if (work.input.size() > work.output.size() || work.input.empty() ||
          work.input[0] == refuses_) {
        work.outcome = Outcome::kRefused;
        continue;
      }
      std::ranges::transform(work.input, work.output.begin(),
                             [](uint8_t byte) { return static_cast<uint8_t>(byte + 1); });
      work.length = static_cast<uint32_t>(work.input.size());
      work.key = {work.output[0], 0};
      work.outcome = Outcome::kDone;
    }
  }

 private:
  int refuses_;
};

/// Traffic with messages that encode their number in their bytes. A right answer has passed through
/// `stages` Increment stages.
class Numbers final : public Traffic {
 public:
  Numbers(uint32_t bytes, uint32_t stages) : bytes_(bytes), stages_(stages) {}
  uint32_t Write(uint64_t number, std::span<uint8_t> room) override {
    for (uint32_t i = 0; i < bytes_; ++i) room[i] = ByteOf(number, i);
    return bytes_;
  }
  bool Right(uint64_t number, std::span<const uint8_t> answer,
             const std::array<uint32_t, 2>&) override {
    if (answer.size() != bytes_) return false;
    for (uint32_t i = 0; i < bytes_; ++i)
      if (answer[i] != static_cast<uint8_t>(ByteOf(number, i) + stages_)) return false;
    return true;
  }

 private:
  static uint8_t ByteOf(uint64_t number, uint32_t i) {
    return static_cast<uint8_t>(number * 7 + i * 13 + (number >> 8));
  }
  uint32_t bytes_;
  uint32_t stages_;
};

/// Returns a chain from the NIC (port 1) through the stages s0, s1 ... (ports from 2) and back to
/// the NIC. `faces` has one letter per stage: s for streaming, l for legacy. All nodes drain when a
/// stage dies.
inline std::string ChainText(const std::string& faces, uint32_t message) {
  const std::string window = std::to_string(std::max(64u, 4 * (message / 64 + 2)));
  std::string devices = R"({"name": "nic", "kind": "nic", "port": 1})";
  std::string nodes;
  for (size_t i = 0; i <= faces.size(); ++i) {
    const std::string next = i == faces.size() ? "out" : "n" + std::to_string(i);
    const std::string name = i == 0 ? "in" : "n" + std::to_string(i - 1);
    const std::string device = i == 0 ? "nic" : "s" + std::to_string(i - 1);
    nodes += R"({"name": ")" + name + R"(", "device": ")" + device +
             R"(", "on_death": "drain", "window": )" + window + R"(, "to": [{"nodes": [")" + next +
             R"("]}]}, )";
    if (i == 0) continue;
    devices += R"(, {"name": ")" + device + R"(", "kind": ")" +
               (faces[i - 1] == 'l' ? "legacy" : "streaming") + R"(", "port": )" +
               std::to_string(i + 1) + "}";
  }
  return R"({"devices": [)" + devices + R"(], "chains": [{"name": "c", "flows": ["udp:1"],
            "message": )" +
         std::to_string(message) + R"(, "nodes": [)" + nodes +
         R"({"name": "out", "device": "nic"}]}]})";
}

inline engine::chain::Graph Read(const std::string& text) {
  config::Errors errors;
  auto graph = engine::chain::ReadGraph(text, &errors);
  for (const std::string& error : errors) ADD_FAILURE() << error;
  return graph.value_or(engine::chain::Graph{});
}

struct RigOptions {
  bool through_cpu = false;
  uint32_t bytes = 64;  ///< Bytes per message.
  uint32_t outstanding = 8;
  uint64_t messages = 100;  ///< Messages per chain.
  uint32_t passes = ~0u;    ///< Stages that a right answer has passed through; all by default.
  int refuses = -1;  ///< First byte of the messages that the first stage refuses; -1 for none.
  uint64_t timeout_ns = uint64_t{1} << 62;
};

/// Sends messages through every chain of the graph; each chain is one flow.
class Rig {
 public:
  Rig(const engine::chain::Graph& graph, const RigOptions& options)
      : graph_(graph), options_(options) {
    std::vector<Flow*> flows;
    for (const auto& chain : graph.chains) {
      const uint32_t passes =
          options.passes != ~0u ? options.passes : static_cast<uint32_t>(chain.nodes.size()) - 2;
      ledgers.push_back(std::make_unique<Ledger>(std::make_unique<Numbers>(options.bytes, passes),
                                                 chain.message, options.outstanding,
                                                 options.timeout_ns, options.messages));
      flows.push_back(ledgers.back().get());
    }
    runner = std::make_unique<SwitchRunner>(0, options.through_cpu);
    if (options.through_cpu) {
      cpu = std::make_unique<CpuControl>(
          options.outstanding, *cpu_link_,
          [this](uint32_t region, std::span<uint8_t> memory) { runner->Map(region, memory); });
    } else {
      host = std::make_unique<Nic>(*cpu_link_, 0, std::vector<Flow*>{});
    }
    runner->Attach(0, cpu_link_.get(), cpu == nullptr);
    for (const auto& device : graph.devices) {
      if (device.kind == engine::chain::DeviceKind::kNic) {
        nic = std::make_unique<Nic>(*nic_link_, device.port, flows);
        runner->Attach(device.port, nic_link_.get());
      } else if (device.kind != engine::chain::DeviceKind::kHost) {
        Start(device.port);
      }
    }
    if (cpu == nullptr) control = std::make_unique<PushControl>(*runner);
    EXPECT_EQ(Apply(graph, nullptr), "");
    Aim();
    nic->EnableWire(true);
  }

  std::string Apply(const engine::chain::Graph& graph,
                    std::vector<engine::chain::Changed>* changes) {
    if (cpu == nullptr) return control->Apply(graph, changes);
    std::vector<std::string> names;
    for (const auto& chain : graph.chains) names.push_back(chain.name);
    return cpu->Apply(graph, names, kHere, kHere, changes);
  }
  void Aim() {
    for (size_t i = 0; i < graph_.chains.size(); ++i) {
      const std::string& name = graph_.chains[i].name;
      nic->SetSlot(i, cpu != nullptr ? cpu->FirstSlot(name) : control->FirstSlot(name));
    }
  }
  /// Steps each part once. Returns whether any part made progress.
  bool Step() {
    bool any = runner->Step();
    any |= nic->Step();
    for (auto& [port, stage] : stages) any |= stage.stage != nullptr && stage.stage->Step();
    any |= cpu != nullptr ? cpu->Step() : host->Step();
    if (control != nullptr && control->Reopen()) Aim();
    draining = cpu != nullptr ? cpu->Tend(kHere, kHere) : control->Tend();
    return any;
  }
  /// Steps until no part has made progress in four steps. Fails the test if this needs more than
  /// kPatience steps.
  void Settle() {
    uint32_t still = 0;
    for (uint32_t i = 0; i < kPatience && still < 4; ++i) still = Step() ? 0 : still + 1;
    EXPECT_EQ(still, 4u) << "it does not become idle";
  }

  /// Removes the stage at a port with all its state, as if it had died.
  void Kill(sw::PortId port) {
    runner->programmable().Fail(port);
    runner->Attach(port, nullptr);
    runner->DrainRoot();
    stages[port] = {};
    if (cpu != nullptr) cpu->Fail(port);
  }
  void Revive(sw::PortId port) {
    runner->DrainRoot();
    runner->programmable().Restore(port);
    Start(port);
    if (cpu != nullptr) {
      cpu->Restore(port);
    } else {
      control->SetUpAgain(port);
    }
  }

  Endings endings() const {
    Endings sum;
    for (const auto& ledger : ledgers) sum += ledger->Now();
    return sum;
  }
  /// Returns the sum of the TLPs at all device ports.
  Operations devices() const {
    Operations sum;
    for (sw::PortId port = 1; port < sw::kMaxPorts; ++port) {
      const Operations& one = runner->operations(port);
      sum.writes += one.writes;
      sum.reads += one.reads;
      sum.completions += one.completions;
      sum.bytes += one.bytes;
    }
    return sum;
  }

  struct Made {
    std::unique_ptr<device::stage::LinkMemory> link;
    std::unique_ptr<Increment> executor;
    std::unique_ptr<device::stage::StageCounters> counters;
    std::unique_ptr<device::stage::Stage> stage;
  };
  std::vector<std::unique_ptr<Ledger>> ledgers;  ///< One ledger per chain.
  std::unique_ptr<SwitchRunner> runner;
  std::unique_ptr<Nic> nic, host;
  std::unique_ptr<CpuControl> cpu;
  std::unique_ptr<PushControl> control;
  std::map<sw::PortId, Made> stages;
  size_t draining = 0;  ///< Number of draining chains after the last step.

 private:
  static constexpr uint32_t kPatience = 2'000'000;
  static inline const CpuControl::Do kHere = [](const std::function<void()>& what) { what(); };

  void Start(sw::PortId port) {
    Made& made = stages[port];
    made.link = std::make_unique<device::stage::LinkMemory>();
    made.executor = std::make_unique<Increment>(port == 2 ? options_.refuses : -1);
    made.counters = std::make_unique<device::stage::StageCounters>();
    made.stage =
        std::make_unique<device::stage::Stage>(*made.link, port, *made.executor, *made.counters);
    runner->Attach(port, made.link.get());
  }

  engine::chain::Graph graph_;
  RigOptions options_;
  std::unique_ptr<device::stage::LinkMemory> nic_link_ =
      std::make_unique<device::stage::LinkMemory>();
  std::unique_ptr<device::stage::LinkMemory> cpu_link_ =
      std::make_unique<device::stage::LinkMemory>();
};

}  // namespace sluice::chain_app::test
