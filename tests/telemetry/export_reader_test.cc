// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the reader's thread with concurrent workers. No packet may be lost or counted twice, no
// matter when a worker ends an epoch.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "engine/telemetry/key_list.h"
#include "epoch_reader.h"
#include "packet/fixtures.h"

namespace sluice::telemetry {
namespace {

using engine::telemetry::Epoch;
using engine::telemetry::EpochReport;
using engine::telemetry::KeyKind;
using engine::telemetry::KeySpec;
using engine::telemetry::Meter;
using engine::telemetry::Pace;
using engine::telemetry::ParseKeys;
using engine::telemetry::Setup;

constexpr uint64_t kHz = 1'000'000'000;

uint64_t NowNs() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

Setup SmallSetup() {
  Setup setup;
  setup.rows = 3;
  setup.columns = 256;
  setup.pace = Pace::kFixed;
  setup.probability = 1;
  setup.epoch_ns = 1'000'000;
  return setup;
}

EpochReader::Meters MakeMeters(const Setup& setup, uint32_t workers, uint64_t now) {
  EpochReader::Meters meters;
  for (uint32_t i = 0; i < workers; ++i) {
    meters.push_back(std::make_unique<Meter>(setup, i, kHz, now));
  }
  return meters;
}

void CountOne(Meter& meter, uint64_t now) {
  test::Bytes bytes = test::kUdp4;
  packet::Frame frame{.data = bytes.data(),
                      .length = static_cast<uint32_t>(bytes.size()),
                      .headroom = 0,
                      .tailroom = 0};
  EXPECT_EQ(packet::ProcessFrame(meter, frame, now), packet::kForward);
}

struct Sums {
  uint64_t epochs = 0, packets = 0;
  double flow_packets = 0;

  void Add(const EpochReport& report) {
    epochs += 1;
    packets += report.total.pkts;
    for (const auto& flow : report.keys[0].heavy_hitters) flow_packets += flow.packets.value;
  }
};

TEST(EpochReader, EveryPacketOfEveryWorkerIsInOneReport) {
  constexpr uint32_t kWorkers = 3;
  constexpr uint64_t kPackets = 30'000;  // Packets per worker.
  const auto setup = SmallSetup();
  EpochReader::Meters meters = MakeMeters(setup, kWorkers, NowNs());
  Sums sums;
  EpochReader reader(setup, kHz, meters,
                     [&](const EpochReport& report, const Epoch&) { sums.Add(report); });
  std::vector<std::thread> workers;
  for (const auto& meter : meters) {
    workers.emplace_back([&meter] {
      for (uint64_t i = 0; i < kPackets; ++i) {
        CountOne(*meter, 0);
        if (i % 16 == 0) meter->AtRest(NowNs());
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  reader.Finish(NowNs());
  EXPECT_EQ(sums.packets, kWorkers * kPackets);
  EXPECT_EQ(sums.flow_packets, kWorkers * kPackets);
  const Sums before = sums;
  reader.Finish(NowNs());
  EXPECT_EQ(sums.epochs, before.epochs);
}

TEST(EpochReader, AWorkerThatIsAnEpochAheadAtTheEndIsReportedToo) {
  auto setup = SmallSetup();
  setup.epoch_ns = 3'600'000'000'000;
  const uint64_t now = setup.epoch_ns * 3;
  EpochReader::Meters meters = MakeMeters(setup, 2, now);
  std::vector<EpochReport> reports;
  EpochReader reader(setup, kHz, meters,
                     [&](const EpochReport& report, const Epoch&) { reports.push_back(report); });
  CountOne(*meters[0], now);
  CountOne(*meters[1], now);
  meters[0]->AtRest(now + setup.epoch_ns);  // The first worker has passed the end of the epoch.
  CountOne(*meters[0], now + setup.epoch_ns);
  CountOne(*meters[0], now + setup.epoch_ns);
  reader.Finish(now + setup.epoch_ns + 1);
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].workers, 2u);
  EXPECT_EQ(reports[0].total.pkts, 2u);
  EXPECT_EQ(reports[1].workers, 1u);
  EXPECT_EQ(reports[1].total.pkts, 2u);
}

TEST(EpochReader, IsGoneWithoutFinish) {
  const auto setup = SmallSetup();
  EpochReader::Meters meters = MakeMeters(setup, 1, 0);
  const EpochReader reader(setup, kHz, meters, [](const EpochReport&, const Epoch&) {});
}

TEST(KeyList, IsReadAsItIsWritten) {
  using Keys = std::optional<std::vector<KeySpec>>;
  EXPECT_EQ(ParseKeys("5-tuple"), Keys({KeySpec{}}));
  EXPECT_EQ(ParseKeys("source,destination"),
            Keys({{KeyKind::kSource, 32, 128}, {KeyKind::kDestination, 32, 128}}));
  EXPECT_EQ(ParseKeys("source/24"), Keys({{KeyKind::kSource, 24, 128}}));
  EXPECT_EQ(ParseKeys("source/0,0,destination/32,48,5-tuple"),
            Keys({{KeyKind::kSource, 0, 0}, {KeyKind::kDestination, 32, 48}, KeySpec{}}));
  for (const char* bad : {"", ",", "source,", ",source", "24", "source,24", "source/", "source/33",
                          "source/24,129", "source/24,64,64", "5-tuple/8", "source/-1", "source/ 8",
                          "Source", "source /8", "source/256"}) {
    EXPECT_EQ(ParseKeys(bad), std::nullopt) << bad;
  }
  // A key's name must parse as that key.
  for (const char* name : {"5-tuple", "source", "destination/24,64"}) {
    EXPECT_EQ(ParseKeys(name)->front().Name(), name);
  }
}

}  // namespace
}  // namespace sluice::telemetry
