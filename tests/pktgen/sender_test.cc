// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the timing of a worker. It must not send frames early or send unnecessary bursts, and
// frames that it could not send must count as unsent by the worker.
#include "engine/pktgen/sender.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/pktgen/trial.h"

namespace sluice::engine::pktgen {
namespace {

constexpr uint64_t kMicrosecond = 1'000'000;
constexpr uint64_t kMs = 1000 * kMicrosecond;

StreamSpec Stream(const std::string& name, Rate rate, Field sizes = 64) {
  StreamSpec spec;
  spec.name = name;
  spec.phases = {{0, kNever, rate}};
  spec.sizes = std::move(sizes);
  return spec;
}
const Rate kMegahertz{Rate::Unit::kPackets, 1e6};

struct Lab {
  explicit Lab(const std::vector<StreamSpec>& specs, TrafficOptions options = {}) {
    std::string error;
    options.line_bps = 100'000'000'000;
    traffic = Traffic::Make(specs, options, &error);
    EXPECT_NE(traffic, nullptr) << error;
    trial = std::make_unique<Trial>(*traffic, TrialOptions{.patience_ps = kMs});
  }
  Sender& sender(uint32_t worker = 0) { return trial->sender(worker); }
  Tag TagOf(uint32_t index, uint32_t worker = 0) {
    std::vector<uint8_t> frame(sender(worker).length(index));
    sender(worker).Write(index, frame.data());
    Tag tag;
    EXPECT_TRUE(Tag::Load(frame.data() + frame.size() - kTagBytes, &tag));
    return tag;
  }
  StreamResult result(size_t stream = 0) { return trial->Result(true).streams[stream]; }

  std::unique_ptr<Traffic> traffic;
  std::unique_ptr<Trial> trial;
};

TEST(PktgenSender, SendsAsMuchAsTheClockDemands) {
  Lab lab({Stream("a", kMegahertz)});
  EXPECT_EQ(lab.sender().Plan(0), 1u);  // The first frame is due immediately.
  lab.sender().Sent(1, 0);
  EXPECT_EQ(lab.sender().Plan(kMicrosecond - 1), 0u);
  EXPECT_EQ(lab.sender().Plan(kMicrosecond), 1u);
  EXPECT_EQ(lab.TagOf(0), (Tag{.sequence = 1, .departure_ns = 1000}));
  lab.sender().Sent(1, kMicrosecond);
  EXPECT_EQ(lab.sender().Plan(5 * kMicrosecond + 1), 4u);
  EXPECT_EQ(lab.TagOf(3), (Tag{.sequence = 5, .departure_ns = 5000}));
}

TEST(PktgenSender, KeepsTheDepartureOfWhatCouldNotLeave) {
  Lab lab({Stream("a", kMegahertz)});
  EXPECT_EQ(lab.sender().Plan(2 * kMicrosecond), 3u);
  lab.sender().Sent(1, 2 * kMicrosecond);
  EXPECT_EQ(lab.sender().Plan(500 * kMicrosecond), Sender::kMostPlanned);
  EXPECT_EQ(lab.TagOf(0), (Tag{.sequence = 1, .departure_ns = 1000}));
  EXPECT_EQ(lab.TagOf(1), (Tag{.sequence = 2, .departure_ns = 2000}));
  lab.sender().Sent(1, 500 * kMicrosecond);
  EXPECT_EQ(lab.sender().latest_ns(), 499'000u);
}

TEST(PktgenSender, GivesUpWhatIsTooLateWithoutANumber) {
  Lab lab({Stream("a", kMegahertz)});
  EXPECT_EQ(lab.sender().Plan(9 * kMicrosecond), 10u);
  lab.sender().Sent(4, 9 * kMicrosecond);  // Frames 0 … 3.
  // Frames 4, 5 and 6 were due before 6.5 us, so they are discarded at 1.0065 ms.
  EXPECT_EQ(lab.sender().Plan(kMs + 6 * kMicrosecond + kMicrosecond / 2), Sender::kMostPlanned);
  EXPECT_EQ(lab.TagOf(0), (Tag{.sequence = 4, .departure_ns = 7000}));
  EXPECT_EQ(lab.TagOf(1), (Tag{.sequence = 5, .departure_ns = 8000}));
  EXPECT_EQ(lab.TagOf(3), (Tag{.sequence = 7, .departure_ns = 10'000}));
  EXPECT_EQ(lab.result().unsent, 3u);
  // Frames that were not yet planned are also discarded.
  lab.sender().Sent(lab.sender().planned(), kMs + 7 * kMicrosecond);
  lab.sender().Plan(100 * kMs);
  EXPECT_EQ(lab.TagOf(0).sequence, 68u);
  EXPECT_EQ(lab.TagOf(0).departure_ns, 99'000'000u);
  EXPECT_EQ(lab.result().sent, 68u);
  EXPECT_EQ(lab.result().unsent, 99'000u - 68);
}

TEST(PktgenSender, OffersWhatNobodyMissesForEver) {
  Lab lab({Stream("a", {})});
  EXPECT_EQ(lab.sender().Plan(0), Sender::kMostPlanned);
  EXPECT_EQ(lab.sender().Plan(100 * kMs), Sender::kMostPlanned);
  EXPECT_EQ(lab.TagOf(0).sequence, 0u);
  lab.sender().Stop(200 * kMs);
  EXPECT_TRUE(lab.sender().over());
  EXPECT_EQ(lab.result().unsent, 0u);
}

// The worker does not get a CPU from 100 ms until after the end of the trial. All due frames must
// count as sent or unsent.
TEST(PktgenSender, StopsWithAllThatWasDueSentOrUnsent) {
  StreamSpec phases = Stream("phases", kMegahertz);  // 50,000 frames, a pause, and 200,000 frames.
  phases.phases = {{0, 50 * kMs, kMegahertz}, {500 * kMs, 700 * kMs, kMegahertz}};
  StreamSpec few = Stream("few", kMegahertz);
  few.frames = 123'456;
  StreamSpec capture = Stream("capture", {});  // 4 frames every 10 us.
  auto frames = std::make_shared<FrameSet>();
  auto offsets = std::make_shared<Offsets>(Offsets{.at_ps = {0, 1, 2, 3}, .period_ps = 10});
  const std::array<uint8_t, 60> bytes{};
  for (uint64_t& at : offsets->at_ps) {
    frames->Add(bytes.data(), {.at = 0, .length = 60, .payload = 42, .tagged = true});
    at *= kMicrosecond;
  }
  offsets->period_ps *= kMicrosecond;
  capture.captured = frames;
  capture.offsets = offsets;
  capture.phases.clear();
  StreamSpec poisson = Stream("poisson", kMegahertz);
  poisson.arrivals = workload::Arrivals::kPoisson;
  Lab lab({Stream("steady", kMegahertz), phases, few, capture,
           Stream("bits", {Rate::Unit::kBits, 672e6}), Stream("any", {}), poisson},
          {.end_ps = kPsPerSecond});
  for (uint64_t now = 0; now < 100 * kMs; now += 20 * kMicrosecond) {
    lab.sender().Sent(lab.sender().Plan(now), now);
  }
  lab.sender().Plan(100 * kMs);
  lab.sender().Stop(kPsPerSecond);
  EXPECT_TRUE(lab.sender().over());
  EXPECT_EQ(lab.sender().Plan(2 * kPsPerSecond), 0u);
  const uint64_t due[] = {1'000'000, 250'000, 123'456, 400'000, 1'000'000};
  for (size_t stream = 0; stream < std::size(due); ++stream) {
    const StreamResult result = lab.result(stream);
    EXPECT_GT(result.sent, 0u) << result.name;
    EXPECT_EQ(result.sent + result.unsent, due[stream]) << result.name;
  }
  EXPECT_EQ(lab.result(5).unsent, 0u) << "nothing of it is due";
  const StreamResult random = lab.result(6);
  EXPECT_NEAR(static_cast<double>(random.sent + random.unsent), 1e6, 5 * std::sqrt(1e6));
}

// Discarding 10^12 frames per second must not cost more than discarding any other number.
TEST(PktgenSender, GivesUpAnyNumberOfFramesAtOnce) {
  for (const auto arrivals : {workload::Arrivals::kConstant, workload::Arrivals::kPoisson}) {
    StreamSpec spec = Stream("a", {Rate::Unit::kPackets, 1e12});
    spec.arrivals = arrivals;
    std::string error;
    const auto traffic = Traffic::Make({spec}, {.end_ps = 1000 * kPsPerSecond}, &error);
    ASSERT_NE(traffic, nullptr) << error;
    Trial trial(*traffic, {.patience_ps = kMs});
    EXPECT_EQ(trial.sender(0).Plan(100 * kPsPerSecond), Sender::kMostPlanned);
    trial.sender(0).Sent(Sender::kMostPlanned, 100 * kPsPerSecond);
    trial.sender(0).Stop(1000 * kPsPerSecond);
    EXPECT_NEAR(static_cast<double>(trial.Result(true).streams[0].unsent) / 1e15, 1, 1e-6);
  }
}

TEST(PktgenSender, StopsAfterItsFrames) {
  StreamSpec spec = Stream("a", kMegahertz);
  spec.frames = 5;
  Lab lab({spec});
  EXPECT_EQ(lab.sender().Plan(kMs), 5u);
  EXPECT_FALSE(lab.sender().over());
  lab.sender().Sent(5, kMs);
  EXPECT_EQ(lab.sender().Plan(2 * kMs), 0u);
  EXPECT_TRUE(lab.sender().over());
}

TEST(PktgenSender, InterleavesStreamsByTheirTimes) {
  Lab lab({Stream("fast", {Rate::Unit::kPackets, 3e6}), Stream("slow", kMegahertz)});
  std::vector<uint16_t> order;
  std::vector<uint64_t> due;
  const uint32_t planned = lab.sender().Plan(3 * kMicrosecond);
  for (uint32_t i = 0; i < planned; ++i) {
    order.push_back(lab.TagOf(i).stream);
    due.push_back(lab.TagOf(i).departure_ns);
  }
  EXPECT_TRUE(std::is_sorted(due.begin(), due.end()));
  EXPECT_EQ(std::count(order.begin(), order.end(), 0), 10);
  EXPECT_EQ(std::count(order.begin(), order.end(), 1), 4);
}

TEST(PktgenSender, UnlimitedStreamsTakeTurns) {
  Lab lab({Stream("a", {}), Stream("b", {}), Stream("timed", kMegahertz)});
  uint32_t counts[3] = {};
  const uint32_t planned = lab.sender().Plan(kMicrosecond);
  for (uint32_t i = 0; i < planned; ++i) ++counts[lab.TagOf(i).stream];
  EXPECT_EQ(counts[0], 31u);
  EXPECT_EQ(counts[1], 31u);
  EXPECT_EQ(counts[2], 2u);  // The frames are due at 0 and at 1 us.
}

// Checks the total rate of one to three workers over one second of virtual time, with mixed sizes.
// The error must be at most 0.05 %.
TEST(PktgenSender, WorkersShareARateExactly) {
  for (const bool bits : {false, true}) {
    for (const uint32_t workers : {1u, 2u, 3u}) {
      const Rate rate = bits ? Rate{Rate::Unit::kBits, 1e9} : Rate{Rate::Unit::kPackets, 2e5};
      StreamSpec spec = Stream("a", rate, Field::List({64, 1518, 256, 64, 900}));
      spec.headers.source = Field::Range(1, 40, 1);
      Lab lab({spec}, {.workers = workers, .end_ps = kPsPerSecond});
      for (uint32_t worker = 0; worker < workers; ++worker) {
        for (uint64_t now = 0; now < kPsPerSecond; now += 20 * kMicrosecond) {
          lab.sender(worker).Sent(lab.sender(worker).Plan(now), now);
        }
      }
      const StreamResult result = lab.result();
      EXPECT_EQ(result.unsent, 0u);
      const double expected = bits ? 1e9 : 2e5;
      const double found = bits ? static_cast<double>(8 * result.sent_bytes + 192 * result.sent)
                                : static_cast<double>(result.sent);
      EXPECT_NEAR(found / expected, 1, 5e-4) << bits << " " << workers;
    }
  }
}

// Flows are not split among workers, and each frame is sent at its time in the capture, by
// whichever worker.
TEST(PktgenSender, WorkersShareACapture) {
  StreamSpec spec = Stream("captured", {});
  auto frames = std::make_shared<FrameSet>();
  auto offsets = std::make_shared<Offsets>();
  const std::array<uint8_t, 60> bytes{};
  for (uint32_t i = 0; i < 6; ++i) {
    frames->Add(bytes.data(),
                {.at = 0, .flow = i % 3, .length = 60, .payload = 42, .tagged = true});
    offsets->at_ps.push_back(i * i * kMicrosecond);
  }
  offsets->period_ps = 30 * kMicrosecond;
  spec.captured = frames;
  spec.offsets = offsets;
  spec.phases.clear();
  spec.frames = 12;  // Two rounds.
  Lab lab({spec}, {.workers = 2});
  std::vector<uint64_t> due_us;
  for (uint32_t worker = 0; worker < 2; ++worker) {
    const uint32_t planned = lab.sender(worker).Plan(kMs);
    EXPECT_EQ(planned, worker == 0 ? 8u : 4u) << "flows 0 and 2, and flow 1";
    for (uint32_t i = 0; i < planned; ++i) {
      due_us.push_back(lab.TagOf(i, worker).departure_ns / 1000);
    }
    lab.sender(worker).Sent(planned, kMs);
    EXPECT_TRUE(lab.sender(worker).over());
  }
  std::ranges::sort(due_us);
  EXPECT_EQ(due_us, (std::vector<uint64_t>{0, 1, 4, 9, 16, 25, 30, 31, 34, 39, 46, 55}));
}

// The result must be the same for any number of workers. Workers without frames do not send any.
TEST(PktgenSender, FramesTakeAGapEach) {
  for (const uint32_t workers : {1u, 2u, 3u}) {
    for (const uint64_t frames : {1u, 5u, 7u, 1000u}) {
      StreamSpec spec = Stream("a", kMegahertz);
      spec.frames = frames;
      Lab lab({spec}, {.workers = workers});
      for (uint32_t worker = 0; worker < workers; ++worker) {
        for (uint64_t now = 0; now < 2 * kMs; now += 10 * kMicrosecond) {
          lab.sender(worker).Sent(lab.sender(worker).Plan(now), now);
        }
        EXPECT_TRUE(lab.sender(worker).over()) << worker;
      }
      EXPECT_EQ(lab.result().sent, frames);
      EXPECT_NEAR(static_cast<double>(lab.trial->DuePs()),
                  static_cast<double>(frames * kMicrosecond), kMicrosecond / 1000.0);
    }
  }
}

TEST(PktgenTraffic, RefusesCapturesBeyondTheLine) {
  StreamSpec spec = Stream("captured", {});
  auto frames = std::make_shared<FrameSet>();
  const std::array<uint8_t, 60> bytes{};
  for (int i = 0; i < 2; ++i) frames->Add(bytes.data(), {.at = 0, .length = 60, .payload = 42});
  spec.captured = frames;
  spec.phases.clear();
  // The line sends 10 bits per nanosecond, so 1344 bits take 134.4 ns.
  std::string error;
  for (const uint64_t period_ps : {134'400, 134'300}) {
    spec.offsets = std::make_shared<Offsets>(Offsets{.at_ps = {0, 1000}, .period_ps = period_ps});
    const auto made = Traffic::Make({spec}, {.line_bps = 10'000'000'000}, &error);
    EXPECT_EQ(made != nullptr, period_ps == 134'400) << error;
  }
  EXPECT_NE(error.find("longer gaps"), std::string::npos) << error;
}

TEST(PktgenTraffic, RefusesRatesBeyondTheLine) {
  std::string error;
  const TrafficOptions ten_gig{.line_bps = 10'000'000'000};
  // 10 Gb/s carry 14.88 million 64-byte frames per second.
  EXPECT_NE(Traffic::Make({Stream("a", {Rate::Unit::kPackets, 14.88e6})}, ten_gig, &error),
            nullptr);
  EXPECT_EQ(Traffic::Make({Stream("a", {Rate::Unit::kPackets, 14.89e6})}, ten_gig, &error),
            nullptr);
  EXPECT_NE(error.find("line"), std::string::npos);
  const Rate half{Rate::Unit::kPercent, 50};
  EXPECT_NE(Traffic::Make({Stream("a", half), Stream("b", half)}, ten_gig, &error), nullptr);
  EXPECT_EQ(
      Traffic::Make({Stream("a", half), Stream("b", {Rate::Unit::kPercent, 51})}, ten_gig, &error),
      nullptr);
  StreamSpec later = Stream("b", {Rate::Unit::kPercent, 51});
  later.phases[0].start_ps = kPsPerSecond;
  StreamSpec earlier = Stream("a", half);
  earlier.phases[0].end_ps = kPsPerSecond;
  EXPECT_NE(Traffic::Make({earlier, later}, ten_gig, &error), nullptr) << error;
  EXPECT_EQ(Traffic::Make({Stream("a", half)}, {}, &error), nullptr);
  EXPECT_NE(error.find("--line_gbps"), std::string::npos);
}

}  // namespace
}  // namespace sluice::engine::pktgen
