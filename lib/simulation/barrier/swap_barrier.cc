// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <optional>
#include <vector>

#include "simulation/barrier/run.h"
#include "swap/group.h"
#include "swap/port.h"

namespace sluice::simulation {
namespace {

constexpr uint16_t kEpoch = 1;
/// How often a party without a link retries.
constexpr fabric::Picoseconds kLookAgain = 1'000'000;

class SwapBarrier final : public BarrierRun {
 public:
  explicit SwapBarrier(const BarrierParameters& parameters)
      : BarrierRun(parameters),
        keeper_(swap::kKeeper, parameters.parties - 1, kEpoch, 1),
        heard_(parameters.parties - 1) {
    for (uint32_t i = 0; i < heard_.size(); ++i) {
      ports_.push_back(
          std::make_unique<Port>(pair_.host(i), i, swap::Initiator(swap::kTwoMessage, kEpoch, 1)));
      PostLine(i);
    }
  }

 private:
  using Port = swap::InitiatorPort<fabric::HostEnd>;
  struct Heard {
    uint64_t word0 = 0;
    swap::Message line;
  };

  void Arrive(uint32_t party) override {
    if (party == 0) {
      ready_ = true;
      return Serve();
    }
    Port& port = *ports_[party - 1];
    if (port.end().CanOffer()) return port.MakeOffer(swap::JoinRound(parties_[party].round, {}));
    Hear(party);
    When(party, CpuOf(party).now() + kLookAgain, [this, party] { Arrive(party); });
  }

  void Hear(uint32_t party) override {
    if (party == 0) return Serve();
    const auto result = ports_[party - 1]->Poll();
    if (!result) return;
    Believe(party, result->key, result->outcome == swap::Outcome::kCommitted);
    Begin(party, result->key + 1);
  }

  void Resume(uint32_t party) override {
    if (party == 0) {
      std::vector<swap::Message> lines;
      for (size_t i = 0; i < heard_.size(); ++i) lines.push_back(keeper_.line(i));
      keeper_ = swap::Keeper::Resume(swap::kKeeper, kEpoch, keeper_.record(), lines);
      heard_.assign(heard_.size(), {});
      ready_ = false;
      Begin(0, keeper_.record().round.number + 1);
      return Serve();
    }
    std::unique_ptr<Port>& port = ports_[party - 1];
    const swap::Message line = port->end().line();
    port = std::make_unique<Port>(pair_.host(party - 1), party - 1,
                                  swap::Initiator::Resume(swap::kTwoMessage, kEpoch, line));
    if (!port->end().Unresolved()) Begin(party, parties_[party].round);
    Hear(party);
  }

  // Reads all lines until nothing changes, because a decision or the end of a round concerns all
  // members.
  void Serve() {
    std::optional<swap::KeeperState> before;
    while (before != keeper_.state()) {
      const bool again = before.has_value();
      before = keeper_.state();
      if (ready_ && before == swap::KeeperState::kApart) {
        ready_ = false;
        Decide(keeper_.Join({}));
      }
      for (uint32_t i = 0; i < heard_.size(); ++i) ServeMember(i, again);
    }
  }

  void ServeMember(uint32_t i, bool again) {
    Heard& heard = heard_[i];
    const uint64_t word0 = pair_.nic().Peek(i);
    if (word0 == heard.word0 && !again) return;
    if (word0 != heard.word0) {
      bar::Line line;
      if (!pair_.nic().Poll(i, line)) return;
      heard = {word0, swap::Decode(line)};
    }
    // If an end has just learned its peer's incarnation from this line, it can now process the
    // line.
    for (int binding = -1; binding != keeper_.identity(i).binding;) {
      binding = keeper_.identity(i).binding;
      Decide(keeper_.Hear(i, heard.line));
    }
    PostLine(i);
  }

  // The record is in memory that survives a kill, as is keeper_.record() in this run.
  void Decide(const std::optional<swap::Round>& round) {
    if (!round) return;
    keeper_.ConsumeRecord();
    Believe(0, round->number, round->committed);
    Begin(0, round->number + 1);
  }

  void PostLine(uint32_t i) {
    if (keeper_.ConsumeUpdate(i)) pair_.nic().Post(i, swap::Encode(keeper_.line(i)));
  }

  swap::Keeper keeper_;
  bool ready_ = false;  ///< The keeper has finished its work but has not joined the round.
  std::vector<Heard> heard_;
  std::vector<std::unique_ptr<Port>> ports_;
};

}  // namespace

std::unique_ptr<BarrierRun> MakeSwapBarrier(const BarrierParameters& parameters) {
  return std::make_unique<SwapBarrier>(parameters);
}

}  // namespace sluice::simulation
