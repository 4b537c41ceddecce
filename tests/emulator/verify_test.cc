// SPDX-License-Identifier: BSD-3-Clause
//
// Tests that the verifier detects damage done between the device and the verifier, and accepts an
// honest echo.
#include "emulator/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "emulator/gen.h"
#include "rig.h"

namespace sluice::emulator {
namespace {

std::unique_ptr<Wire> Source(uint32_t flows, uint64_t count, VerifyMode verify = VerifyMode::kFull,
                             uint32_t size = 128, uint16_t run = 7) {
  GeneratorOptions options;
  options.run = run;
  options.flows = flows;
  options.count = count;
  options.list = {size};
  std::string error;
  return GeneratorWire::Create(options, verify, &error);
}

void Reflect(Bytes& frame) {
  std::swap_ranges(frame.begin(), frame.begin() + 6, frame.begin() + 6);
  std::swap_ranges(frame.begin() + 26, frame.begin() + 30, frame.begin() + 30);
  std::swap_ranges(frame.begin() + 34, frame.begin() + 36, frame.begin() + 36);
  ++frame[42];
}

TEST(Verify, AnHonestReflectionIsRecognisedInFull) {
  Rig rig(Source(10, 10'000));
  rig.device.transform = [](Bytes& frame) {
    Reflect(frame);
    return true;
  };
  rig.Start();
  rig.Run(100);
  rig.StopAndDrain();
  EXPECT_EQ(rig["wire_returned"], 10'000u);
  EXPECT_EQ(rig["wire_returned_bytes"], 10'000u * 124);
  EXPECT_EQ(rig["wire_verified"], 10'000u);
  for (const char* bad : {"wire_lost", "wire_corrupted", "wire_duplicated", "wire_reordered",
                          "wire_late", "wire_outstanding"}) {
    EXPECT_EQ(rig[bad], 0u) << bad;
  }
}

TEST(Verify, FindsADamagedBitAnywhereBehindTheFirstPayloadByte) {
  for (uint32_t byte = 43; byte < 124; ++byte) {
    Rig rig(Source(4, 64));
    uint32_t number = 0;
    rig.device.transform = [&](Bytes& frame) {
      if (++number == 20) frame[byte] ^= 0x10;
      return true;
    };
    rig.Start();
    rig.Run(10);
    EXPECT_EQ(rig["wire_corrupted"], 1u) << byte;
  }
}

TEST(Verify, FindsATruncatedALengthenedAndAForeignFrame) {
  Rig rig(Source(4, 64));
  uint32_t number = 0;
  rig.device.transform = [&](Bytes& frame) {
    ++number;
    if (number == 1) frame.resize(frame.size() - 1);
    if (number == 2) frame.resize(frame.size() + 1);
    if (number == 3) frame.assign(60, 0);
    if (number == 4) frame.assign(3, 0);
    return true;
  };
  rig.Start();
  rig.Run(10);
  EXPECT_EQ(rig["wire_corrupted"], 4u);
}

TEST(Verify, AGapCountsAsLostAtOnceAndTheTailOnceTheSourceStopped) {
  Rig rig(Source(1, 1000));
  uint32_t number = 0;
  rig.device.transform = [&](Bytes&) {
    ++number;
    return number != 10 && number != 11 && number <= 990;
  };
  rig.Start();
  rig.Run(100);
  EXPECT_EQ(rig["wire_lost"], 2u);
  EXPECT_EQ(rig["wire_outstanding"], 12u);
  rig.StopAndDrain();
  EXPECT_EQ(rig["wire_lost"], 12u);
  EXPECT_EQ(rig["wire_outstanding"], 12u);
}

/// Returns the frames of a source to that source in the order of `numbers`, which count from 0.
class Script {
 public:
  explicit Script(std::vector<uint32_t> numbers, uint32_t flows = 1)
      : wire_(Source(flows, 1000, VerifyMode::kFull, 64)) {
    wire_->Start(0);
    std::vector<Bytes> sent;
    while (sent.size() < 1000) {
      const auto frames = wire_->Pull(0, 256);
      for (const auto& frame : frames) sent.emplace_back(frame.data, frame.data + frame.length);
      wire_->Consumed(static_cast<uint32_t>(frames.size()));
    }
    for (const uint32_t number : numbers) {
      const device::WireFrame frame = {sent[number].data(),
                                       static_cast<uint32_t>(sent[number].size())};
      wire_->Deliver(0, {&frame, 1});
    }
  }
  const WireTotals& totals() const { return wire_->totals(); }

 private:
  std::unique_ptr<Wire> wire_;
};

TEST(Verify, ADuplicateIsOneWhetherItComesAtOnceOrMuchLater) {
  const Script at_once({0, 1, 1, 2});
  EXPECT_EQ(at_once.totals().duplicated, 1u);
  const Script later({0, 1, 2, 3, 4, 5, 1});
  EXPECT_EQ(later.totals().duplicated, 1u);
  const Script after_a_gap({0, 1, 5, 6, 1});
  EXPECT_EQ(after_a_gap.totals().duplicated, 1u);
  EXPECT_EQ(after_a_gap.totals().gaps, 3u);
  const Script of_a_latecomer({0, 2, 1, 1});
  EXPECT_EQ(of_a_latecomer.totals().duplicated, 1u);
  EXPECT_EQ(of_a_latecomer.totals().reordered, 1u);
}

// Returns the first `count` frames of a source as they are on the wire.
std::vector<Bytes> AllOf(Wire& wire, uint32_t count) {
  std::vector<Bytes> sent;
  wire.Start(0);
  while (sent.size() < count) {
    const auto frames = wire.Pull(0, 256);
    for (const auto& frame : frames) sent.emplace_back(frame.data, frame.data + frame.length);
    wire.Consumed(static_cast<uint32_t>(frames.size()));
  }
  return sent;
}

TEST(Verify, FramesOfTheRunBeforeARestartAreForeignWhereverTheyComeIn) {
  for (const VerifyMode mode : {VerifyMode::kFull, VerifyMode::kSampled}) {
    // Different sizes and flow counts are used, because an earlier run may have had different
    // traffic.
    for (const auto& [flows, size] : {std::pair{4u, 128u}, std::pair{600u, 90u}}) {
      const std::vector<Bytes> old = AllOf(*Source(flows, 40, mode, size, 6), 40);
      Rig rig(Source(4, 400, mode, 128, 7));
      uint32_t number = 0;
      rig.device.transform = [&](Bytes& frame) {
        if (number < 40) frame = old[number];
        ++number;
        return true;
      };
      rig.Start();
      rig.Run(100);
      rig.StopAndDrain();
      EXPECT_EQ(rig["wire_foreign"], 40u);
      EXPECT_EQ(rig["wire_returned"], 400u);
      EXPECT_EQ(rig["wire_outstanding"], 40u) << "a foreign frame is not a return";
      for (const char* wrong :
           {"wire_duplicated", "wire_reordered", "wire_late", "wire_corrupted"}) {
        EXPECT_EQ(rig[wrong], 0u) << wrong;
      }
    }
  }
}

TEST(Verify, ADamagedTagIsNeverForeign) {
  const std::vector<Bytes> sent = AllOf(*Source(4, 4), 4);
  for (uint32_t bit = 0; bit < 8 * kTagBytes; ++bit) {
    const std::unique_ptr<Wire> wire = Source(4, 4);
    Bytes frame = sent[3];
    frame[frame.size() - kTagBytes + bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    const device::WireFrame view = {frame.data(), static_cast<uint32_t>(frame.size())};
    wire->Deliver(0, {&view, 1});
    EXPECT_EQ(wire->totals().corrupted, 1u) << bit;
    EXPECT_EQ(wire->totals().foreign, 0u) << bit;
  }
}

TEST(Verify, EveryRunHasANonceOfItsOwn) {
  std::set<uint32_t> nonces;
  for (uint32_t run = 0; run < 1u << 16; ++run) {
    nonces.insert(Tag::Nonce(static_cast<uint16_t>(run)));
  }
  EXPECT_EQ(nonces.size(), 1u << 16);
  std::set<uint32_t> permuted;
  for (const uint32_t nonce : nonces) permuted.insert(nonce >> 16);
  EXPECT_EQ(permuted.size(), 1u << 16) << "or one wrong bit could make another nonce";
}

TEST(Verify, ALatecomerClosesItsGapAndCountsAsReordered) {
  const Script script({0, 3, 2, 1, 4});
  EXPECT_EQ(script.totals().reordered, 2u);
  EXPECT_EQ(script.totals().gaps, 0u);
  EXPECT_EQ(script.totals().duplicated, 0u);
  EXPECT_EQ(script.totals().recognised, 5u);
}

TEST(Verify, AFrameFromBeforeTheFirstOneThatReturnedIsReorderedNotDuplicated) {
  const Script script({5, 0});
  EXPECT_EQ(script.totals().reordered, 1u);
  EXPECT_EQ(script.totals().gaps, 4u);
}

TEST(Verify, OrderIsDemandedWithinAFlowOnly) {
  // The two flows alternate: 0 and 2 are one flow, 1 and 3 the other.
  const Script between({1, 0, 3, 2}, 2);
  EXPECT_EQ(between.totals().reordered, 0u);
  const Script within({2, 0, 1, 3}, 2);
  EXPECT_EQ(within.totals().reordered, 1u);
}

TEST(Verify, BeyondTheWindowAFrameIsLateAndTheVerifierStaysExact) {
  // 65536 flows limit the window to 128. Drop 300 consecutive frames of the first flow.
  GeneratorOptions options;
  options.flows = 65536;
  std::string error;
  const auto ring = FrameRing::Build(options, &error);
  ASSERT_EQ(ring->per_lap(), 1u);
  TagVerifier verifier(*ring, VerifyMode::kFull);
  WireTotals totals;
  const auto give = [&](uint32_t sequence) {
    const device::WireFrame& frame = ring->frames()[0];
    Bytes copy(frame.data, frame.data + frame.length);
    StampTag(copy.data() + copy.size() - kTagBytes, sequence);
    const device::WireFrame view = {copy.data(), frame.length};
    verifier.Check({&view, 1}, totals);
  };
  give(0);
  give(301);
  EXPECT_EQ(totals.gaps, 300u);
  give(5);
  EXPECT_EQ(totals.late, 1u);
  give(300);
  EXPECT_EQ(totals.reordered, 1u);
  EXPECT_EQ(totals.gaps, 299u);
  give(300);
  EXPECT_EQ(totals.duplicated, 1u);
}

TEST(Verify, SequenceNumbersMayWrapTheir32Bits) {
  GeneratorOptions options;
  options.flows = 512;
  std::string error;
  const auto ring = FrameRing::Build(options, &error);
  TagVerifier verifier(*ring, VerifyMode::kSampled);
  WireTotals totals;
  const device::WireFrame& frame = ring->frames()[0];
  Bytes copy(frame.data, frame.data + frame.length);
  const device::WireFrame view = {copy.data(), frame.length};
  uint64_t sequence = 0;
  const auto give = [&](uint64_t at) {
    StampTag(copy.data() + copy.size() - kTagBytes, static_cast<uint32_t>(at));
    verifier.Check({&view, 1}, totals);
  };
  give(sequence);
  for (int i = 0; i < 3; ++i) give(sequence += 0x7fff'ffff);  // The sequence numbers exceed 2^32.
  const uint64_t gaps = totals.gaps;
  EXPECT_EQ(gaps, sequence - 3);
  give(sequence - 1);
  EXPECT_EQ(totals.reordered, 1u);
  give(sequence);
  EXPECT_EQ(totals.duplicated, 1u);
  give(sequence + 1);
  EXPECT_EQ(totals.gaps, gaps - 1);
}

TEST(Verify, SampledModeComparesOneFrameInSixtyFourAndEveryTag) {
  Rig rig(Source(4, 6400, VerifyMode::kSampled));
  rig.device.transform = [](Bytes& frame) {
    frame[50] ^= 1;  // Damages the payload, not the tag.
    return true;
  };
  rig.Start();
  rig.Run(100);
  EXPECT_EQ(rig["wire_verified"], 100u);
  EXPECT_EQ(rig["wire_corrupted"], 100u);

  Rig tags(Source(4, 6400, VerifyMode::kSampled));
  tags.device.transform = [](Bytes& frame) {
    frame[frame.size() - 9] ^= 1;
    return true;
  };
  tags.Start();
  tags.Run(100);
  EXPECT_EQ(tags["wire_corrupted"], 6400u);
}

TEST(Verify, OffOnlyCounts) {
  Rig rig(Source(4, 100, VerifyMode::kOff));
  rig.device.transform = [](Bytes& frame) {
    frame.assign(60, 0);
    return true;
  };
  rig.Start();
  rig.Run(10);
  rig.StopAndDrain();
  EXPECT_EQ(rig["wire_returned"], 100u);
  EXPECT_EQ(rig["wire_corrupted"], 0u);
  EXPECT_EQ(rig["wire_lost"], 0u);
}

}  // namespace
}  // namespace sluice::emulator
