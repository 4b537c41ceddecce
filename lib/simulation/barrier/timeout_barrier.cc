// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <vector>

#include "bar/window.h"
#include "simulation/barrier/run.h"

namespace sluice::simulation {
namespace {

// Word 0 of a line: the round, and one of these words.
enum Word : uint64_t { kNone, kArrived, kGaveUp, kCommitted, kAborted };
constexpr uint64_t WordOf(uint64_t round, Word word) { return round << 8 | word; }

class TimeoutBarrier final : public BarrierRun {
 public:
  explicit TimeoutBarrier(const BarrierParameters& parameters)
      : BarrierRun(parameters), waiting_(parameters.parties) {}

 private:
  void Arrive(uint32_t party) override {
    waiting_[party] = true;
    if (party == 0) return Collect();
    Post(party, kArrived);
    StartTimer(party);
  }

  void Hear(uint32_t party) override {
    if (party == 0) return Collect();
    if (!waiting_[party]) return;
    bar::Line line;
    if (!pair_.host(party - 1).Poll(party - 1, line)) return;
    const uint64_t released = line.word[0] >> 8, round = parties_[party].round;
    if (released < round) return;
    // The release of an earlier round was overwritten, so the party has aborted that round.
    if (released > round) Believe(party, round, false);
    Believe(party, released, line.word[0] == WordOf(released, kCommitted));
    waiting_[party] = false;
    Begin(party, released + 1);
  }

  void Resume(uint32_t party) override {
    if (party == 0) {
      timed_round_ = 0;  // Lets the collector's timer start again.
      if (!waiting_[0]) Begin(0, parties_[0].round);
      return Collect();
    }
    if (!waiting_[party]) return Begin(party, parties_[party].round);
    StartTimer(party);
    Hear(party);
  }

  // A party other than the collector waits at most the time-out after its arrival.
  void StartTimer(uint32_t party) {
    const uint64_t round = parties_[party].round;
    When(party, CpuOf(party).now() + parameters_.timeout, [this, party, round] {
      Hear(party);  // A message that has already arrived counts.
      if (!waiting_[party] || parties_[party].round != round) return;
      Post(party, kGaveUp);
      Believe(party, round, false);
      waiting_[party] = false;
      Begin(party, round + 1);
    });
  }

  // Reads all arrivals of the open round. The first arrival starts the timer.
  void Collect() {
    const uint64_t round = parties_[0].round;
    if (round > parameters_.rounds) return;
    uint32_t arrived = waiting_[0];
    bool given_up = false;
    for (uint32_t i = 0; i + 1 < parameters_.parties; ++i) {
      const uint64_t word = pair_.nic().Peek(i);
      arrived += word == WordOf(round, kArrived);
      given_up |= word == WordOf(round, kGaveUp) || word >> 8 > round;
    }
    if (given_up || arrived == parameters_.parties) return Release(!given_up);
    if (arrived == 0 || timed_round_ == round) return;
    timed_round_ = round;
    When(0, CpuOf(0).now() + parameters_.timeout, [this, round] {
      if (parties_[0].round != round) return;
      Collect();
      if (parties_[0].round == round) Release(false);
    });
  }

  void Release(bool committed) {
    const uint64_t round = parties_[0].round;
    for (uint32_t party = 1; party < parameters_.parties; ++party) {
      bar::Line line;
      line.word[0] = WordOf(round, committed ? kCommitted : kAborted);
      pair_.nic().Post(party - 1, line);
    }
    Believe(0, round, committed);
    waiting_[0] = false;
    ++parties_[0].life;  // Cancels the collector's work for an aborted round.
    Begin(0, round + 1);
  }

  void Post(uint32_t party, Word word) {
    bar::Line line;
    line.word[0] = WordOf(parties_[party].round, word);
    pair_.host(party - 1).Post(party - 1, line);
  }

  std::vector<bool> waiting_;  ///< The party has arrived but does not know the outcome.
  uint64_t timed_round_ = 0;   ///< The round for which the collector's timer is running.
};

}  // namespace

std::unique_ptr<BarrierRun> MakeTimeoutBarrier(const BarrierParameters& parameters) {
  return std::make_unique<TimeoutBarrier>(parameters);
}

}  // namespace sluice::simulation
