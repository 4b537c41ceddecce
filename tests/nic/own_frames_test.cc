// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the address filter: which frames reach the engine, singly and in bursts, and the verdicts
// of all other frames.
#include "nic/own_frames.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "frames.h"
#include "packet/burst.h"

namespace sluice::nic {
namespace {

using namespace nic_test;
using packet::Frame;
using packet::MacAddress;
using packet::Verdict;

constexpr MacAddress kMac{0x02, 0x11, 0x22, 0x33, 0x44, 0x55};
constexpr uint8_t kOtherHost = 2;  // The next value after the engine's drop reasons.

/// Records and consumes frames.
struct Watcher : packet::Engine {
  explicit Watcher(std::vector<Bytes>* seen) : seen(seen) {}

  static constexpr std::array<std::string_view, 2> kDropReasons{"one", "two"};

  Verdict Process(Frame& frame, uint64_t) {
    seen->emplace_back(frame.data, frame.data + frame.length);
    return packet::kConsume;
  }
  std::vector<Bytes>* seen;
};

/// Records and consumes the frames of a burst.
struct BurstWatcher final : packet::Engine {
  explicit BurstWatcher(std::vector<Bytes>* seen) : seen(seen) {}

  static constexpr auto& kDropReasons = Watcher::kDropReasons;

  template <packet::Burst Burst>
  void ProcessBurst(Burst& burst, uint64_t) {
    for (uint32_t number = 0; number < burst.size(); ++number) {
      const Frame frame = burst.At(number);
      seen->emplace_back(frame.data, frame.data + frame.length);
      burst.Answer(number, frame, packet::kConsume);
    }
  }
  std::vector<Bytes>* seen;
};

struct Own {
  bool IsOurMac(const uint8_t*) const { return true; }
  bool Owns(const packet::Ipv4Address&) const { return true; }
  bool Owns(const packet::Ipv6Address&) const { return true; }
};

/// An engine that owns addresses.
struct Host final : Watcher {
  using Watcher::Watcher;
  Own own() const { return {}; }
};

Bytes To(const MacAddress& mac, Bytes frame) {
  std::copy(mac.begin(), mac.end(), frame.begin());
  return frame;
}

Bytes Solicitation() {
  Bytes frame = Ipv6Frame(86);
  frame[20] = 58;
  frame[54] = 135;
  return frame;
}

Bytes Runt(size_t length) {
  Bytes frame(length, 0xee);
  frame.reserve(64);
  return frame;
}

struct Case {
  Bytes frame;
  Verdict verdict;
};

// Returns frames that a station accepts (IEEE 802.3 clause 4.2.4.1.1), and frames that it does not
// accept. own_frames.h describes groups.
std::vector<Case> Cases(bool host) {
  const Verdict other = packet::Drop(kOtherHost);
  const Verdict asked = host ? packet::kConsume : packet::kPass;
  const MacAddress broadcast{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  std::vector<Case> cases{
      {To(kMac, Ipv4Frame(60)), packet::kConsume},
      {To(kMac, Ipv6Frame(90)), packet::kConsume},
      {To(kMac, ArpFrame()), packet::kConsume},
      {To({}, Ipv4Frame(60)), other},
      {To({0xfe, 0xff, 0xff, 0xff, 0xff, 0xff}, ArpFrame()), other},
      {To(broadcast, Ipv4Frame(60)), packet::kPass},
      {To({0x01, 0x00, 0x5e, 0, 0, 1}, Ipv4Frame(60)), packet::kPass},
      {To({0x01, 0x80, 0xc2, 0, 0, 0x0e}, Bytes(60, 0xcc)), packet::kPass},
      {To({0x33, 0x33, 0, 0, 0, 1}, Ipv6Frame(90)), packet::kPass},
      {To(broadcast, ArpFrame()), asked},
      {To({0x33, 0x33, 0xff, 0, 0, 1}, Solicitation()), asked},
      {Runt(13), packet::kConsume},
  };
  for (uint32_t bit = 0; bit < 48; ++bit) {
    if (bit == 0) continue;  // Skip the group bit.
    MacAddress one_off = kMac;
    one_off[bit / 8] ^= 1 << bit % 8;
    cases.push_back({To(one_off, Ipv4Frame(60)), other});
  }
  return cases;
}

template <typename Engine>
void CheckFrames(bool host) {
  std::vector<Bytes> seen;
  OwnFrames<Engine> filter(kMac, false, [&] { return Engine(&seen); });
  std::vector<Bytes> accepted;
  for (auto& [frame, verdict] : Cases(host)) {
    if (verdict == packet::kConsume) accepted.push_back(frame);
    Frame view{frame.data(), static_cast<uint32_t>(frame.size()), 0, 0};
    EXPECT_EQ(filter.Process(view, 0), verdict) << seen.size();
  }
  EXPECT_EQ(seen, accepted);
}

struct Plain final : Watcher {
  using Watcher::Watcher;
};

TEST(OwnFrames, ReachTheEngineAlone) { CheckFrames<Plain>(false); }
TEST(OwnFrames, WithWhatAHostIsAsked) { CheckFrames<Host>(true); }

/// Passes frames through the filter as one burst. Returns their verdicts.
std::vector<Verdict> Burst(std::vector<Case>& cases, bool promiscuous, std::vector<Bytes>* seen) {
  OwnFrames<BurstWatcher> filter(kMac, promiscuous, [&] { return BurstWatcher(seen); });
  std::vector<Verdict> verdicts(cases.size(), packet::kForward);
  packet::FoundBurst burst(
      static_cast<uint32_t>(cases.size()), {},
      [&](uint32_t number) {
        Bytes& frame = cases[number].frame;
        return Frame{frame.data(), static_cast<uint32_t>(frame.size()), 0, 0};
      },
      [&](uint32_t number, const Frame&, Verdict verdict) { verdicts[number] = verdict; });
  filter.ProcessBurst(burst, 0);
  return verdicts;
}

TEST(OwnFrames, EndTheSameInABurst) {
  std::vector<Case> cases = Cases(false);
  std::vector<Verdict> expected;
  std::vector<Bytes> accepted, seen;
  for (const auto& [frame, verdict] : cases) {
    expected.push_back(verdict);
    if (verdict == packet::kConsume) accepted.push_back(frame);
  }
  EXPECT_EQ(Burst(cases, false, &seen), expected);
  EXPECT_EQ(seen, accepted);
}

TEST(OwnFrames, AreAllOfThemOnAPromiscuousPort) {
  std::vector<Case> cases = Cases(false);
  std::vector<Bytes> seen;
  EXPECT_EQ(Burst(cases, true, &seen), std::vector<Verdict>(cases.size(), packet::kConsume));
}

TEST(OwnFrames, HaveADropReasonBehindTheEngines) {
  using Filter = OwnFrames<Plain>;
  ASSERT_EQ(Filter::kDropReasons.size(), 3u);
  EXPECT_EQ(Filter::kDropReasons[kOtherHost], "rx_otherhost");
}

}  // namespace
}  // namespace sluice::nic
