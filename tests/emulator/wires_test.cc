// SPDX-License-Identifier: BSD-3-Clause
//
// Tests loopback, faults and the stepper. The verifier must detect exactly the faults that the
// injector reports.
#include <gtest/gtest.h>

#include <memory>

#include "bar/bar.h"
#include "emulator/faults.h"
#include "emulator/frame_fifo.h"
#include "emulator/gen.h"
#include "emulator/loopback.h"
#include "rig.h"

namespace sluice::emulator {
namespace {

device::WireFrame View(const Bytes& bytes) {
  return {bytes.data(), static_cast<uint32_t>(bytes.size())};
}

TEST(FrameFifo, KeepsOrderAndBytesAcrossManyLapsOfItsMemory) {
  FrameFifo fifo(8, 1000);
  uint8_t next_in = 0, next_out = 0;
  for (int i = 0; i < 1000; ++i) {
    const Bytes frame(60 + i % 200, next_in);
    if (fifo.Push(View(frame), 0) != nullptr) ++next_in;
    if (i % 3 == 0) continue;
    const auto front = fifo.Front(0, 2);
    for (const auto& out : front) {
      for (uint32_t b = 0; b < out.length; ++b) ASSERT_EQ(out.data[b], next_out);
      ++next_out;
    }
    fifo.Pop(static_cast<uint32_t>(front.size()));
  }
  EXPECT_GT(next_in, 100);
}

TEST(FrameFifo, IsBoundedInFramesAndInBytes) {
  FrameFifo frames(4, 10'000);
  for (int i = 0; i < 4; ++i) EXPECT_NE(frames.Push(View(Bytes(100)), 0), nullptr);
  EXPECT_EQ(frames.Push(View(Bytes(100)), 0), nullptr);
  FrameFifo bytes(1024, 1000);
  for (int i = 0; i < 10; ++i) EXPECT_NE(bytes.Push(View(Bytes(100)), 0), nullptr);
  EXPECT_EQ(bytes.Push(View(Bytes(100)), 0), nullptr);
  EXPECT_EQ(bytes.Push(View(Bytes(1001)), 0), nullptr);
  bytes.Pop(1);
  EXPECT_NE(bytes.Push(View(Bytes(100)), 0), nullptr);
}

TEST(FrameFifo, PadsShortFramesWithZerosToTheEthernetMinimum) {
  FrameFifo fifo(4, 1000);
  fifo.Push(View(Bytes(42, 0xff)), 0);
  const auto front = fifo.Front(0, 1);
  ASSERT_EQ(front[0].length, 60u);
  EXPECT_EQ(front[0].data[41], 0xff);
  for (uint32_t b = 42; b < 60; ++b) EXPECT_EQ(front[0].data[b], 0);
}

TEST(Loopback, WhatTheDeviceSendsComesBackAndWhatDoesNotFitIsCounted) {
  LoopbackWire wire;
  const Bytes frame(100, 7);
  for (uint32_t i = 0; i < LoopbackWire::kFrames + 5; ++i) {
    const auto view = View(frame);
    wire.Deliver(0, {&view, 1});
  }
  EXPECT_EQ(wire.Counters()[0].name, "loopback_full");
  EXPECT_EQ(wire.Counters()[0].value, 5u);
  uint32_t back = 0;
  for (auto frames = wire.Pull(0, 256); !frames.empty(); frames = wire.Pull(0, 256)) {
    for (const auto& f : frames) ASSERT_EQ(Bytes(f.data, f.data + f.length), frame);
    back += static_cast<uint32_t>(frames.size());
    wire.Consumed(static_cast<uint32_t>(frames.size()));
  }
  EXPECT_EQ(back, LoopbackWire::kFrames);
}

/// Sends `count` frames of 100 flows through the given faults and verifies all frames in full.
std::unique_ptr<Rig> Faulty(const FaultOptions& faults, uint64_t count = 100'000) {
  GeneratorOptions options;
  options.flows = 100;
  options.count = count;
  std::string error;
  auto rig = std::make_unique<Rig>(std::make_unique<FaultyWire>(
      GeneratorWire::Create(options, VerifyMode::kFull, &error), faults));
  rig->Start();
  return rig;
}

TEST(Faults, DroppedFramesAreExactlyTheLostOnes) {
  FaultOptions faults;
  faults.drop = 0.01;
  auto rig = Faulty(faults);
  rig->Run(1000);
  rig->StopAndDrain();
  EXPECT_NEAR((*rig)["wire_fault_drop"], 1000, 200);
  EXPECT_EQ((*rig)["wire_lost"], (*rig)["wire_fault_drop"]);
  EXPECT_EQ((*rig)["wire_accepted"], 100'000 - (*rig)["wire_fault_drop"]);
  EXPECT_EQ((*rig)["wire_outstanding"], 0u);
  EXPECT_EQ((*rig)["wire_corrupted"], 0u);
}

TEST(Faults, DuplicatedFramesAreExactlyTheDuplicates) {
  FaultOptions faults;
  faults.duplicate = 0.01;
  auto rig = Faulty(faults);
  rig->Run(1000);
  rig->StopAndDrain();
  EXPECT_NEAR((*rig)["wire_fault_dup"], 1000, 200);
  EXPECT_EQ((*rig)["wire_duplicated"], (*rig)["wire_fault_dup"]);
  EXPECT_EQ((*rig)["wire_lost"], 0u);
  EXPECT_EQ((*rig)["wire_outstanding"], 0u);
}

TEST(Faults, ReorderedFramesAreOvertakenWithinTheirFlow) {
  FaultOptions faults;
  faults.reorder = 0.01;
  auto rig = Faulty(faults);
  rig->Run(1000);
  rig->StopAndDrain();
  EXPECT_GT((*rig)["wire_fault_reorder"], 100u);
  EXPECT_EQ((*rig)["wire_reordered"], (*rig)["wire_fault_reorder"]);
  EXPECT_EQ((*rig)["wire_lost"], 0u);
  EXPECT_EQ((*rig)["wire_duplicated"], 0u);
  EXPECT_EQ((*rig)["wire_returned"], 100'000u);
}

TEST(Faults, CorruptedFramesAreExactlyTheOnesFoundAndAlsoMissing) {
  FaultOptions faults;
  faults.corrupt = 0.01;
  auto rig = Faulty(faults);
  rig->Run(1000);
  rig->StopAndDrain();
  EXPECT_NEAR((*rig)["wire_fault_corrupt"], 1000, 200);
  EXPECT_EQ((*rig)["wire_corrupted"], (*rig)["wire_fault_corrupt"]);
  EXPECT_EQ((*rig)["wire_lost"], (*rig)["wire_fault_corrupt"]);
  EXPECT_EQ((*rig)["wire_outstanding"], 0u);
}

TEST(Faults, ADelayedFrameArrivesExactlyThatMuchLater) {
  FaultOptions faults;
  faults.delay_ns = 50'000;
  auto rig = Faulty(faults, 1000);
  rig->Run(50, 1000);  // The first frames entered the wire at 1 µs.
  EXPECT_EQ((*rig)["wire_accepted"], 0u);
  rig->Run(1, 1000);
  EXPECT_GT((*rig)["wire_accepted"], 0u);
  rig->Run(20, 1000);
  rig->StopAndDrain();
  EXPECT_EQ((*rig)["wire_accepted"], 1000u);
  EXPECT_EQ((*rig)["wire_fault_delay"], 1000u);
  EXPECT_EQ((*rig)["wire_lost"], 0u);
  EXPECT_EQ((*rig)["wire_reordered"], 0u);
}

TEST(Faults, WhileTheCarrierIsLostNothingPassesAndTheSourceWaits) {
  FaultOptions faults;
  faults.down_period_ns = 1'000'000;
  faults.down_length_ns = 100'000;
  auto rig = Faulty(faults, 0);
  rig->device.room = 64;
  EXPECT_TRUE(rig->stepper().LinkUp(899'999));
  EXPECT_FALSE(rig->stepper().LinkUp(900'000));
  EXPECT_FALSE(rig->stepper().LinkUp(999'999));
  EXPECT_TRUE(rig->stepper().LinkUp(1'000'000));

  rig->Run(899, 1000);
  const uint64_t offered = (*rig)["wire_offered"];
  rig->device.held.emplace_back(60, 1);  // The host sends this frame during the outage.
  rig->Run(50, 1000);
  EXPECT_EQ((*rig)["wire_offered"], offered);
  EXPECT_EQ((*rig)["wire_fault_linkdown"], 1u);
  rig->Run(100, 1000);
  EXPECT_GT((*rig)["wire_offered"], offered);
}

TEST(Faults, APolicerPassesItsRateAndWhatMayComeAtOnce) {
  FaultOptions faults;
  faults.police_pps = 500'000;
  faults.police_frames = 10;
  auto rig = Faulty(faults, 100'000);
  rig->Run(101,
           // 50 frames pass in the 100 µs between the first and the last step, after the first 10.
           1000);
  rig->StopAndDrain();
  EXPECT_EQ((*rig)["wire_accepted"], 60u);
  EXPECT_GT((*rig)["wire_fault_police"], 1000u);
  EXPECT_EQ((*rig)["wire_offered"], (*rig)["wire_accepted"] + (*rig)["wire_fault_police"]);
  EXPECT_EQ((*rig)["wire_lost"], (*rig)["wire_fault_police"]);
}

TEST(Faults, TheSameSeedDoesTheSameDamage) {
  FaultOptions faults;
  faults.drop = faults.duplicate = faults.reorder = faults.corrupt = 0.05;
  const auto run = [&](uint64_t seed) {
    faults.seed = seed;
    auto rig = Faulty(faults, 10'000);
    rig->Run(200);
    return std::tuple((*rig)["wire_fault_drop"], (*rig)["wire_fault_dup"],
                      (*rig)["wire_fault_reorder"], (*rig)["wire_fault_corrupt"]);
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST(Stepper, ServesRegistersAlsoWhileTheWireIsOff) {
  Rig rig(std::make_unique<LoopbackWire>());
  bar::Bar bar(&rig.queue(), 4096);
  bar.Write32(8, 77);
  rig.Run(1);
  EXPECT_EQ(rig.device.registers[8], 77u);
}

TEST(Stepper, PullsNothingUntilEnabledAndNothingAfterItIsDisabled) {
  GeneratorOptions options;
  std::string error;
  Rig rig(GeneratorWire::Create(options, VerifyMode::kFull, &error));
  rig.Run(10);
  EXPECT_EQ(rig["wire_offered"], 0u);
  rig.Start();
  rig.Run(10);
  const uint64_t offered = rig["wire_offered"];
  EXPECT_GT(offered, 0u);
  rig.StopAndDrain();
  rig.Run(10);
  EXPECT_EQ(rig["wire_offered"], offered);
  EXPECT_EQ(rig["wire_lost"], 0u);
  rig.Start();
  rig.Run(10);
  EXPECT_GT(rig["wire_offered"], offered);
  rig.StopAndDrain();
  EXPECT_EQ(rig["wire_lost"], 0u) << "sequences go on where they stopped";
  EXPECT_EQ(rig["wire_duplicated"], 0u);
}

TEST(Stepper, WithPauseTheWireWaitsAndWithoutItTheDeviceDrops) {
  GeneratorOptions options;
  options.count = 1000;
  std::string error;
  for (const bool pause : {true, false}) {
    Rig rig(GeneratorWire::Create(options, VerifyMode::kFull, &error), pause);
    rig.device.room = 10;
    rig.Start();
    rig.Run(500);
    rig.StopAndDrain();
    EXPECT_EQ(rig["wire_offered"], 1000u);
    EXPECT_EQ(rig["wire_lost"], rig["model_rx_no_room"]);
    EXPECT_EQ(rig["wire_accepted"], 1000 - rig["model_rx_no_room"]);
    EXPECT_EQ(rig["model_rx_no_room"] == 0, pause);
  }
}

TEST(Stepper, NamesAreUniqueAndConstant) {
  FaultOptions faults;
  faults.drop = 0.5;
  auto rig = Faulty(faults);
  const auto before = rig->stepper().Names();
  rig->Run(10);
  EXPECT_EQ(rig->stepper().Names(), before);
  EXPECT_EQ(std::set<std::string>(before.begin(), before.end()).size(), before.size());
}

}  // namespace
}  // namespace sluice::emulator
