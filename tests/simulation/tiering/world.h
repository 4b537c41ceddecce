// SPDX-License-Identifier: BSD-3-Clause
//
// A host and an agent over a channel in shared memory, both in the test's thread, and programs that
// access pages at given rates.
#pragma once

#include <cmath>
#include <cstddef>
#include <memory>
#include <random>
#include <vector>

#include "bar/shm_window.h"
#include "offload/swap_host.h"
#include "offload/swap_nic.h"
#include "offload/wave_host.h"
#include "offload/wave_nic.h"
#include "simulation/tiering/agent.h"
#include "simulation/tiering/host.h"

namespace sluice::simulation::tiering::test {

struct Wave {
  using Host = offload::WaveHost<bar::ShmWindow>;
  using Nic = offload::WaveNic<bar::ShmWindow>;
  static offload::WaveLayout Layout(uint32_t slots) { return {.slots = slots}; }
};
struct Swap {
  using Host = offload::SwapHost<bar::ShmWindow>;
  using Nic = offload::SwapNic<bar::ShmWindow>;
  static offload::SwapLayout Layout(uint32_t slots) { return {.slots = slots, .asks = false}; }
};

/// The host's end and, after StartAgent(), an agent. Before StartAgent(), the test itself acts as
/// the agent through `nic`.
template <typename C>
struct World {
  static constexpr uint32_t kUpBytes = kMaxElements * sizeof(Element);

  World(uint32_t pages, uint32_t fast_capacity, LearnerOptions learner_options = {})
      : learner(learner_options), table(pages, fast_capacity) {
    Connect();
  }

  /// Creates a new agent's end. The previous one must have been destroyed.
  void Connect() { nic = std::make_unique<typename C::Nic>(nic_window, layout, ++incarnation); }
  void StartAgent() {
    agent = std::make_unique<Agent<typename C::Nic>>(
        *nic, Down(), Up(), AgentOptions{.slots = options.slots, .learner = learner});
  }
  void KillAgent() {
    agent.reset();
    nic.reset();
  }

  Bulk Down() { return {down, kDownBytes}; }
  Bulk Up() { return {up, kUpBytes}; }

  /// Runs one tick of the host, and then both ends at most 32 times, until they are idle.
  void Tick() {
    host.Tick();
    Exchange();
  }
  void Exchange() {
    for (int i = 0; i < 32; ++i) {
      const uint32_t heard = agent != nullptr ? agent->Step() : 0;
      if (heard + host.Poll() == 0 && i > 4) return;
    }
  }

  static constexpr uint32_t kDownBytes = 4096;
  HostOptions options;
  LearnerOptions learner;
  decltype(C::Layout(1)) layout = C::Layout(options.slots);
  bar::ShmWindow host_window = bar::ShmWindow::Create(layout.LinesNeeded(), bar::WindowSide::kHost);
  bar::ShmWindow nic_window = host_window.Peer();
  typename C::Host host_channel{host_window, layout, 1};
  std::unique_ptr<typename C::Nic> nic;
  std::vector<std::byte> down = std::vector<std::byte>(16 * kDownBytes);
  std::vector<std::byte> up = std::vector<std::byte>(options.slots * kUpBytes);
  PageTable table;
  TieringHost<typename C::Host> host{table, host_channel, Down(), Up(), options};
  std::unique_ptr<Agent<typename C::Nic>> agent;
  uint32_t incarnation = 0;
};

/// Programs that access each page at random times, at the rate that is set for the page, in
/// accesses per tick.
class Programs {
 public:
  explicit Programs(uint32_t pages, uint64_t seed = 1) : rates_(pages), random_(seed) {}

  void Set(Vpn first, uint32_t count, double rate) {
    for (Vpn page = first; page != first + count; ++page) rates_[page] = rate;
  }
  void RunTick(PageTable& table) {
    for (Vpn page = 0; page != rates_.size(); ++page) {
      if (rates_[page] == 0) continue;
      // Draws a Poisson number from inter-arrival times, because the rates are small.
      uint32_t times = 0;
      for (double t = gap_(random_); t < rates_[page]; t += gap_(random_)) ++times;
      if (times != 0) table.Touch(page, times);
    }
  }

 private:
  std::vector<double> rates_;
  std::mt19937_64 random_;
  std::exponential_distribution<double> gap_{1};
};

}  // namespace sluice::simulation::tiering::test
