// SPDX-License-Identifier: BSD-3-Clause
//
// Tests a hostile peer: each of its lines may be modified, copied from another line or an old line,
// or random. The honest end must not crash, must deliver only items that a line contained, must end
// each commit at most once, and must count invalid lines.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "rig.h"

namespace sluice::offload {
namespace {

using bar::Line;
using bar::ShmWindow;
using Words = std::array<uint64_t, 5>;

/// A window that sometimes modifies posted lines and records every posted line.
class CorruptingWindow {
 public:
  CorruptingWindow(ShmWindow window, uint64_t seed) : window_(std::move(window)), random_(seed) {}

  uint32_t lines() const { return window_.lines(); }
  uint32_t capabilities() const { return window_.capabilities(); }
  void Post(uint32_t index, const Line& line) {
    Line posted = line;
    if (random_() % 16 == 0) Bend(posted);
    PostAsItIs(index, posted);
  }
  uint64_t Peek(uint32_t index) { return window_.Peek(index); }
  bool Poll(uint32_t index, Line& out) { return window_.Poll(index, out); }
  uint64_t ReadUncached(uint32_t index, uint32_t word) { return window_.ReadUncached(index, word); }
  void Flush() {}
  void Interrupt(uint32_t) {}

  /// Posts an arbitrary line to an arbitrary index.
  void PostAnything() {
    const auto index = static_cast<uint32_t>(random_() % lines());
    Line line;
    if (random_() % 8 != 0 && !posted_.empty()) {
      line = posted_[random_() % posted_.size()];
      if (random_() % 2 == 0) Bend(line);
    } else {
      for (uint64_t& word : line.word) word = random_() % 4 == 0 ? ~uint64_t{0} : random_();
    }
    PostAsItIs(index, line);
  }
  /// Returns whether a posted line contained `item`.
  bool WasPosted(const Item& item) const { return said_.contains(item.word); }

 private:
  void Bend(Line& line) {
    const uint64_t times = 1 + random_() % 3;
    for (uint64_t i = 0; i < times; ++i) {
      uint64_t& word = line.word[random_() % line.word.size()];
      switch (random_() % 4) {
        case 0:
          word ^= uint64_t{1} << random_() % 64;
          break;
        case 1:
          word += random_() % 3 - 1;
          break;
        case 2:
          word = random_();
          break;
        default:
          word ^= (random_() % 12) << 32;  // Phases of slots.
          word ^= (random_() % 12) << 48;  // Phases of swaps.
          break;
      }
    }
  }
  void PostAsItIs(uint32_t index, const Line& line) {
    for (const uint32_t from : {1, 2}) {
      Words words;
      std::copy_n(line.word.begin() + from, words.size(), words.begin());
      said_.insert(words);
    }
    if (posted_.size() < 4096) {
      posted_.push_back(line);
    } else {
      posted_[random_() % posted_.size()] = line;
    }
    window_.Post(index, line);
  }

  ShmWindow window_;
  std::mt19937_64 random_;
  std::vector<Line> posted_;
  std::set<Words> said_;
};

constexpr uint32_t kSteps = 100'000;

template <typename C>
class HostilePeer : public testing::Test {
 protected:
  void SetUp() override {
    window_ = ShmWindow::Create(layout_.LinesNeeded(), bar::WindowSide::kHost);
  }

  typename C::Layout layout_ = C::MakeLayout(2, 4);
  ShmWindow window_;
  std::mt19937_64 random_{3};
};
using Channels = testing::Types<WaveChannel, SwapChannel, OfferChannel>;
TYPED_TEST_SUITE(HostilePeer, Channels);

TYPED_TEST(HostilePeer, AnAgentThatWritesAnythingMakesTheHostEnforceOnlyWhatALineSaid) {
  using Host = typename TypeParam::template Host<ShmWindow>;
  using Nic = typename TypeParam::template Nic<CorruptingWindow>;
  CorruptingWindow corrupting(this->window_.Peer(), 11);
  auto& random = this->random_;
  Host host(this->window_, this->layout_, 1);
  uint32_t incarnation = 1;
  auto nic = std::make_unique<Nic>(corrupting, this->layout_, incarnation);
  uint64_t faults = 0, restarts = 0, enforced = 0, number = 0;
  Item out;
  for (uint32_t step = 0; step < kSteps; ++step) {
    const Slot slot = random() % 2;
    TestJudge judge;
    judge.ruling = static_cast<Ruling>(random() % 3);
    switch (random() % 8) {
      case 0:
        if (random() % 4 == 0) corrupting.PostAnything();
        break;
      case 1:
        if (nic->CanCommit(slot)) {
          nic->Commit(slot, Numbered(++number), static_cast<Urgency>(random() % 2));
        }
        if (random() % 4 == 0) nic->Recall(slot);
        break;
      case 2:
        nic->Receive(out);
        nic->PollLoss();
        break;
      case 3: {
        Decided how;
        nic->PollOutcome(slot, out, how);
        break;
      }
      case 4:
        restarts += host.PollRestart();
        break;
      case 5:
        if (random() % 2 == 0) {
          host.Send(Numbered(step));
        } else {
          host.Ask(slot, Numbered(step));
        }
        ASSERT_LE(host.room(), 4u);
        break;
      case 6:
        ASSERT_TRUE(!host.Look(slot, out) || corrupting.WasPosted(out));
        break;
      default:
        host.Decide(slot, judge);
        ASSERT_LE(judge.applied.size(), 1u);
        ASSERT_TRUE(judge.applied.empty() || judge.ruling == Ruling::kEnforce);
        for (const Item& item : judge.applied) ASSERT_TRUE(corrupting.WasPosted(item));
        enforced += judge.applied.size();
        break;
    }
    ASSERT_GE(host.faults(), faults);
    faults = host.faults();
    // Replaces an agent that may have broken a link.
    if (step % 500 == 499) {
      nic.reset();
      nic = std::make_unique<Nic>(corrupting, this->layout_, ++incarnation);
    }
  }
  EXPECT_GT(faults, 0u);
  EXPECT_GT(restarts, 10u);
  EXPECT_GT(enforced, 100u);
}

TYPED_TEST(HostilePeer, AHostThatWritesAnythingMakesTheAgentHearOnlyWhatALineSaid) {
  using Host = typename TypeParam::template Host<CorruptingWindow>;
  using Nic = typename TypeParam::template Nic<ShmWindow>;
  CorruptingWindow corrupting(this->window_, 12);
  ShmWindow nic_window = this->window_.Peer();
  auto& random = this->random_;
  Nic nic(nic_window, this->layout_, 1);
  uint32_t incarnation = 1;
  auto host = std::make_unique<Host>(corrupting, this->layout_, incarnation);
  uint64_t faults = 0, heard = 0, outcomes = 0, losses = 0, committed = 0;
  std::array<uint64_t, 2> open{};
  Item out;
  for (uint32_t step = 0; step < kSteps; ++step) {
    const Slot slot = random() % 2;
    switch (random() % 8) {
      case 0:
        if (random() % 4 == 0) corrupting.PostAnything();
        break;
      case 1:
        if (!nic.CanCommit(slot)) break;
        nic.Commit(slot, Numbered(++committed), static_cast<Urgency>(random() % 2));
        open[slot] = 1;
        break;
      case 2:
        if (random() % 2 == 0) nic.Recall(slot);
        break;
      case 3:
        if (!nic.Receive(out)) break;
        ASSERT_TRUE(corrupting.WasPosted(out));
        ++heard;
        break;
      case 4: {
        Decided how = Decided::kNone;
        losses += nic.PollLoss();
        if (!nic.PollOutcome(slot, out, how)) break;
        ASSERT_EQ(open[slot], 1u) << "an outcome of nothing";
        ASSERT_NE(how, Decided::kNone);
        ASSERT_TRUE(corrupting.WasPosted(out));
        open[slot] = 0;
        ++outcomes;
        break;
      }
      case 5:
        host->PollRestart();
        break;
      case 6:
        if (random() % 2 == 0) {
          host->Send(Numbered(step));
        } else {
          host->Ask(slot, Numbered(step));
        }
        break;
      default: {
        TestJudge judge;
        judge.ruling = static_cast<Ruling>(random() % 3);
        host->Decide(slot, judge);
        break;
      }
    }
    ASSERT_GE(nic.faults(), faults);
    faults = nic.faults();
    if (step % 500 == 499) {
      host.reset();
      host = std::make_unique<Host>(corrupting, this->layout_, ++incarnation);
    }
  }
  EXPECT_GT(faults, 0u);
  EXPECT_GT(heard, 100u);
  EXPECT_GT(outcomes, 100u);
  EXPECT_GT(losses, 10u);
}

}  // namespace
}  // namespace sluice::offload
