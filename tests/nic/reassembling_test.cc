// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the reassembly of fragments that arrive in any order, or that are too many, too late,
// overlapping, truncated, or of a wrong length. Each fragment must have one outcome. A reassembled
// datagram must equal the original, which the test fragments according to RFC 791 (section 3.2) and
// RFC 8200 (section 4.5).
#include "nic/reassembling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "packet/checksum.h"
#include "packet/memory_burst.h"

namespace sluice::nic {
namespace {

using packet::Ipv4Address;
using packet::Ipv6Address;
using packet::MacAddress;
using Bytes = std::vector<uint8_t>;

constexpr MacAddress kOurs{2, 0, 0, 0, 0, 2}, kTheirs{2, 0, 0, 0, 0, 1};
constexpr Ipv4Address kOurs4{10, 0, 0, 2};
constexpr uint64_t kTimeout = 1000;
constexpr uint32_t kDatagrams = 8;

struct Kind {
  bool ipv6 = false;
  bool vlan = false;
};

/// Returns a datagram with Ethernet and IP headers and `payload`. It has no IPv6 fragment header.
Bytes Whole(Kind kind, const Bytes& payload, uint32_t id = 7) {
  Bytes frame(kOurs.begin(), kOurs.end());
  frame.insert(frame.end(), kTheirs.begin(), kTheirs.end());
  if (kind.vlan) frame.insert(frame.end(), {0x81, 0x00, 0x00, 0x07});
  const size_t ip = frame.size() + 2;
  if (kind.ipv6) {
    frame.insert(frame.end(), {0x86, 0xdd, 0x60, 0, 0, 0, static_cast<uint8_t>(payload.size() >> 8),
                               static_cast<uint8_t>(payload.size()), 17, 64});
    for (const uint8_t host : {1, 2}) {
      frame.insert(frame.end(), {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host});
    }
  } else {
    const size_t total = 20 + payload.size();
    frame.insert(frame.end(), {0x08,
                               0x00,
                               0x45,
                               0,
                               static_cast<uint8_t>(total >> 8),
                               static_cast<uint8_t>(total),
                               static_cast<uint8_t>(id >> 8),
                               static_cast<uint8_t>(id),
                               0,
                               0,
                               64,
                               17,
                               0,
                               0,
                               10,
                               0,
                               0,
                               1,
                               10,
                               0,
                               0,
                               2});
    packet::Store(&frame[ip + 10], packet::FinishChecksum(packet::SumBytes(&frame[ip], 20)));
  }
  frame.insert(frame.end(), payload.begin(), payload.end());
  return frame;
}

/// Sets the checksum of an untagged IPv4 header without options.
void Seal(Bytes* frame) {
  packet::Store<uint16_t>(&(*frame)[24], 0);
  packet::Store(&(*frame)[24], packet::FinishChecksum(packet::SumBytes(&(*frame)[14], 20)));
}

/// Returns the bytes [from, to) of Whole()'s payload as a fragment.
Bytes Fragment(Kind kind, const Bytes& payload, size_t from, size_t to, bool more,
               uint32_t id = 7) {
  const Bytes part(payload.begin() + static_cast<ptrdiff_t>(from),
                   payload.begin() + static_cast<ptrdiff_t>(to));
  const size_t ip = kind.vlan ? 18 : 14;
  if (!kind.ipv6) {
    Bytes frame = Whole(kind, part, id);
    packet::StoreBe16(&frame[ip + 6], static_cast<uint16_t>((more ? 0x2000 : 0) | from / 8));
    packet::Store<uint16_t>(&frame[ip + 10], 0);
    packet::Store(&frame[ip + 10], packet::FinishChecksum(packet::SumBytes(&frame[ip], 20)));
    return frame;
  }
  Bytes behind(8);
  behind[0] = 17;
  packet::StoreBe16(&behind[2], static_cast<uint16_t>(from | (more ? 1 : 0)));
  packet::StoreBe32(&behind[4], id);
  behind.insert(behind.end(), part.begin(), part.end());
  Bytes frame = Whole(kind, behind);
  frame[ip + 6] = 44;
  return frame;
}

/// Returns a UDP datagram whose UDP header and data have 16 bytes for each of `count` fragments,
/// plus 5 bytes.
Bytes Payload(size_t count) {
  Bytes payload(16 * count + 5);
  for (size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<uint8_t>(i * 7 + 1);
  packet::StoreBe16(&payload[4], static_cast<uint16_t>(payload.size()));
  return payload;
}
std::vector<Bytes> Fragments(Kind kind, size_t count, uint32_t id = 7) {
  const Bytes payload = Payload(count);
  std::vector<Bytes> fragments;
  for (size_t i = 0; i < count; ++i) {
    const bool last = i + 1 == count;
    fragments.push_back(
        Fragment(kind, payload, 16 * i, last ? payload.size() : 16 * (i + 1), !last, id));
  }
  return fragments;
}

/// Records the frames that it receives.
struct Recording final : packet::Engine {
  struct Own {
    bool IsOurMac(const uint8_t* mac) const { return packet::Load<MacAddress>(mac) == kOurs; }
    bool Owns(const Ipv4Address& address) const { return address == kOurs4; }
    bool Owns(const Ipv6Address& address) const { return address[15] == 2; }
  };
  static constexpr std::array<std::string_view, 1> kDropReasons{"none"};

  const Own& own() const { return addresses; }
  packet::Verdict Process(packet::Frame& frame, uint64_t) {
    seen.emplace_back(frame.data, frame.data + frame.length);
    return packet::kForward;
  }
  Own addresses;
  std::vector<Bytes> seen;
};

using R = packet::Defragmenter;

/// Counts frames by verdict, as a queue does.
class Rig {
 public:
  explicit Rig(uint32_t datagrams = kDatagrams)
      : front_(R(datagrams, kTimeout, /*seed=*/5), [this] { return Forwarded(this); }) {
    front_.set_counters(counters);
  }
  /// Checks that every frame has been accounted for.
  ~Rig() {
    front_.Leave();
    EXPECT_TRUE(counters.Conserved());
  }

  packet::Verdict Give(const Bytes& frame, uint64_t now = 0) {
    // An allocation of the exact size, so that a sanitizer detects reads beyond its end.
    const std::unique_ptr<uint8_t[]> bytes(new uint8_t[frame.size()]);
    std::copy(frame.begin(), frame.end(), bytes.get());
    packet::Frame view{bytes.get(), static_cast<uint32_t>(frame.size()), 0, 0};
    ++counters.rx_pkts;
    const packet::Verdict verdict = front_.Process(view, now);
    Count(verdict);
    EXPECT_TRUE(counters.Conserved());
    return verdict;
  }
  /// Passes the frames to the front as a burst. Returns their verdicts.
  std::vector<packet::Verdict> GiveBurst(const std::vector<Bytes>& frames) {
    test::MemoryBurst burst(frames);
    counters.rx_pkts += burst.size();
    front_.ProcessBurst(burst, 0);
    for (const packet::Verdict verdict : burst.verdicts()) Count(verdict);
    EXPECT_TRUE(counters.Conserved());
    return burst.verdicts();
  }
  void Rest(uint64_t now) { front_.AtRest(now); }
  uint64_t Dropped(R::Reason reason) const { return counters.engine_drops[1 + reason]; }
  void End() { front_.Leave(); }

  Recording engine;
  std::vector<uint32_t> sizes;  ///< Number of frames in each call of the engine.
  QueueCounters counters;

 private:
  void Count(packet::Verdict verdict) {
    if (verdict.action == packet::Action::kForward) ++counters.tx_pkts;
    if (verdict.action == packet::Action::kConsume) ++counters.consumed_pkts;
    if (verdict.action == packet::Action::kDrop) ++counters.engine_drops[verdict.reason];
  }

  /// An engine that forwards bursts to the rig's engine. It is a proxy because the front constructs
  /// its engine in place.
  struct Forwarded final : packet::Engine {
    explicit Forwarded(Rig* rig) : rig(rig) {}

    static constexpr auto kDropReasons = Recording::kDropReasons;
    const Recording::Own& own() const { return rig->engine.own(); }
    template <packet::Burst Burst>
    void ProcessBurst(Burst& burst, uint64_t now) {
      rig->sizes.push_back(burst.size());
      packet::FrameByFrame(rig->engine).ProcessBurst(burst, now);
    }
    Rig* rig;
  };

  Reassembling<Forwarded> front_;
};

TEST(Reassembling, GivesWhatArrivedWholeInRunsAndWhatItPutTogetherAlone) {
  const std::vector<Bytes> fragments = Fragments({}, 2);
  const Bytes a = Whole({}, Payload(1), 1), b = Whole({}, Payload(1), 2);
  Bytes others = Fragments({}, 2)[0];
  others[33] = 99;  // Fragments for other hosts go to the engine.
  Seal(&others);
  Rig rig;
  const auto kept = packet::kConsume, leaves = packet::kForward;
  EXPECT_EQ(rig.GiveBurst({a, b, fragments[0], a, others, fragments[1], b}),
            (std::vector{leaves, leaves, kept, leaves, leaves, leaves, leaves}));
  EXPECT_EQ(rig.sizes, (std::vector<uint32_t>{2, 2, 1, 1}));
  EXPECT_EQ(rig.engine.seen, (std::vector<Bytes>{a, b, a, others, Whole({}, Payload(2)), b}));
  EXPECT_EQ(rig.GiveBurst({a, b, a}), std::vector(3, leaves));
  EXPECT_EQ(rig.sizes.back(), 3u);
  EXPECT_EQ(rig.counters.reassembled_pkts, 1u);
}

/// A burst that fails the test if one of its frames is read.
struct Unseen {
  uint32_t size() const { return 3; }
  packet::BurstTotals totals() const { return {300, 100}; }
  packet::Frame At(uint32_t number) const {
    ADD_FAILURE() << number;
    return {};
  }
  uint8_t* spare() const { return nullptr; }
  void Answer(uint32_t number, const packet::Frame&, packet::Verdict) { ADD_FAILURE() << number; }
};
struct Uninterested final : packet::Engine {
  explicit Uninterested(uint64_t* bytes) : bytes(bytes) {}

  static constexpr auto kDropReasons = Recording::kDropReasons;
  const Recording::Own& own() const { return addresses; }
  template <packet::Burst Burst>
  void ProcessBurst(const Burst& burst, uint64_t) {
    *bytes += burst.totals().bytes;
  }
  Recording::Own addresses;
  uint64_t* bytes;
};

TEST(Reassembling, LooksAtNoFrameIfItPutsNothingTogether) {
  uint64_t bytes = 0;
  Reassembling<Uninterested> front(R(), [&] { return Uninterested(&bytes); });
  Unseen burst;
  front.ProcessBurst(burst, 0);
  EXPECT_EQ(bytes, 300u);
}

TEST(Reassembling, PutsFragmentsTogetherInEveryOrder) {
  for (const Kind kind : {Kind{}, Kind{true, false}, Kind{false, true}, Kind{true, true}}) {
    for (const size_t count : {2u, 3u, 4u}) {
      std::vector<size_t> order(count);
      for (size_t i = 0; i < count; ++i) order[i] = i;
      const std::vector<Bytes> fragments = Fragments(kind, count);
      Rig rig;
      uint64_t whole = 0;
      do {
        for (size_t i = 0; i < count; ++i) {
          EXPECT_EQ(rig.Give(fragments[order[i]]),
                    i + 1 < count ? packet::kConsume : packet::kForward);
        }
        ASSERT_EQ(rig.engine.seen.size(), ++whole);
        ASSERT_EQ(rig.engine.seen.back(), Whole(kind, Payload(count)));
      } while (std::next_permutation(order.begin(), order.end()));
      EXPECT_EQ(rig.counters.reassembled_pkts, whole);
      EXPECT_EQ(rig.counters.consumed_pkts, whole * (count - 1));
    }
  }
}

TEST(Reassembling, TellsDatagramsApartThatComeMixed) {
  const std::vector<Bytes> a = Fragments({}, 3, 1), b = Fragments({}, 3, 2),
                           c = Fragments({true, false}, 3, 1);
  Rig rig;
  for (size_t i = 0; i < 3; ++i) {
    for (const auto* datagram : {&a, &b, &c}) rig.Give((*datagram)[i]);
  }
  const std::vector<Bytes> expected{Whole({}, Payload(3), 1), Whole({}, Payload(3), 2),
                                    Whole({true, false}, Payload(3))};
  EXPECT_EQ(rig.engine.seen, expected);
}

TEST(Reassembling, EthernetPaddingIsNoData) {
  std::vector<Bytes> fragments = Fragments({}, 2);
  for (Bytes& fragment : fragments) fragment.resize(fragment.size() + 9, 0xee);
  Rig rig;
  for (const Bytes& fragment : fragments) rig.Give(fragment);
  ASSERT_EQ(rig.engine.seen.size(), 1u);
  EXPECT_EQ(rig.engine.seen[0], Whole({}, Payload(2)));
}

// Frames that are not fragments for this host go to the engine unchanged.
TEST(Reassembling, LeavesOtherFramesAlone) {
  std::vector<Bytes> frames{Whole({}, Payload(3)),
                            Whole({true, false}, Payload(3)),
                            Whole({false, true}, Payload(3)),
                            Bytes(14, 0x88),
                            Bytes(60, 0xff),
                            Bytes()};
  Bytes other = Fragments({}, 2)[0];
  other[5] ^= 1;  // Another MAC address.
  frames.push_back(other);
  other = Fragments({}, 2)[0];
  other[33] ^= 1;  // Another IPv4 address.
  frames.push_back(other);
  other = Fragments({true, false}, 2)[0];
  other[53] ^= 1;  // Another IPv6 address.
  frames.push_back(other);
  Bytes atomic = Fragment({true, false}, Payload(1), 0, 21, false);  // RFC 6946.
  frames.push_back(atomic);
  Bytes dont_fragment = Whole({}, Payload(1));
  dont_fragment[20] = 0x40;
  frames.push_back(dont_fragment);
  Rig rig;
  for (const Bytes& frame : frames) EXPECT_EQ(rig.Give(frame), packet::kForward);
  EXPECT_EQ(rig.engine.seen, frames);
}

struct Range {
  size_t from, to;
  bool more;
};
struct Misfit {
  /// Number of fragments that are dropped, including the first inconsistent one.
  uint64_t overlap;
  std::vector<Range> ranges;
};

// Each case lists byte ranges of one datagram of 53 bytes, in the order in which they arrive. The
// ranges of a case are inconsistent.
TEST(Reassembling, EndsDatagramsThatDoNotFitTogether) {
  const Misfit cases[] = {
      {2, {{0, 16, true}, {0, 16, true}}},      // The first fragment, twice.
      {2, {{32, 53, false}, {32, 53, false}}},  // The last fragment, twice.
      {3,
       {{0, 16, true}, {16, 32, true}, {16, 32, true}, {32, 53, false}}},  // A middle one, twice.
      {2, {{0, 24, true}, {16, 32, true}, {32, 53, false}}},               // Overlap.
      {2, {{0, 16, true}, {8, 24, true}, {32, 53, false}}},  // Overlap and a hole of equal length.
      {3, {{0, 16, true}, {16, 48, true}, {32, 53, false}}},
      {2, {{0, 48, true}, {32, 40, false}}},    // Ends before known data.
      {2, {{32, 53, false}, {40, 53, false}}},  // Two different ends.
      {2, {{16, 32, true}, {0, 53, true}, {32, 40, false}}}};
  for (const bool ipv6 : {false, true}) {
    for (const auto& [overlap, ranges] : cases) {
      SCOPED_TRACE(testing::PrintToString(ranges.size()) + ", overlap " + std::to_string(overlap));
      const Bytes payload = Payload(3);
      Rig rig;
      for (const auto& [from, to, more] : ranges) {
        // All fragments except the last one have lengths that are multiples of eight.
        const size_t end = more ? to / 8 * 8 : to;
        rig.Give(Fragment({ipv6, false}, payload, from, end, more));
      }
      EXPECT_TRUE(rig.engine.seen.empty());
      EXPECT_EQ(rig.Dropped(R::kOverlap), overlap);
      // A later datagram with the same identification is not affected.
      const uint64_t later = kTimeout + 1;
      for (const Bytes& fragment : Fragments({ipv6, false}, 3)) rig.Give(fragment, later);
      EXPECT_EQ(rig.Dropped(R::kTimedOut), ranges.size() - overlap);
      EXPECT_EQ(rig.engine.seen.size(), 1u);
    }
  }
}

TEST(Reassembling, PutsAnyNumberOfFragmentsTogether) {
  Rig rig;
  for (const bool ipv6 : {false, true}) {
    for (const size_t count : {9u, 64u, 4090u}) {
      for (const Bytes& fragment : Fragments({ipv6, false}, count)) rig.Give(fragment);
      ASSERT_FALSE(rig.engine.seen.empty());
      EXPECT_EQ(rig.engine.seen.back(), Whole({ipv6, false}, Payload(count)));
      rig.engine.seen.clear();
    }
  }
}

// Tests fragments in jumbo frames.
TEST(Reassembling, PutsLongFragmentsTogether) {
  const Bytes payload = Payload(2000);
  Rig rig;
  rig.Give(Fragment({}, payload, 0, 9000, true));
  rig.Give(Fragment({}, payload, 9000, 18'000, true));
  rig.Give(Fragment({}, payload, 18'000, payload.size(), false));
  EXPECT_EQ(rig.engine.seen, (std::vector<Bytes>{Whole({}, payload)}));
}

TEST(Reassembling, ForgetsWhatHasWaitedTooLong) {
  const std::vector<Bytes> fragments = Fragments({}, 3);
  Rig rig;
  rig.Give(fragments[0], 5);
  rig.Give(fragments[1], 5 + kTimeout);  // This is within the timeout.
  rig.Rest(5 + kTimeout);
  EXPECT_EQ(rig.Dropped(R::kTimedOut), 0u);
  rig.Rest(6 + kTimeout);
  EXPECT_EQ(rig.Dropped(R::kTimedOut), 2u) << "though no other fragment came";
  EXPECT_EQ(rig.counters.consumed_pkts, 0u);
  rig.Give(fragments[2], 7 + kTimeout);
  EXPECT_TRUE(rig.engine.seen.empty());
  rig.Give(Fragments({}, 2, 9)[0], 8 + 2 * kTimeout);
  EXPECT_EQ(rig.Dropped(R::kTimedOut), 3u) << "when the next one comes";
  rig.End();
  EXPECT_EQ(rig.Dropped(R::kUnfinished), 1u);
  EXPECT_EQ(rig.counters.consumed_pkts, 0u);
}

TEST(Reassembling, WaitsForManyDatagramsAndForgetsThemAllAtOnce) {
  constexpr uint32_t kMany = 1024;
  Rig rig(kMany);
  for (uint32_t id = 0; id < kMany; ++id) rig.Give(Fragments({}, 2, id)[0]);
  EXPECT_EQ(rig.counters.consumed_pkts, kMany);
  for (uint32_t id = 0; id < kMany; id += 2) rig.Give(Fragments({}, 2, id)[1]);
  EXPECT_EQ(rig.counters.reassembled_pkts, kMany / 2);
  rig.Rest(kTimeout + 1);
  EXPECT_EQ(rig.Dropped(R::kTimedOut), kMany / 2);
}

TEST(Reassembling, TakesNoMoreDatagramsThanItWasMadeFor) {
  for (const uint32_t room : {1u, 2u, 7u, 64u}) {
    Rig rig(room);
    for (uint32_t id = 0; id < 4 * room; ++id) rig.Give(Fragments({}, 2, id)[0]);
    EXPECT_EQ(rig.counters.consumed_pkts, room);
    EXPECT_EQ(rig.Dropped(R::kNoRoom), 3 * room);
    EXPECT_EQ(rig.Give(Fragments({}, 2, 0)[1]), packet::kForward) << "what is there goes on";
    rig.Rest(kTimeout + 1);
    EXPECT_EQ(rig.Give(Fragments({}, 2, 999)[0], kTimeout + 1), packet::kConsume);
  }
}

// RFC 8200 section 4.5: addresses and the identification identify an IPv6 datagram. RFC 791 section
// 3.2: an IPv4 datagram is also identified by its protocol.
TEST(Reassembling, GoesByTheProtocolOfIpv4Alone) {
  for (const bool ipv6 : {false, true}) {
    std::vector<Bytes> fragments = Fragments({ipv6, false}, 2);
    if (ipv6) {
      fragments[1][54] = 6;
    } else {
      fragments[1][23] = 6;
      Seal(&fragments[1]);
    }
    Rig rig;
    for (const Bytes& fragment : fragments) rig.Give(fragment);
    EXPECT_EQ(rig.engine.seen.size(), ipv6 ? 1u : 0u);
  }
}

TEST(Reassembling, RefusesLengthsThatCannotBe) {
  const Bytes payload = Payload(128);
  struct {
    Bytes frame;
    R::Reason reason;
  } cases[] = {
      {Fragment({}, payload, 8, 8, true), R::kMalformed},  // Empty.
      {Fragment({}, payload, 16, 16, false), R::kMalformed},
      {Fragment({true, false}, payload, 16, 16, false), R::kMalformed},
      {Fragment({}, payload, 0, 20, true), R::kMalformed},  // Not a multiple of eight.
      {Fragment({true, false}, payload, 0, 20, true), R::kMalformed},
      {Fragment({}, payload, 16, 24, true), R::kMalformed},  // The offset is set after this table.
      {Fragment({}, payload, 0, 64, true), R::kMalformed}};  // Checksum changed after this table.
  // 65528 + 8 plus the header exceeds the maximum length of an IPv4 datagram, although the data
  // does not exceed 65535 bytes.
  packet::StoreBe16(&cases[5].frame[20], 0x2000 | (65512 / 8));
  Seal(&cases[5].frame);
  cases[6].frame[22] ^= 1;
  for (const auto& [frame, reason] : cases) {
    SCOPED_TRACE(&frame - &cases[0].frame);
    Rig rig;
    EXPECT_EQ(rig.Give(frame), packet::Drop(static_cast<uint8_t>(1 + reason)));
    EXPECT_TRUE(rig.engine.seen.empty());
  }
}

// A datagram has at most 65535 bytes. With IPv4, this includes the header (RFC 791); with IPv6, it
// does not (RFC 8200).
TEST(Reassembling, TakesFragmentsUpToTheEndOfTheLongestDatagram) {
  const struct {
    bool ipv6;
    uint16_t offset;
    size_t bytes;
    bool fits;
  } cases[] = {{false, 65512, 3, true}, {false, 65512, 4, false}, {true, 65528, 7, true}};
  for (const auto& [ipv6, offset, bytes, fits] : cases) {
    Bytes last = Fragment({ipv6, false}, Payload(1), 0, bytes, false);
    packet::StoreBe16(&last[ipv6 ? 56 : 20], ipv6 ? offset : static_cast<uint16_t>(offset / 8));
    if (!ipv6) Seal(&last);
    Rig rig;
    EXPECT_EQ(rig.Give(last),
              fits ? packet::kConsume : packet::Drop(static_cast<uint8_t>(1 + R::kMalformed)))
        << offset << " + " << bytes;
  }
}

TEST(Reassembling, SurvivesEveryTruncationAndEveryAlteredByte) {
  for (const Kind kind : {Kind{}, Kind{true, false}, Kind{false, true}}) {
    const std::vector<Bytes> fragments = Fragments(kind, 3);
    for (size_t bytes = 0; bytes < fragments[1].size(); ++bytes) {
      Rig rig;
      rig.Give(fragments[0]);
      rig.Give(Bytes(fragments[1].begin(), fragments[1].begin() + static_cast<ptrdiff_t>(bytes)));
      rig.Give(fragments[2]);
      for (const Bytes& frame : rig.engine.seen) EXPECT_LT(frame.size(), fragments[1].size());
      EXPECT_EQ(rig.counters.reassembled_pkts, 0u);
    }
    for (size_t at = 0; at < 60; ++at) {
      for (const uint8_t flipped : {0x01, 0x08, 0x20, 0x80, 0xff}) {
        Rig rig;
        Bytes altered = fragments[1];
        altered[at % altered.size()] ^= flipped;
        for (const Bytes& frame : {fragments[0], altered, fragments[2], fragments[1]}) {
          rig.Give(frame);
        }
      }
    }
  }
}

TEST(Reassembling, KeepsTheLawUnderAnyTraffic) {
  std::mt19937 random(1);
  const Bytes payload = Payload(12);
  Rig rig(16);
  uint64_t now = 0;
  for (int i = 0; i < 50'000; ++i) {
    const size_t from = random() % 24 * 8;
    const size_t to = std::min<size_t>(payload.size(), from + 8 + random() % 4 * 8);
    const bool more = random() % 4 != 0;
    if (from >= to) continue;
    rig.Give(
        Fragment({random() % 2 == 0, false}, payload, from, to, more && to % 8 == 0, random() % 20),
        now);
    now += random() % (kTimeout / 20);
    if (random() % 16 == 0) rig.Rest(now);
    ASSERT_TRUE(rig.counters.Conserved());
  }
  EXPECT_GT(rig.Dropped(R::kTimedOut), 0u);
  EXPECT_GT(rig.Dropped(R::kOverlap), 0u);
  EXPECT_GT(rig.Dropped(R::kNoRoom), 0u);
  for (const Bytes& frame : rig.engine.seen) {
    const packet::Headers headers =
        packet::Parse(frame.data(), static_cast<uint32_t>(frame.size()));
    EXPECT_FALSE(headers.IsFragment());
    EXPECT_EQ(headers.end, frame.size());
  }
}

}  // namespace
}  // namespace sluice::nic
