// SPDX-License-Identifier: BSD-3-Clause
#include "generator.h"

#include <rte_cycles.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

namespace sluice::pktgen {

using engine::pktgen::kNever;
using engine::pktgen::StreamResult;
using engine::pktgen::Traffic;
using engine::pktgen::Trial;

std::unique_ptr<Generator> Generator::Make(const Settings& settings, uint32_t workers,
                                           uint64_t line_bps, uint64_t hz, std::string* error) {
  std::unique_ptr<Generator> generator(new Generator(settings, hz));
  generator->traffic_ = Traffic::Make(settings.streams,
                                      {.workers = workers,
                                       .line_bps = line_bps,
                                       .end_ps = settings.end_ps,
                                       .run = static_cast<uint16_t>(std::random_device()())},
                                      error);
  if (generator->traffic_ == nullptr) return nullptr;
  generator->trial_ = std::make_unique<Trial>(*generator->traffic_, settings.trial);
  generator->states_ = std::vector<WorkerState>(workers);
  return generator;
}

bool Generator::Over(uint64_t now_cycles) const {
  const uint64_t start = start_cycles();
  if (start == 0) return false;
  // A port that takes nothing must not keep the run from its end.
  const uint64_t end_ps = traffic_->end_ps();
  if (end_ps < kNever - settings_.trial.patience_ps &&
      clock_.Ps(now_cycles - start) > end_ps + settings_.trial.patience_ps) {
    return true;
  }
  return std::ranges::all_of(states_, [](const WorkerState& state) {
    return state.over.load(std::memory_order_acquire);
  });
}

void Generator::Settle() {
  sending_ps_ = std::min(clock_.Ps(rte_rdtsc() - start_cycles()), traffic_->end_ps());
  stopping_.store(true, std::memory_order_relaxed);
  constexpr double kQuietS = 0.02;  // As long as everything is back.
  const auto now = [] { return std::chrono::steady_clock::now(); };
  auto moved = now();
  uint64_t came = 0;
  for (;;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const engine::pktgen::TrialResult result = trial_->Result(false);
    uint64_t all = result.others;
    for (const StreamResult& stream : result.streams) {
      all += stream.received + stream.corrupted + stream.duplicated + stream.late + stream.sent;
    }
    if (all != came) moved = now();
    came = all;
    const double quiet_s = std::chrono::duration<double>(now() - moved).count();
    if (quiet_s > (trial_->Outstanding() > 0 ? std::max(settings_.settle_s, kQuietS) : kQuietS)) {
      return;
    }
  }
}

void Generator::Finish() {
  uint64_t taken_back = 0;
  for (const WorkerState& state : states_) {
    if (state.queue == nullptr) continue;
    taken_back += nic::QueueCounters::Load(state.queue->tx_full) +
                  nic::QueueCounters::Load(state.queue->tx_unframeable);
  }
  result_ = trial_->Result(true, taken_back);
}

}  // namespace sluice::pktgen
