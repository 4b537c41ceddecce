// SPDX-License-Identifier: BSD-3-Clause
#include "round.h"

#include <rte_cycles.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "runtime/still_time.h"

namespace sluice::pktgen {

using engine::pktgen::kNever;
using engine::pktgen::StreamResult;
using engine::pktgen::Traffic;
using engine::pktgen::Trial;

std::unique_ptr<Round> Round::Make(const Settings& settings,
                                   const std::vector<engine::pktgen::StreamSpec>& streams,
                                   const engine::pktgen::TrafficOptions& options,
                                   const Clock& clock, std::string* error) {
  std::unique_ptr<Round> round(new Round(settings, clock));
  round->traffic_ = Traffic::Make(streams, options, error);
  if (round->traffic_ == nullptr) return nullptr;
  round->trial_ = std::make_unique<Trial>(*round->traffic_, settings.trial);
  round->states_ = std::vector<WorkerState>(options.workers);
  return round;
}

bool Round::Over(uint64_t now_cycles) const {
  const uint64_t start = start_cycles();
  if (start == 0) return false;
  // Ends the run even if a port accepts no frames.
  const uint64_t end_ps = traffic_->end_ps();
  if (end_ps < kNever - settings_.trial.patience_ps &&
      clock_.Ps(now_cycles - start) > end_ps + settings_.trial.patience_ps) {
    return true;
  }
  return WorkersAreOver();
}

bool Round::WorkersAreOver() const {
  return std::ranges::all_of(
      states_, [](const WorkerState& state) { return state.over.load(std::memory_order_acquire); });
}

uint64_t Round::paused_ps() const {
  uint64_t sum = 0;
  for (const WorkerState& state : states_) sum += state.paused_ps.load(std::memory_order_relaxed);
  return sum / states_.size();
}

void Round::Settle() {
  constexpr auto kLook = std::chrono::milliseconds(1);
  const uint64_t now_ps = clock_.Ps(rte_rdtsc() - start_cycles());
  stop_ps_.store(WorkersAreOver() ? trial_->DuePs() : std::min(now_ps, traffic_->end_ps()),
                 std::memory_order_relaxed);
  // A worker whose thread was descheduled either sends when it runs again, or counts its frames as
  // unsent.
  while (!WorkersAreOver()) std::this_thread::sleep_for(kLook);
  // Minimum time without a frame; sufficient if no frames are missing.
  constexpr double kQuietS = 0.02;
  const auto now_s = [] {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
  };
  runtime::StillTime still(now_s());
  uint64_t came = 0;
  for (;;) {
    std::this_thread::sleep_for(kLook);
    const engine::pktgen::TrialResult result = trial_->Result(false);
    uint64_t all = result.others;
    for (const StreamResult& stream : result.streams) {
      all += stream.received + stream.corrupted + stream.duplicated + stream.late + stream.sent;
    }
    const double quiet_s = still.Look(std::exchange(came, all) != all, now_s());
    if (quiet_s > (trial_->Outstanding() > 0 ? std::max(settings_.settle_s, kQuietS) : kQuietS)) {
      return;
    }
  }
}

}  // namespace sluice::pktgen
