// SPDX-License-Identifier: BSD-3-Clause
//
// Tests both ends of a link of regions in lockstep: the frames in a swap, waiting offers, regions
// that are returned by a cancel, and the effects of resets and restarts.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "swap/host_link.h"
#include "swap/nic_link.h"

namespace sluice::swap::test {
namespace {

using Frames = std::vector<std::string>;

constexpr Geometry kGeometry{
    .regions = 4, .region_bytes = 4096, .max_frames = 16, .headroom_bytes = 64};
constexpr uint64_t kWindowCycles = 1000;

class Link : public ::testing::Test {
 protected:
  Link() { Format(kGeometry); }

  void Format(const Geometry& geometry) {
    const size_t bytes = LinkMemory::BytesFor(geometry);
    memory_.reset(new (std::align_val_t{4096}) uint8_t[bytes]());
    span_ = {memory_.get(), bytes};
    LinkMemory::Format(span_, geometry);
    RestartHost();
    Look();
  }
  void RestartHost() {
    host = HostLink::Open(LinkMemory::Find(span_), kWindowCycles);
    RestartNic();
  }
  void ResetHost() {
    host->Reset();
    RestartNic();
  }
  void RestartNic() {
    nic = NicLink::Open(span_, host->epoch());
    ASSERT_NE(nic, nullptr);
  }
  /// Lets each end read the other end's line six times, which suffices for all messages. Returns
  /// whether the host holds a region.
  bool Look() {
    for (int i = 0; i < 6; ++i) nic->Serve(), host->Poll(++now_);
    return host->holding();
  }

  bool Receive(const std::string& frame) {
    uint8_t* const to = nic->Reserve(static_cast<uint32_t>(frame.size()));
    if (to == nullptr) return false;
    std::memcpy(to, frame.data(), frame.size());
    nic->Publish(static_cast<uint32_t>(frame.size()));
    return true;
  }
  Frames Received() {
    Frames frames;
    for (uint32_t i = 0; i < host->received(); ++i) {
      const Entry entry = host->region().entries()[i];
      frames.emplace_back(reinterpret_cast<char*>(host->region().base + EntryOffset(entry)),
                          EntryLength(entry));
    }
    return frames;
  }
  Frames Sent() {
    Frames frames;
    FrameToSend burst[4];
    while (const uint32_t count = nic->DequeueFrames(burst, 4)) {
      for (uint32_t i = 0; i < count; ++i) {
        frames.emplace_back(reinterpret_cast<const char*>(burst[i].data), burst[i].length);
      }
    }
    return frames;
  }
  std::span<uint8_t> span() const { return span_; }
  uint64_t Owners() { return LinkMemory::Find(span_).Owners(); }

  std::unique_ptr<HostLink> host;
  std::unique_ptr<NicLink> nic;

 private:
  struct Free {
    void operator()(uint8_t* p) const { ::operator delete[](p, std::align_val_t{4096}); }
  };
  std::unique_ptr<uint8_t[], Free> memory_;
  std::span<uint8_t> span_;
  uint64_t now_ = 0;
};

std::string Frame(char content, size_t bytes = 60) { return std::string(bytes, content); }

TEST_F(Link, BeginsWithOneEmptyRegionAtTheHost) {
  EXPECT_TRUE(host->holding());
  EXPECT_EQ(host->received(), 0u);
  EXPECT_EQ(Owners(), 1u);
}

TEST_F(Link, OneSwapGivesAndBringsFrames) {
  Receive(Frame('a'));
  host->Give(0, true);
  ASSERT_TRUE(Look());
  ASSERT_EQ(Received(), Frames{Frame('a')});
  Receive(Frame('b'));
  host->Give(1, false);
  ASSERT_TRUE(Look());
  EXPECT_EQ(Received(), Frames{Frame('b')});
  EXPECT_EQ(Sent(), Frames{Frame('a')}) << "sent from where it was received";
  EXPECT_EQ(host->counters().swaps, 2u);
}

TEST_F(Link, FramesStandBehindTheirHeadroom) {
  Receive(Frame('a', 100));
  Receive(Frame('b', 14));
  host->Give(0, true);
  ASSERT_TRUE(Look());
  const uint32_t first = EntryOffset(host->region().entries()[0]);
  EXPECT_EQ(first, 64u + 16 * 4 + 64) << "header, entries, headroom";
  EXPECT_EQ(EntryOffset(host->region().entries()[1]), first + 192) << "whole slots";
}

TEST_F(Link, FramesComeInOrderFromRegionToRegion) {
  Frames sent;
  for (char c = 'A'; c < 'A' + 40; ++c) {
    sent.push_back(Frame(c, 14 + static_cast<size_t>(c) % 7 * 10));
    ASSERT_TRUE(Receive(sent.back()));
  }
  Frames got;
  while (got.size() < sent.size()) {
    host->Give(0, true);
    ASSERT_TRUE(Look());
    for (const std::string& frame : Received()) got.push_back(frame);
  }
  EXPECT_EQ(got, sent);
}

TEST_F(Link, AStandingOfferWaitsForFrames) {
  host->Give(0, true);
  EXPECT_FALSE(Look());
  Receive(Frame('a'));
  EXPECT_TRUE(Look());
  EXPECT_EQ(Received(), Frames{Frame('a')});
}

TEST_F(Link, WhoDoesNotWaitGetsAnEmptyRegion) {
  const uint32_t before = host->region().id;
  host->Give(0, false);
  ASSERT_TRUE(Look());
  EXPECT_EQ(host->received(), 0u);
  EXPECT_NE(host->region().id, before);
}

TEST_F(Link, TheNextSwapWaitsUntilTheLastFramesHaveLeft) {
  Receive(Frame('a'));
  host->Give(0, true);
  ASSERT_TRUE(Look());
  host->Give(1, false);
  ASSERT_TRUE(Look());
  host->Give(0, false);
  EXPECT_FALSE(Look()) << "the NIC still has a frame to send";
  EXPECT_EQ(Sent(), Frames{Frame('a')});
  EXPECT_TRUE(Look());
}

TEST_F(Link, HolesAreSkippedAndBadEntriesCounted) {
  for (const char c : {'a', 'b', 'c', 'd'}) Receive(Frame(c));
  host->Give(0, true);
  ASSERT_TRUE(Look());
  Entry* const entries = host->region().entries();
  entries[0] = 0;
  entries[2] = MakeEntry(EntryOffset(entries[2]), 4096);
  host->Give(4, false);
  ASSERT_TRUE(Look());
  EXPECT_EQ(Sent(), (Frames{Frame('b'), Frame('d')}));
  EXPECT_EQ(nic->bad_entries(), 1u);
}

TEST_F(Link, AFullNicTakesNothingUntilTheHostSwapsAndLosesNothing) {
  Frames sent;
  for (uint32_t i = 0; i < 3 * kGeometry.max_frames; ++i) {
    sent.push_back(Frame(static_cast<char>(i)));
    ASSERT_TRUE(Receive(sent.back())) << i;
  }
  EXPECT_FALSE(Receive(Frame('x')));
  EXPECT_FALSE(Receive(Frame('x')));
  Frames got;
  for (int i = 0; i < 3; ++i) {
    host->Give(0, true);
    ASSERT_TRUE(Look());
    for (const std::string& frame : Received()) got.push_back(frame);
    EXPECT_TRUE(Receive(Frame('y'))) << "there is room again";
  }
  EXPECT_EQ(got, sent);
}

TEST_F(Link, NoRegionIsLostOrMadeInManySwaps) {
  for (int i = 0; i < 1000; ++i) {
    if (i % 3 != 0) Receive(Frame('a'));
    host->Give(host->received(), i % 3 == 1);
    ASSERT_TRUE(Look());
    ASSERT_EQ(Owners(), uint64_t{1} << host->region().id);
    Sent();
  }
  uint32_t room = 0;
  while (Receive(Frame('a'))) ++room;
  EXPECT_EQ(room, 3 * kGeometry.max_frames) << "less what the last region had";
}

TEST_F(Link, ACancelInTimeBringsTheSameRegionBack) {
  const uint32_t before = host->region().id;
  std::memset(host->region().base + kGeometry.DataOffset(), 'k', 60);
  host->region().entries()[0] = MakeEntry(kGeometry.DataOffset(), 60);
  host->Give(1, true);
  EXPECT_FALSE(Look());
  EXPECT_TRUE(host->Cancel());
  ASSERT_TRUE(Look());
  EXPECT_EQ(host->region().id, before);
  EXPECT_EQ(host->counters().rejected, 1u);
  EXPECT_EQ(host->counters().discarded_pkts, 0u);
  EXPECT_TRUE(Sent().empty());
  host->Give(1, false);
  ASSERT_TRUE(Look());
  EXPECT_EQ(Sent(), Frames{Frame('k')}) << "its frames are where they were";
}

TEST_F(Link, ACancelTooLateFindsTheSwapCommitted) {
  Receive(Frame('a'));
  host->Give(0, true);
  nic->Serve();
  EXPECT_TRUE(host->Cancel());
  ASSERT_TRUE(Look());
  EXPECT_EQ(Received(), Frames{Frame('a')});
  EXPECT_EQ(host->counters().too_late, 1u);
  EXPECT_EQ(host->counters().rejected, 0u);
}

TEST_F(Link, CancelWhileHoldingDoesNothing) {
  EXPECT_FALSE(host->Cancel());
  EXPECT_TRUE(host->holding());
}

TEST_F(Link, ANicThatMakesNoProgressIsSuspectUntilItDoes) {
  host->Give(0, false);
  for (uint64_t now = 100; now < 100 + 3 * kWindowCycles; now += 100) host->Poll(now);
  EXPECT_TRUE(host->suspect());
  EXPECT_EQ(host->counters().suspects, 1u);
  ASSERT_TRUE(Look()) << "suspicion decides nothing";
  EXPECT_FALSE(host->suspect());
}

TEST_F(Link, AStandingOfferIsNeverSuspect) {
  host->Give(0, true);
  for (uint64_t now = 100; now < 100 + 3 * kWindowCycles; now += 100) host->Poll(now);
  EXPECT_FALSE(host->suspect());
}

// Phases of one swap in which an end may reset or restart.
enum class Phase { kHolding, kOffered, kCommitted, kTaken, kCancelled, kSendingHalf };
class LinkInPhase : public Link, public ::testing::WithParamInterface<Phase> {
 protected:
  /// Reaches a phase in which the host's region contains 'o', 'p' and 'q' to be sent, and the NIC
  /// has 'a' for the host.
  void Reach(Phase phase) {
    for (const char c : {'o', 'p', 'q'}) Receive(Frame(c));
    host->Give(0, true);
    ASSERT_TRUE(Look());
    Receive(Frame('a'));
    if (phase == Phase::kHolding) return;
    host->Give(3, true);
    if (phase == Phase::kCancelled) host->Cancel();
    if (phase == Phase::kOffered || phase == Phase::kCancelled) return;
    nic->Serve();
    if (phase == Phase::kCommitted) return;
    ASSERT_TRUE(host->Poll(1));
    if (phase == Phase::kTaken) return;
    FrameToSend one;
    ASSERT_EQ(nic->DequeueFrames(&one, 1), 1u);
  }
  /// Collects the remaining received frames and sent frames, in order.
  void Finish(Frames* received, Frames* sent) {
    for (int i = 0; i < 8; ++i) {
      for (const std::string& frame : Sent()) sent->push_back(frame);
      if (Look()) {
        for (const std::string& frame : Received()) received->push_back(frame);
        host->Give(0, true);
      }
    }
  }
  /// Returns those of the frames 'o', 'p' and 'q' that must be sent after any restart.
  Frames Unsent() {
    if (GetParam() == Phase::kSendingHalf) return {Frame('p'), Frame('q')};
    return {Frame('o'), Frame('p'), Frame('q')};
  }
};
INSTANTIATE_TEST_SUITE_P(All, LinkInPhase,
                         ::testing::Values(Phase::kHolding, Phase::kOffered, Phase::kCommitted,
                                           Phase::kTaken, Phase::kCancelled, Phase::kSendingHalf));

TEST_P(LinkInPhase, AResetUnderANewEpochLosesNothing) {
  Reach(GetParam());
  const uint16_t epoch = host->epoch();
  ResetHost();
  EXPECT_EQ(host->epoch(), epoch + 1);
  EXPECT_EQ(host->counters().resets, 1u);
  Frames received = host->holding() && GetParam() >= Phase::kTaken ? Received() : Frames{};
  Frames sent;
  const bool kept = GetParam() == Phase::kHolding || GetParam() == Phase::kCancelled;
  if (kept) {
    ASSERT_TRUE(Look());
    host->Give(3, true);
  } else if (host->holding()) {
    host->Give(0, true);
  }
  Finish(&received, &sent);
  EXPECT_EQ(received, Frames{Frame('a')});
  EXPECT_EQ(sent, Unsent());
  EXPECT_LE(host->counters().in_doubt, 1u);
  EXPECT_FALSE(host->faulted());
}

TEST_P(LinkInPhase, AHostThatStartsFromMemoryLosesTheRegionItWorkedInAndCountsIt) {
  Reach(GetParam());
  RestartHost();
  EXPECT_LE(host->counters().in_doubt, 1u);
  Frames received;
  Frames sent;
  Finish(&received, &sent);
  switch (GetParam()) {
    case Phase::kHolding:
    case Phase::kCancelled:
      EXPECT_EQ(host->counters().discarded_pkts, 3u) << "o, p, q";
      EXPECT_EQ(received, Frames{Frame('a')});
      EXPECT_EQ(sent, Frames{});
      break;
    case Phase::kOffered:
    case Phase::kCommitted:
      EXPECT_EQ(host->counters().discarded_pkts, 0u) << "no worker used a region";
      EXPECT_EQ(received, Frames{Frame('a')});
      EXPECT_EQ(sent, Unsent());
      break;
    default:
      EXPECT_EQ(host->counters().discarded_pkts, 1u) << "a";
      EXPECT_EQ(received, Frames{});
      EXPECT_EQ(sent, Unsent());
  }
  EXPECT_FALSE(host->faulted());
}

TEST_P(LinkInPhase, ANicThatStartsFromMemoryGoesOnWithTheFrameAfterTheMarkedOnes) {
  Reach(GetParam());
  nic.reset();
  if (GetParam() == Phase::kCommitted) {
    EXPECT_TRUE(host->Poll(1)) << "the outcome outlives the NIC";
  }
  ResetHost();
  Frames received = host->holding() && GetParam() >= Phase::kCommitted ? Received() : Frames{};
  if (GetParam() == Phase::kHolding) received.clear();
  Frames sent;
  if (GetParam() == Phase::kCancelled) {
    ASSERT_TRUE(Look());
    received.clear();
  }
  const bool kept = GetParam() == Phase::kHolding || GetParam() == Phase::kCancelled;
  if (host->holding()) host->Give(kept ? 3 : 0, true);
  Finish(&received, &sent);
  EXPECT_EQ(received, Frames{Frame('a')});
  EXPECT_EQ(sent, Unsent());
  EXPECT_EQ(host->counters().discarded_pkts, 0u);
}

TEST_F(Link, AHostOfAnEarlierEpochIsNotHeard) {
  host->Reset();
  Receive(Frame('a'));
  host->Give(0, true);
  EXPECT_FALSE(Look());
  RestartNic();
  EXPECT_TRUE(Look());
}

TEST_F(Link, ANicThatGivesWhatItDoesNotOwnStopsTheLink) {
  host->Give(0, true);
  LinkHeader& header = LinkMemory::Find(span()).header();
  bar::Line line;
  bar::ReadLine(header.host_line, line);
  Message lie = Decode(line);
  bar::ReadLine(header.nic_line, line);
  const Message nic_line = Decode(line);
  lie.phase = swap::Phase::kCommitted;
  std::swap(lie.incarnation, lie.peer_incarnation);
  lie.incarnation = nic_line.incarnation;
  lie.peer_incarnation = nic_line.peer_incarnation;
  for (const uint32_t region : {host->region().id, 4u, ~0u}) {
    SCOPED_TRACE(region);
    lie.payload = {Given{region, 1}.Word(), Given{host->region().id, 0}.Word()};
    bar::PublishLine(header.nic_line, Encode(lie));
    EXPECT_FALSE(host->Poll(1));
    EXPECT_TRUE(host->faulted());
    EXPECT_EQ(host->counters().faults, 1u);
  }
}

TEST(LinkMemory, FindTrustsNothing) {
  const size_t bytes = LinkMemory::BytesFor(kGeometry);
  std::vector<uint8_t> storage(bytes + 4096);
  uint8_t* const page = storage.data() + 4096 - reinterpret_cast<uintptr_t>(storage.data()) % 4096;
  EXPECT_FALSE(LinkMemory::Find({page, bytes})) << "no link";
  LinkMemory::Format({page, bytes}, kGeometry);
  EXPECT_TRUE(LinkMemory::Find({page, bytes}));
  EXPECT_FALSE(LinkMemory::Find({page, bytes - 1}));
  EXPECT_FALSE(LinkMemory::Find({page, 100}));
  reinterpret_cast<LinkHeader*>(page)->geometry.regions = 65;
  EXPECT_FALSE(LinkMemory::Find({page, bytes}));
}

TEST(Geometry, NamesTheFieldThatCannotBe) {
  EXPECT_EQ(Geometry{}.Error(), nullptr);
  const auto error = [](const Geometry& geometry) { return std::string(geometry.Error()); };
  EXPECT_NE(error({.regions = 2}).find("regions"), std::string::npos);
  EXPECT_NE(error({.regions = 65}).find("regions"), std::string::npos);
  EXPECT_NE(error({.region_bytes = 5000}).find("region_bytes"), std::string::npos);
  EXPECT_NE(error({.region_bytes = 1u << 19}).find("region_bytes"), std::string::npos);
  EXPECT_NE(error({.region_bytes = 4096, .max_frames = 1024}).find("region_bytes"),
            std::string::npos);
  EXPECT_NE(error({.max_frames = 17}).find("max_frames"), std::string::npos);
  EXPECT_NE(error({.headroom_bytes = 65}).find("headroom_bytes"), std::string::npos);
}

}  // namespace
}  // namespace sluice::swap::test
