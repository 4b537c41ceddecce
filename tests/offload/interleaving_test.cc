// SPDX-License-Identifier: BSD-3-Clause
//
// Explores commit, recall and ruling in every order, with one slot, some decisions, an ask, and an
// agent that is replaced. The two ends are the production code. Their posts stay in flight, in
// order, until separate steps deliver them as words, halves or lines. After each step, a decision
// must have been enforced at most once, and the agent's outcomes must match the host's actions. At
// the end of every path, each decision of the living agent must have ended, and the agent must have
// its outcome.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "bar/window.h"
#include "offload/swap_host.h"
#include "offload/swap_nic.h"
#include "offload/wave_host.h"
#include "offload/wave_nic.h"

namespace sluice::offload {
namespace {

using bar::Line;

constexpr uint32_t kLines = 4;

/// One word of a post.
struct Store {
  uint16_t index;
  uint16_t word;
  uint64_t value;
};

/// Units of delivery: single words, word 0 last; words 1 to 7 followed by word 0; or the complete
/// line.
enum class Pieces : uint8_t { kWords, kHalves, kWhole };

/// One direction: the reader's view and the stores in flight.
struct Direction {
  std::array<Line, kLines> lines{};
  std::deque<Store> under_way;

  void Arrive(Pieces pieces) {
    uint16_t word;
    do {
      word = under_way.front().word;
      lines[under_way.front().index].word[word] = under_way.front().value;
      under_way.pop_front();
    } while (pieces != Pieces::kWords && word != 0 && (word != 7 || pieces == Pieces::kWhole));
  }
};

/// The last lines that an end read from its peer. Together with its last posts and the records
/// below, they form the end's state: a read that finds no changes and does not lead to a post
/// leaves it unchanged.
struct EndState {
  std::array<Line, kLines> seen{};
  bool changed = false;

  void Saw(uint32_t index, const Line& line, uint32_t words) {
    for (uint32_t i = 0; i < words; ++i) {
      changed = changed || seen[index].word[i] != line.word[i];
      seen[index].word[i] = line.word[i];
    }
  }
};

struct World {
  std::array<Direction, 2> directions;  ///< Indexed by direction: down, up.
  std::array<EndState, 2> trails;       ///< Indexed by end: host, agent.
};

/// The world that the ends currently use. It is copied together with the ends.
World* current = nullptr;

template <bar::WindowSide kSide>
struct End {
  static constexpr auto kOwn = static_cast<size_t>(kSide);
  static constexpr size_t kOther = 1 - kOwn;

  uint32_t lines() const { return kLines; }
  uint32_t capabilities() const { return bar::kWindowLineAtomic | bar::kWindowNicStoresHost; }
  void Post(uint32_t index, const Line& line) {
    current->trails[kOwn].changed = true;
    for (const uint16_t word : {1, 2, 3, 4, 5, 6, 7, 0}) {  // As in bar::PublishLine.
      current->directions[kOwn].under_way.push_back(
          {static_cast<uint16_t>(index), word, line.word[word]});
    }
  }
  uint64_t Peek(uint32_t index) {
    const Line& line = current->directions[kOther].lines[index];
    current->trails[kOwn].Saw(index, line, 1);
    return line.word[0];
  }
  bool Poll(uint32_t index, Line& out) {
    out = current->directions[kOther].lines[index];
    current->trails[kOwn].Saw(index, out, 8);
    return true;
  }
  uint64_t ReadUncached(uint32_t index, uint32_t word) {
    return current->directions[kOther].lines[index].word[word];
  }
  void Flush() {}
  void Interrupt(uint32_t) {}
};
using HostWindow = End<bar::WindowSide::kHost>;
using NicWindow = End<bar::WindowSide::kNic>;
HostWindow host_window;
NicWindow nic_window;
static_assert(bar::WindowEnd<HostWindow> && bar::WindowEnd<NicWindow>);

constexpr uint32_t kDecisions = 3;  // Maximum number of decisions per run.

struct Record {
  uint8_t enforced = 0;  ///< Number of enforcements.
  uint8_t refused = 0;
  uint8_t told_enforced = 0;
  uint8_t told_refused = 0;
  bool recalled = false;
};

struct Ruler {
  Ruling Check(Slot, const Item& decision, Item& outcome) {
    number = decision.word[0];
    outcome = decision;
    return ruling;
  }
  void Apply(Slot, const Item& decision) { applied = decision.word[0]; }
  Ruling ruling;
  uint64_t number = 0;
  uint64_t applied = 0;
};

template <typename Host, typename Nic>
struct State {
  World world;
  Host host;
  Nic nic;
  uint32_t asks = 0;
  uint32_t received = 0;
  uint32_t committed = 0;
  /// Number of decisions committed by an agent that has been replaced.
  uint32_t void_decisions = 0;
  bool replaced = false;
  std::array<Record, kDecisions + 1> records{};
};

enum class Step : uint8_t {
  kArriveDown,
  kArriveUp,
  kEnforce,
  kRefuse,
  kLater,
  kAsk,
  kReceive,
  kCommitStaged,
  kCommitNow,
  kRecall,
  kPollOutcome,
  kPollRestart,
  kPollLoss,
  kReplace,
};
constexpr uint32_t kSteps = 14;

/// Limits of a run.
struct Bounds {
  uint32_t decisions;
  uint32_t asks;
  bool replace;
  Pieces pieces;
};

template <typename Host, typename Nic, typename Layout>
class Exploration {
 public:
  using S = State<Host, Nic>;

  Exploration(const Layout& layout, const Bounds& bounds) : layout_(layout), bounds_(bounds) {}

  void Explore(S start) {
    stack_.push_back(std::move(start));
    while (!stack_.empty() && !testing::Test::HasFailure()) {
      const S state = std::move(stack_.back());
      stack_.pop_back();
      bool moved = false;
      for (uint32_t step = 0; step < kSteps; ++step) {
        S next = state;
        if (!Apply(next, static_cast<Step>(step))) continue;
        moved = true;
        Judge(next);
        if (visited_.insert(Digest(Key(next))).second) stack_.push_back(std::move(next));
      }
      if (!moved) JudgeEnd(state);
    }
  }
  size_t states() const { return visited_.size(); }
  size_t ends() const { return ends_; }
  size_t too_late() const { return too_late_; }
  size_t in_time() const { return in_time_; }

 private:
  /// Returns false if the step has no effect.
  bool Apply(S& s, Step step) const {
    current = &s.world;
    for (EndState& trail : s.world.trails) trail.changed = false;
    EndState& host = s.world.trails[0];
    EndState& nic = s.world.trails[1];
    Item out;
    switch (step) {
      case Step::kArriveDown:
      case Step::kArriveUp: {
        Direction& direction = s.world.directions[step == Step::kArriveUp];
        if (direction.under_way.empty()) return false;
        direction.Arrive(bounds_.pieces);
        return true;
      }
      case Step::kEnforce:
      case Step::kRefuse:
      case Step::kLater: {
        Ruler ruler{static_cast<Ruling>(static_cast<uint32_t>(step) -
                                        static_cast<uint32_t>(Step::kEnforce))};
        const Decided how = s.host.Decide(0, ruler);
        if (how == Decided::kEnforced) ++s.records[ruler.applied].enforced;
        if (how == Decided::kRefused) ++s.records[ruler.number].refused;
        EXPECT_EQ(how == Decided::kEnforced, ruler.applied != 0);
        return host.changed;
      }
      case Step::kAsk:
        if (s.asks == bounds_.asks) return false;
        if (s.host.room() == 0) return host.changed;
        ++s.asks;
        EXPECT_TRUE(s.host.Ask(0, Item{{77}}));
        return true;
      case Step::kReceive: {
        const bool received = s.nic.Receive(out);
        s.received += received;
        EXPECT_TRUE(!received || out == Item{{77}});
        return nic.changed || received;
      }
      case Step::kCommitStaged:
      case Step::kCommitNow:
        if (s.committed == bounds_.decisions || !s.nic.CanCommit(0)) return false;
        s.nic.Commit(0, Item{{++s.committed, 5, 6, 7, 8}},
                     step == Step::kCommitNow ? Urgency::kInterrupt : Urgency::kPrestaged);
        return true;
      case Step::kRecall:
        if (s.committed == 0 || !s.nic.Recall(0)) return false;
        s.records[s.committed].recalled = true;
        return true;
      case Step::kPollOutcome: {
        Decided how = Decided::kNone;
        const bool told = s.nic.PollOutcome(0, out, how);
        if (told) {
          EXPECT_EQ(out, (Item{{s.committed, 5, 6, 7, 8}}));
          Record& record = s.records[s.committed];
          ++(how == Decided::kEnforced ? record.told_enforced : record.told_refused);
        }
        return nic.changed || told;
      }
      case Step::kPollRestart:
        s.host.PollRestart();
        return host.changed;
      case Step::kPollLoss:
        EXPECT_FALSE(s.nic.PollLoss());
        return nic.changed;
      case Step::kReplace:
        if (s.replaced || !bounds_.replace) return false;
        s.replaced = true;
        s.void_decisions = s.committed;
        nic = {};
        s.nic = Nic(nic_window, layout_, 2);
        return true;
    }
    return false;
  }

  static void Judge(const S& s) {
    EXPECT_EQ(s.records[0].enforced + s.records[0].refused, 0) << "of no decision";
    for (const Record& record : s.records) {
      ASSERT_LE(record.enforced + record.refused, 1);
      ASSERT_LE(record.told_enforced, record.enforced);
      ASSERT_LE(record.told_refused, record.refused);
    }
    ASSERT_EQ(s.host.faults() + s.nic.faults(), 0u);
    ASSERT_EQ(s.host.overflows(), 0u);
  }
  void JudgeEnd(const S& s) {
    ++ends_;
    ASSERT_EQ(s.committed, bounds_.decisions);
    for (uint32_t n = s.void_decisions + 1; n <= s.committed; ++n) {
      const Record& record = s.records[n];
      ASSERT_EQ(record.told_enforced + record.told_refused, 1) << "decision " << n;
      too_late_ += record.recalled && record.enforced != 0;
      in_time_ += record.recalled && record.refused != 0;
    }
  }

  static std::string Key(const S& s) {
    std::string key;
    const auto add = [&key](const auto& value) {
      key.append(reinterpret_cast<const char*>(&value), sizeof(value));
    };
    for (const Direction& direction : s.world.directions) {
      add(direction.lines);
      for (const Store& store : direction.under_way) {
        add(store.index);
        add(store.word);
        add(store.value);
      }
      key += '.';
    }
    for (const EndState& trail : s.world.trails) add(trail.seen);
    add(s.received);
    add(s.asks);
    add(s.committed);
    add(s.void_decisions);
    add(s.replaced);
    for (const Record& record : s.records) add(record);
    return key;
  }
  /// Two 64-bit hashes that represent a visited state.
  struct Digest {
    explicit Digest(const std::string& key)
        : low(std::hash<std::string>()(key)), high(std::hash<std::string>()(key + 'x')) {}
    friend bool operator==(const Digest&, const Digest&) = default;
    uint64_t low, high;
  };
  struct DigestHash {
    size_t operator()(const Digest& digest) const { return digest.low; }
  };

  Layout layout_;
  Bounds bounds_;
  std::vector<S> stack_;
  std::unordered_set<Digest, DigestHash> visited_;
  size_t ends_ = 0;
  size_t too_late_ = 0;
  size_t in_time_ = 0;
};

/// Returns a state with both ends connected and no stores in flight.
template <typename Host, typename Nic, typename Layout>
State<Host, Nic> Connected(const Layout& layout) {
  World world;
  current = &world;
  Host host(host_window, layout, 1);
  Nic nic(nic_window, layout, 1);
  const auto arrive = [&world] {
    for (Direction& direction : world.directions) {
      while (!direction.under_way.empty()) direction.Arrive(Pieces::kWhole);
    }
  };
  for (uint32_t round = 0; round < 10; ++round) {
    arrive();
    host.PollRestart();
    arrive();
    nic.PollLoss();
  }
  EXPECT_TRUE(nic.CanCommit(0));
  EXPECT_LE(layout.LinesNeeded(), kLines);
  return {world, host, nic};
}

template <typename Host, typename Nic, typename Layout>
void ExpectAgreement(const Layout& layout, const Bounds& bounds) {
  Exploration<Host, Nic, Layout> exploration(layout, bounds);
  exploration.Explore(Connected<Host, Nic>(layout));
  std::printf("%zu states, %zu ends, recalled in time %zu, too late %zu\n", exploration.states(),
              exploration.ends(), exploration.in_time(), exploration.too_late());
  EXPECT_GT(exploration.states(), 1000u);
  EXPECT_GT(exploration.in_time(), 0u);
  EXPECT_GT(exploration.too_late(), 0u);
}

using WaveEnds = std::pair<WaveHost<HostWindow>, WaveNic<NicWindow>>;
using SwapEnds = std::pair<SwapHost<HostWindow>, SwapNic<NicWindow>>;
template <typename Ends, typename Layout>
void ExpectEndsAgree(const Layout& layout, const Bounds& bounds) {
  ExpectAgreement<typename Ends::first_type, typename Ends::second_type>(layout, bounds);
}

TEST(InEveryOrder, HostAndAgentAgreeOverWaveQueues) {
  ExpectEndsAgree<WaveEnds>(WaveLayout{0, 1, 2}, {3, 0, false, Pieces::kWords});
}
TEST(InEveryOrder, HostAndAgentAgreeOverWaveQueuesThoughTheAgentIsReplaced) {
  ExpectEndsAgree<WaveEnds>(WaveLayout{0, 1, 2}, {2, 0, true, Pieces::kWords});
}
TEST(InEveryOrder, HostAndAgentAgreeOverSwaps) {
  ExpectEndsAgree<SwapEnds>(SwapLayout{0, 1, 1, true}, {3, 2, false, Pieces::kHalves});
}
TEST(InEveryOrder, HostAndAgentAgreeOverSwapsThoughTheAgentIsReplaced) {
  ExpectEndsAgree<SwapEnds>(SwapLayout{0, 1, 1, true}, {1, 1, true, Pieces::kWhole});
}
TEST(InEveryOrder, HostAndAgentAgreeOverOffers) {
  ExpectEndsAgree<SwapEnds>(SwapLayout{0, 1, 1, false}, {3, 0, false, Pieces::kHalves});
}
TEST(InEveryOrder, HostAndAgentAgreeOverOffersThoughTheAgentIsReplaced) {
  ExpectEndsAgree<SwapEnds>(SwapLayout{0, 1, 1, false}, {2, 0, true, Pieces::kHalves});
}

}  // namespace
}  // namespace sluice::offload
