// SPDX-License-Identifier: BSD-3-Clause
//
// Compares the counters of a trial with the faults that a device in virtual time injected into the
// frames.
#include "engine/pktgen/checker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <random>
#include <set>

#include "engine/echo/echo.h"
#include "engine/pktgen/trial.h"

namespace sluice::engine::pktgen {
namespace {

constexpr uint64_t kUs = 1'000'000;

/// Runs the trial in virtual time, for deterministic devices. `device` accepts frames with
/// Send(frame, length, now_ps). It returns them with Receive(now_ps, see), which calls see(frame,
/// length) for each frame that has arrived. Uses one worker. Polls every `step_ps` until
/// `settle_ps` after the last frame.
template <typename Device>
TrialResult RunVirtually(Trial& trial, Device& device, uint64_t step_ps, uint64_t settle_ps) {
  std::array<uint8_t, 2048> frame;
  Sender& sender = trial.sender(0);
  uint64_t end_ps = kNever;
  for (uint64_t now_ps = 0; now_ps < end_ps; now_ps += step_ps) {
    for (uint32_t count; (count = sender.Plan(now_ps)) > 0;) {
      for (uint32_t i = 0; i < count; ++i) {
        sender.Write(i, frame.data());
        device.Send(frame.data(), sender.length(i), now_ps);
      }
      sender.Sent(count, now_ps);
    }
    device.Receive(now_ps, [&](const uint8_t* data, uint32_t length) {
      trial.checker(0).See(data, length, now_ps / 1000);
    });
    if (end_ps == kNever && sender.over()) end_ps = now_ps + settle_ps;
  }
  return trial.Result(true);
}

StreamSpec SpecOf(uint32_t flows, double pps, uint64_t frames) {
  StreamSpec spec;
  const Field::Value first = 0x0a00'0001;
  spec.headers.source = Field::Range(first, first + flows - 1, 1);
  spec.sizes = Field::List({64, 1518, 100});
  spec.phases = {{0, kNever, {Rate::Unit::kPackets, pps}}};
  spec.frames = frames;
  return spec;
}

/// The injected faults.
struct Injected {
  uint64_t lost = 0, duplicated = 0, reordered = 0, damaged_payload = 0, damaged_tag = 0;
  uint64_t extents = 0, most_extent = 0;  // The sum and the maximum of the reorder extents.
  std::set<uint64_t> missing;  ///< Numbers of missing frames, including those with unreadable tags.
};

/// Holds frames for a microsecond and then echoes them, some of them with one fault. All frames
/// belong to one stream and one worker: frame n has number n and is in flow n modulo `flows`.
class FaultyDevice {
 public:
  FaultyDevice(uint32_t flows, uint64_t seed) : flows_(flows), random_(seed) {}

  void Send(const uint8_t* frame, uint32_t length, uint64_t now_ps) {
    std::vector<uint8_t> copy(frame, frame + length);
    packet::Frame view{copy.data(), length, 0, 0};
    echo_.Process(view, 0);
    const uint64_t number = sent_++;
    switch (random_() % 400) {
      case 0:
        ++done_.lost;
        done_.missing.insert(number);
        return;
      case 1:
        ++done_.duplicated;
        queue_.push_back({now_ps, copy});
        break;
      case 2:  // Flips a bit between the first payload byte and the tag.
        ++done_.damaged_payload;
        Flip(&copy, 43, length - kTagBytes);
        queue_.push_back({now_ps, copy});
        return;
      case 3:
        ++done_.damaged_tag;
        done_.missing.insert(number);
        Flip(&copy, length - kTagBytes, length);
        queue_.push_back({now_ps, copy});
        return;
      case 4:  // Holds the frame until another complete frame of its flow has passed.
        if (!held_.empty()) break;
        held_ = copy;
        held_number_ = number;
        return;
      default:
        break;
    }
    queue_.push_back({now_ps, copy});
    if (held_.empty() || (number - held_number_) % flows_ != 0) return;
    queue_.push_back({now_ps, held_});
    ++done_.reordered;
    done_.extents += number - held_number_;
    done_.most_extent = std::max(done_.most_extent, number - held_number_);
    held_.clear();
  }
  template <typename See>
  void Receive(uint64_t now_ps, See see) {
    while (!queue_.empty() && queue_.front().sent_ps + kUs <= now_ps) {
      see(queue_.front().bytes.data(), static_cast<uint32_t>(queue_.front().bytes.size()));
      queue_.pop_front();
    }
  }
  const Injected& Finish() {
    if (!held_.empty()) {
      ++done_.lost;
      done_.missing.insert(held_number_);
    }
    return done_;
  }

 private:
  struct UnderWay {
    uint64_t sent_ps;
    std::vector<uint8_t> bytes;
  };
  void Flip(std::vector<uint8_t>* frame, uint32_t from, uint32_t to) {
    const uint32_t at = from + static_cast<uint32_t>(random_() % (to - from));
    (*frame)[at] ^= static_cast<uint8_t>(1u << random_() % 8);
  }

  uint32_t flows_;
  std::mt19937_64 random_;
  engine::ReflectEcho echo_;
  uint64_t sent_ = 0;
  std::deque<UnderWay> queue_;
  std::vector<uint8_t> held_;
  uint64_t held_number_ = 0;
  Injected done_;
};

TEST(PktgenTrial, FindsWhatWasDone) {
  for (const uint32_t flows : {1u, 10u}) {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      std::string error;
      const auto traffic = Traffic::Make({SpecOf(flows, 1e6, 30'000)}, {.run = 77}, &error);
      ASSERT_NE(traffic, nullptr) << error;
      Trial trial(*traffic, {});
      FaultyDevice device(flows, seed);
      const TrialResult result = RunVirtually(trial, device, kUs, 100 * kUs);
      const StreamResult& found = result.streams[0];
      const Injected& done = device.Finish();
      EXPECT_EQ(found.sent, 30'000u);
      EXPECT_EQ(found.unsent, 0u);
      EXPECT_EQ(found.lost, done.lost);
      EXPECT_EQ(found.duplicated, done.duplicated);
      EXPECT_EQ(found.reordered, done.reordered);
      EXPECT_EQ(found.corrupted, done.damaged_payload + done.damaged_tag);
      EXPECT_EQ(found.received, found.sent - found.lost - found.corrupted);
      EXPECT_EQ(found.late, 0u);
      EXPECT_EQ(result.others, 0u);
      EXPECT_EQ(found.reorder_extent_max, done.most_extent);
      EXPECT_DOUBLE_EQ(found.reorder_extent_mean * static_cast<double>(done.reordered),
                       static_cast<double>(done.extents));
      std::set<uint64_t> missing;
      for (const LostRange& range : found.ranges) {
        for (uint64_t i = 0; i < range.gone.count; ++i) missing.insert(range.gone.first + i);
      }
      EXPECT_EQ(missing, done.missing);
    }
  }
}

/// Delays all frames from the first half millisecond until the half millisecond has passed.
struct StallingDevice {
  std::deque<std::pair<uint64_t, std::vector<uint8_t>>> frames;
  void Send(const uint8_t* frame, uint32_t length, uint64_t now_ps) {
    frames.push_back({std::max(now_ps + kUs, 500 * kUs), {frame, frame + length}});
  }
  template <typename See>
  void Receive(uint64_t now_ps, See see) {
    for (; !frames.empty() && frames.front().first <= now_ps; frames.pop_front()) {
      see(frames.front().second.data(), static_cast<uint32_t>(frames.front().second.size()));
    }
  }
};

// One frame is sent per microsecond, and the device holds it for a microsecond. Polls are also one
// microsecond apart. Therefore, frame n is due at n us and seen at n + 1 us.
TEST(PktgenTrial, LatencyCountsFromTheSchedule) {
  std::string error;
  const auto traffic = Traffic::Make({SpecOf(1, 1e6, 1000)}, {}, &error);
  Trial trial(*traffic, {});
  StallingDevice device;
  const StreamResult found = RunVirtually(trial, device, kUs, 100 * kUs).streams[0];
  EXPECT_EQ(found.lost, 0u);
  EXPECT_EQ(found.latency.count(), 1000u);
  EXPECT_EQ(found.latency.min(), 1000u);
  EXPECT_EQ(found.latency.max(), 500'000u);
  // Each latency of 1 … 500 us occurs once, and 1 us occurs 500 more times.
  EXPECT_NEAR(found.latency.mean(), (500 * 501 / 2 * 1000.0 + 500 * 1000) / 1000, 600);
}

/// Holds every other frame for four microseconds, and all other frames for one microsecond.
struct UnsteadyDevice : StallingDevice {
  void Send(const uint8_t* frame, uint32_t length, uint64_t now_ps) {
    const uint64_t held = ++sent % 2 == 0 ? 4 * kUs : kUs;
    frames.push_back({now_ps + held, {frame, frame + length}});
  }
  uint64_t sent = 0;
};

TEST(PktgenTrial, DelayVariesFromFrameToFrame) {
  std::string error;
  const auto traffic = Traffic::Make({SpecOf(1, 1e5, 1000)}, {}, &error);
  Trial trial(*traffic, {});
  UnsteadyDevice unsteady;
  const StreamResult found = RunVirtually(trial, unsteady, kUs, 100 * kUs).streams[0];
  EXPECT_EQ(found.received, 1000u);
  EXPECT_DOUBLE_EQ(found.delay_variation_mean_ns, 3000);
  Trial steady(*traffic, {});
  StallingDevice device;  // The first 50 frames, 10 us apart, arrive together.
  const StreamResult still = RunVirtually(steady, device, kUs, 100 * kUs).streams[0];
  EXPECT_DOUBLE_EQ(still.delay_variation_mean_ns, (49 * 10'000 + 9'000) / 999.0);
}

// Duplicates, and frames that arrive before their sender was polled, must not make the loss
// negative.
TEST(PktgenTrial, NothingIsNegativeWhileItRuns) {
  std::string error;
  const auto traffic = Traffic::Make({SpecOf(1, 1e6, 0)}, {}, &error);
  Trial trial(*traffic, {});
  std::vector<uint8_t> frame(trial.sender(0).Plan(0) * 1518);
  for (int looks = 0; looks < 3; ++looks) {
    trial.sender(0).Write(0, frame.data());
    for (int times = 0; times < 3; ++times) {
      trial.checker(0).See(frame.data(), trial.sender(0).length(0), 5);
      const StreamResult now = trial.Result(false).streams[0];
      EXPECT_EQ(now.lost, 0u) << "received before it was counted as sent";
      EXPECT_EQ(trial.Outstanding(), 0u);
    }
    trial.sender(0).Sent(1, kUs);
    EXPECT_EQ(trial.Result(false).streams[0].lost, 0u);
    trial.sender(0).Plan((looks + 1) * kUs);
  }
  EXPECT_EQ(trial.Result(true).streams[0].duplicated, 6u);
}

struct Nothing {
  void Send(const uint8_t*, uint32_t, uint64_t) {}
  template <typename See>
  void Receive(uint64_t, See) {}
};

TEST(PktgenTrial, LosesEverythingToADeviceThatReturnsNothing) {
  std::string error;
  const auto traffic = Traffic::Make({SpecOf(3, 1e6, 500)}, {}, &error);
  Trial trial(*traffic, {});
  Nothing device;
  const StreamResult found = RunVirtually(trial, device, kUs, kUs).streams[0];
  EXPECT_EQ(found.lost, 500u);
  ASSERT_EQ(found.ranges.size(), 1u);
  EXPECT_EQ(found.ranges[0].gone, (Gone{0, 500}));
}

class PktgenChecker : public ::testing::Test {
 protected:
  PktgenChecker() {
    std::string error;
    traffic_ = Traffic::Make({SpecOf(1, 1e6, 0)}, {.run = 0x00ff}, &error);
    trial_ = std::make_unique<Trial>(*traffic_, TrialOptions());
    sender().Plan(10 * kUs);
    frame_.resize(sender().length(0));
    sender().Write(0, frame_.data());
    sender().Sent(sender().planned(), 10 * kUs);
  }
  Sender& sender() { return trial_->sender(0); }
  void See(const std::vector<uint8_t>& frame) {
    trial_->checker(0).See(frame.data(), static_cast<uint32_t>(frame.size()), 20);
  }
  TrialResult result() { return trial_->Result(true); }

  std::unique_ptr<Traffic> traffic_;
  std::unique_ptr<Trial> trial_;
  std::vector<uint8_t> frame_;
};

TEST_F(PktgenChecker, TruncatedFramesAreNotReceived) {
  for (size_t length = 0; length < frame_.size(); ++length) {
    See({frame_.begin(), frame_.begin() + static_cast<long>(length)});
  }
  EXPECT_EQ(result().streams[0].received, 0u);
  EXPECT_EQ(result().streams[0].duplicated, 0u);
  See(frame_);
  EXPECT_EQ(result().streams[0].received, 1u);
}

TEST_F(PktgenChecker, HeadersMayChangeAndGrow) {
  std::vector<uint8_t> tunnelled(50, 0xee);
  tunnelled.insert(tunnelled.end(), frame_.begin(), frame_.end());
  std::fill_n(tunnelled.begin() + 50, 43, uint8_t{0x11});  // Includes the first payload byte.
  See(tunnelled);
  EXPECT_EQ(result().streams[0].received, 1u);
  EXPECT_EQ(result().streams[0].corrupted, 0u);
}

TEST_F(PktgenChecker, OthersAreNotBlamedOnTheDevice) {
  See(std::vector<uint8_t>(60));
  std::vector<uint8_t> other_run = frame_;
  Tag tag;
  Tag::Load(other_run.data() + other_run.size() - kTagBytes, &tag);
  tag.run = 0xff00;
  tag.Store(other_run.data() + other_run.size() - kTagBytes);
  See(other_run);
  EXPECT_EQ(result().others, 2u);
  EXPECT_EQ(result().streams[0].corrupted, 0u);
}

TEST_F(PktgenChecker, NumbersThatNobodySentAreDamage) {
  std::vector<uint8_t> future = frame_;
  Tag tag;
  Tag::Load(future.data() + future.size() - kTagBytes, &tag);
  tag.sequence += 100'000;
  tag.Store(future.data() + future.size() - kTagBytes);
  See(future);
  EXPECT_EQ(result().streams[0].corrupted, 1u);
  EXPECT_EQ(result().streams[0].received, 0u);
}

}  // namespace
}  // namespace sluice::engine::pktgen
