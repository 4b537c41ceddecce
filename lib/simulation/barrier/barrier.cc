// SPDX-License-Identifier: BSD-3-Clause
//
// Simulates the parties of a barrier and their faults, and counts what the parties believe.
// swap_barrier.cc and timeout_barrier.cc contain the protocols.
#include "simulation/barrier/barrier.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "simulation/barrier/run.h"

namespace sluice::simulation {

using fabric::Picoseconds;

Picoseconds Pauses::Length(double uniform) const {
  const double length = static_cast<double>(shortest) * std::pow(1 - uniform, -1 / exponent);
  return static_cast<Picoseconds>(std::min(length, static_cast<double>(longest)));
}

double Pauses::PerSecondAbove(Picoseconds window) const {
  if (window >= longest) return 0;
  if (window <= shortest) return per_second;
  return per_second *
         std::pow(static_cast<double>(shortest) / static_cast<double>(window), exponent);
}

BarrierRun::BarrierRun(const BarrierParameters& parameters)
    : parameters_(parameters),
      pair_(queue_, {.lines = parameters.parties - 1,
                     .seed = parameters.seed,
                     .link = parameters.link,
                     .costs = parameters.costs}),
      parties_(parameters.parties),
      rounds_(parameters.rounds + 1) {
  for (uint32_t party = 0; party < parameters.parties; ++party) {
    parties_[party].random = Random(parameters.seed * 4096 + party);
    if (party > 1) pair_.AddHost();
    if (party > 0) pair_.AssignLine(party - 1, party - 1);
    CpuOf(party).OnArrival([this, party] {
      if (!stopped_ && !parties_[party].dead) Hear(party);
    });
  }
}

BarrierResults BarrierRun::Run() {
  for (uint32_t party = 0; party < parameters_.parties; ++party) {
    AddFaults(party, false, parameters_.pauses.per_second);
    AddFaults(party, true, parameters_.kills_per_second);
  }
  for (uint32_t i = 0; i < faults_.size(); ++i) ScheduleFault(i);
  for (uint32_t party = 0; party < parameters_.parties; ++party) Begin(party, 1);
  while (finished_ < parameters_.parties) {
    if (!queue_.Step())
      throw std::runtime_error("deadlock: the parties of a barrier wait for each other");
  }
  results_.elapsed = ended_;
  stopped_ = true;
  queue_.Run();
  for (uint32_t number = 1; number <= parameters_.rounds; ++number) {
    const uint32_t commits = rounds_[number].commits;
    ++(commits == parameters_.parties ? results_.committed
       : commits == 0                 ? results_.lost
                                      : results_.split);
  }
  std::sort(results_.times.begin(), results_.times.end());
  return std::move(results_);
}

// A party's faults do not depend on the protocol, because they have their own random numbers.
void BarrierRun::AddFaults(uint32_t party, bool kills, double per_second) {
  if (per_second <= 0) return;
  const uint64_t seed = parameters_.seed * 65536 + 2 * party + kills;
  faults_.push_back({Random(seed), static_cast<Picoseconds>(1e12 / per_second), party, kills});
}

void BarrierRun::ScheduleFault(uint32_t index) {
  Faults& faults = faults_[index];
  queue_.After(faults.random.Exponential(faults.mean), [this, index, &faults] {
    if (stopped_) return;
    if (faults.kills) {
      Kill(faults.party);
    } else {
      ++results_.pauses;
      CpuOf(faults.party).Compute(parameters_.pauses.Length(faults.random.Uniform()));
    }
    ScheduleFault(index);
  });
}

void BarrierRun::Kill(uint32_t party) {
  Party& p = parties_[party];
  if (p.dead) return;
  ++results_.kills;
  p.dead = true;
  ++p.life;
  queue_.After(parameters_.restart, [this, party] {
    if (stopped_) return;
    parties_[party].dead = false;
    Resume(party);
  });
}

void BarrierRun::When(uint32_t party, Picoseconds time, std::function<void()> action) {
  queue_.At(time, [this, party, life = parties_[party].life, action = std::move(action)] {
    if (stopped_ || parties_[party].life != life) return;
    const Picoseconds free = CpuOf(party).now();
    if (free > queue_.now()) return When(party, free, action);
    action();
  });
}

void BarrierRun::Begin(uint32_t party, uint64_t round) {
  Party& p = parties_[party];
  p.round = round;
  if (round > parameters_.rounds) {
    if (!std::exchange(p.finished, true)) ++finished_;
    return;
  }
  const double length = static_cast<double>(parameters_.work) * (0.5 + p.random.Uniform());
  When(party, CpuOf(party).now() + static_cast<Picoseconds>(length),
       [this, party] { Arrive(party); });
}

void BarrierRun::Believe(uint32_t party, uint64_t number, bool committed) {
  Party& p = parties_[party];
  if (number <= p.believed || number > parameters_.rounds) return;
  p.believed = number;
  Round& round = rounds_[number];
  round.commits += committed;
  ++round.known;
  if (round.known < parameters_.parties) return;
  const Picoseconds now = std::max(CpuOf(party).now(), ended_);
  results_.times.push_back(now - ended_);
  ended_ = now;
}

BarrierResults RunBarrier(const BarrierParameters& parameters) {
  const auto run =
      parameters.timeout == 0 ? MakeSwapBarrier(parameters) : MakeTimeoutBarrier(parameters);
  return run->Run();
}

}  // namespace sluice::simulation
